"""Rows of real logits: 8 rows of SmolLM2-135M travel with the package (src/qrita/data/README.md says which and why).

A `RealRow` names one of them with a dtype, a temperature, k and p, and travels as one line of JSON, as a recipe does.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qrita.testing import formats
from qrita.testing.building import Case
from qrita.testing.formats import DTYPES, Raw
from qrita.testing.recipes import RecipeError, fp32

TEMPERATURES = (0.15, 1.0, 2.0)
"""What the suite divides real logits by; any positive number will do."""

_FILE = "smollm2_135m_logits_bf16.npz"


@cache
def rows() -> list[tuple[str, NDArray[np.uint16]]]:
    """Each row's name and its bfloat16 patterns, uint16 [49152]. Not to be written to."""
    with files("qrita").joinpath("data", _FILE).open("rb") as file, np.load(file) as data:
        bits, source = data["bfloat16_bits"], data["source_row"]
    bits.setflags(write=False)
    return [(f"smollm2-{number:02}", row) for number, row in zip(source, bits, strict=True)]


def scaled(bits: NDArray[np.uint16], dtype: str, temperature: float) -> Raw:
    """bfloat16 patterns divided by a temperature and rounded into `dtype`, as patterns of that dtype.

    The division is one float32 operation by the float32 nearest to `temperature`, which IEEE 754 rounds exactly; the
    second rounding is to nearest even. So the bits are the same on every machine. A quotient beyond float32 is an
    infinity, one beyond `dtype` its greatest finite value.
    """
    with np.errstate(over="ignore", under="ignore"):
        quotients = formats.values(bits, "bfloat16") / np.float32(temperature)
    return formats.rounded(quotients, dtype)


@dataclass(frozen=True)
class RealRow:
    """One real row with its k and p. Fixes every bit on every machine.

    Attributes:
        real: the row's name, one of those in `rows()`.
        dtype: "float32", "bfloat16" or "float16".
        temperature: what the row is divided by; see `scaled`.
        k: as in `qrita.top_k_top_p`, any integer.
        p: None or a finite number; rounded to fp32, as the public functions round it.
    """

    real: str
    dtype: str = "bfloat16"
    temperature: float = 1.0
    k: int | None = None
    p: float | None = None

    def __post_init__(self) -> None:
        names = [name for name, _ in rows()]
        if self.real not in names:
            raise _error("real", self.real, f"one of {', '.join(names)}")
        if self.dtype not in DTYPES:
            raise _error("dtype", self.dtype, f"one of {', '.join(DTYPES)}")
        if not _is_number(self.temperature) or not 1e-30 <= self.temperature <= 1e30:
            raise _error("temperature", self.temperature, "a number from 1e-30 to 1e30")
        if self.k is not None and (not isinstance(self.k, int) or isinstance(self.k, bool)):
            raise _error("k", self.k, "null or an integer")
        if self.p is not None and (not _is_number(self.p) or not abs(self.p) <= 1e30):
            raise _error("p", self.p, "null or a number from -1e30 to 1e30")

    def to_json(self) -> str:
        """One line, without k and p where they are off."""
        return json.dumps({name: value for name, value in asdict(self).items() if value is not None})

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> RealRow:
        """The row of a JSON object, as `to_json` writes it.

        Raises:
            RecipeError: names the field, its value and what was expected.
        """
        known = [field.name for field in fields(cls)]
        for key in given:
            if key not in known:
                raise RecipeError(f"real row: unknown key {key!r}; expected some of {', '.join(known)}")
        if "real" not in given:
            raise RecipeError("real row: no key 'real'; expected the name of a row")
        return cls(**given)

    def build(self) -> Case:
        """The case: like that of a recipe, with this row's JSON for a label."""
        raw = scaled(dict(rows())[self.real], self.dtype, self.temperature)
        p = None if self.p is None else fp32(self.p)
        return Case(None, formats.tensor(raw, self.dtype), self.k, p, self.to_json())


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _error(field: str, value: object, expected: str) -> RecipeError:
    return RecipeError(f"real row: {field}={value!r}: expected {expected}")
