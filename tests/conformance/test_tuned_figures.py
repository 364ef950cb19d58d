"""Figures that `qrita tune` tries give the answers of those in use: the least and the greatest value of each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qrita.bench.tuner import FIELDS
from qrita.records import Problem
from qrita.testing.properties import PROPERTIES
from qrita.testing.recipes import build, seeded
from qrita.testing.subjects import Subject

RECIPES = 2
"""Few, since each value is compiled for each dtype, and `qrita tune` compares the bits of what it times."""


@pytest.mark.parametrize("field", FIELDS)
def test_tried_figures(subject: Subject, field: str) -> None:
    """Engines without plans have none to try; conftest leaves this test out for them."""
    from qrita import device, plan
    from qrita.entries import in_force

    for recipe in seeded(RECIPES):
        case = build(recipe)
        logits = subject.put(case.logits)[None]
        card = device.of(logits.device)
        for value in (FIELDS[field][0], FIELDS[field][-1]):
            figures = replace(in_force(card)[0], **{field: value})
            tried = plan.choose(Problem(logits, case.k, case.p), card, figures)
            forced = replace(subject, engine=replace(subject.engine, plan=tried))
            for name in ("cut", "mask"):
                PROPERTIES[name].check(forced, case)
