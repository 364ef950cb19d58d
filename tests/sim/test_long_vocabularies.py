"""Rows of a real vocabulary's length on a simulated card, with the plan that such a card gets."""

from __future__ import annotations

import pytest

from qrita.testing.properties import PROPERTIES
from qrita.testing.recipes import DTYPES, Recipe, build, fp32
from qrita.testing.subjects import Subject

pytestmark = pytest.mark.nightly

VOCAB = 128_256
CALLS = ((50, fp32(0.9)), (None, fp32(0.95)), (VOCAB // 3, None), (1000, fp32(0.5)))


@pytest.mark.parametrize(("k", "p"), CALLS)
@pytest.mark.parametrize("family", ["normal", "duplicates", "masked"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_long_row(subject: Subject, dtype: str, family: str, k: int | None, p: float | None) -> None:
    case = build(Recipe(family, VOCAB, dtype, seed=7, k=k, p=p))
    for name in ("cut", "mask"):
        PROPERTIES[name].check(subject, case)
