"""Recipes of every dtype on a simulated card: by the small plan in each of its ways, and by the plan a card gets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qrita import device
from qrita.records import Problem
from qrita.testing.properties import PROPERTIES
from qrita.testing.recipes import DTYPES, build, seeded
from qrita.testing.subjects import Subject

WAYS = ("groups", "sigma", "none", "no bracket", "chosen")
LONGEST = 512
APART = 10_000
"""Seeds between two ways: each is tried on recipes of its own."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_recipes(subject: Subject, dtype: str, way: str, recipes_of_a_dtype: int) -> None:
    first = APART * WAYS.index(way)
    for recipe in seeded(recipes_of_a_dtype, first, max_vocab=LONGEST, dtypes=(dtype,)):
        case = build(recipe)
        forced = _by(subject, way, Problem(case.logits[None], case.k, case.p))
        for name in ("cut", "mask", "candidates"):
            PROPERTIES[name].check(forced, case)


def _by(subject: Subject, way: str, problem: Problem) -> Subject:
    from qrita import plan as plans

    engine = subject.engine
    if way == "chosen":
        return replace(subject, engine=replace(engine, plan=plans.choose(problem, device.of(problem.logits.device))))
    plan = engine.plan_for(problem)
    change = {"bracket": False} if way == "no bracket" else {"truncation": way}
    return replace(subject, engine=replace(engine, plan=replace(plan, **change)))
