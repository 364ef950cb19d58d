"""Logits of a language model, in every dtype and at several temperatures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qrita.testing import formats, real
from qrita.testing.building import Case
from qrita.testing.properties import PROPERTIES
from qrita.testing.recipes import DTYPES, fp32
from qrita.testing.subjects import Subject

pytestmark = pytest.mark.large

ROWS = Path(__file__).parents[1] / "data" / "smollm2_135m_logits_bf16.npz"


@pytest.mark.parametrize("temperature", real.TEMPERATURES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_cut_of_every_row(subject: Subject, dtype: str, temperature: float) -> None:
    with np.load(ROWS) as stored:
        rows = stored["bfloat16_bits"]
    assert rows.shape == (24, 49152)
    for number, row in enumerate(rows):
        logits = formats.tensor(real.scaled(row, dtype, temperature), dtype)
        for k, p in ((None, fp32(0.9)), (50, fp32(0.95)), (20, None), (None, fp32(0.9999))):
            label = f"row {number} of {ROWS.name}, {dtype}, temperature {temperature}"
            PROPERTIES["cut"].check(subject, Case(None, logits, k, p, label))
