"""The real rows that travel with the package: which they are, and how they become cases."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

from qrita import reference, rounding
from qrita.testing import formats, real
from qrita.testing.real import RealRow
from qrita.testing.recipes import DTYPES, RecipeError, fp32

DATA = Path(__file__).parents[1] / "data"
CHOSEN = (0, 1, 4, 5, 8, 12, 13, 21)


@pytest.fixture(scope="module")
def all_rows() -> np.ndarray:
    with np.load(DATA / "smollm2_135m_logits_bf16.npz") as stored:
        return stored["bfloat16_bits"]


def test_checksum_of_the_data() -> None:
    for line in (DATA / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, name = line.split()
        assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() == digest


def test_the_package_has_eight_of_the_rows(all_rows: np.ndarray) -> None:
    assert [name for name, _ in real.rows()] == [f"smollm2-{number:02}" for number in CHOSEN]
    for number, (_, bits) in zip(CHOSEN, real.rows(), strict=True):
        assert bits.dtype == np.uint16
        assert (bits == all_rows[number]).all()


def test_each_is_extreme_in_the_way_its_note_says(all_rows: np.ndarray) -> None:
    values = [formats.values(row, "bfloat16").astype(np.float64) for row in all_rows]
    shares = [np.exp(row - row.max()) / np.exp(row - row.max()).sum() for row in values]
    descending = [np.sort(row)[::-1] for row in values]
    tail = [reference.row(reference.widen(row, "bfloat16"), None, fp32(0.99)).cut.count for row in all_rows]
    extreme = {
        0: np.argmax([(row == row.max()).sum() for row in values]),
        1: np.argmax(tail),
        4: np.argmin([row.max() for row in values]),
        5: np.argmax([-(share * np.log(share)).sum() for share in shares]),
        8: np.argmax([(row == ordered[19]).sum() for row, ordered in zip(values, descending, strict=True)]),
        12: np.argmax([len(np.unique(row)) for row in all_rows]),
        13: np.argmin([share.max() for share in shares]),
        21: np.argmin([len(np.unique(row)) for row in all_rows]),
    }
    assert {number: int(found) for number, found in extreme.items()} == {number: number for number in CHOSEN}


@pytest.mark.parametrize("temperature", real.TEMPERATURES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_division_and_rounding_are_exact(dtype: str, temperature: float) -> None:
    bits = real.rows()[1][1][::997]
    scaled = formats.values(real.scaled(bits, dtype, temperature), dtype)
    for logit, got in zip(formats.values(bits, "bfloat16"), scaled, strict=True):
        quotient = rounding.nearest(_fraction(logit) / _fraction(np.float32(temperature)), torch.float32)
        assert float(got) == rounding.nearest(quotient, getattr(torch, dtype))


def _fraction(value: np.float32) -> Fraction:
    return Fraction(float(value))


def test_temperature_1_keeps_the_bits() -> None:
    name, bits = real.rows()[0]
    assert (RealRow(name).build().raw == bits).all()


def test_a_row_travels_as_json() -> None:
    row = RealRow("smollm2-05", "float16", 0.15, 50, 0.9)
    assert RealRow.from_dict(json.loads(row.to_json())) == row
    case = row.build()
    assert (case.dtype, case.vocab, case.k, case.p, case.line) == ("float16", 49152, 50, fp32(0.9), row.to_json())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"real": "gpt"}, "real='gpt': expected one of smollm2-00"),
        ({"real": "smollm2-00", "dtype": "float64"}, "dtype='float64': expected one of float32"),
        ({"real": "smollm2-00", "temperature": 0}, "temperature=0: expected a number"),
        ({"real": "smollm2-00", "temperature": True}, "temperature=True: expected a number"),
        ({"real": "smollm2-00", "k": 1.0}, "k=1.0: expected null or an integer"),
        ({"real": "smollm2-00", "p": "0.9"}, "p='0.9': expected null or a number"),
        ({"real": "smollm2-00", "seed": 1}, "unknown key 'seed'; expected some of real, dtype"),
        ({"dtype": "float32"}, "no key 'real'"),
    ],
)
def test_errors_name_the_field(given: dict[str, object], says: str) -> None:
    with pytest.raises(RecipeError, match="real row: ") as caught:
        RealRow.from_dict(given)
    assert says in str(caught.value)
