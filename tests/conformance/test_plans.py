"""Every plan gives the same cuts: forced one by one on the same recipes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qrita.records import Problem
from qrita.testing.properties import PROPERTIES
from qrita.testing.recipes import build, seeded
from qrita.testing.subjects import Subject

PLANS = (
    "chosen", "groups", "sigma", "none", "no bracket", "small bracket", "narrow", "one program a row",
    "many programs a row", "one program for all rows",
)  # fmt: skip


@pytest.mark.parametrize("name", PLANS)
def test_forced_plan(subject: Subject, name: str, plan_recipes: int) -> None:
    """Engines without plans have none to force; conftest leaves this test out for them."""
    from qrita import device, plan

    for recipe in seeded(plan_recipes):
        case = build(recipe)
        logits = subject.put(case.logits)[None]
        chosen = plan.forced(Problem(logits, case.k, case.p), device.of(logits.device))
        assert set(chosen) == set(PLANS)
        forced = replace(subject, engine=replace(subject.engine, plan=chosen[name]))
        for tried in ("cut", "mask", "candidates"):
            PROPERTIES[tried].check(forced, case)
