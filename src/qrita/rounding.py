"""Rounding a Python number once, to nearest even, into a floating-point format.

`float(x)` followed by a conversion rounds twice, and torch converts fp64 to bf16 by way of fp32, which rounds
twice as well. One wrong bit of `p` or of `mask_value` is one wrong answer, so both pass through here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any

import torch


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: significand bits, exponent of the smallest subnormal, exponent of overflow."""

    precision: int
    quantum: int
    overflow: int


FORMATS = {
    torch.float32: Format(precision=24, quantum=-149, overflow=128),
    torch.bfloat16: Format(precision=8, quantum=-133, overflow=128),
    torch.float16: Format(precision=11, quantum=-24, overflow=16),
}


def nearest(value: float, dtype: torch.dtype) -> float:
    """The value of `dtype` nearest to `value`, ties to even, as a Python float (infinite past the largest finite one).

    `value` is any number that knows its exact value: float, int, Fraction, a numpy scalar. Infinities, NaN and the
    sign of zero pass through.
    """
    as_float = _to_float(value)
    if math.isnan(as_float) or as_float == 0.0 == value or value in (math.inf, -math.inf):
        return as_float
    exact, form = _exact(value), FORMATS[dtype]
    exponent = max(_floor_log2(abs(exact)) - (form.precision - 1), form.quantum)
    rounded = round(exact / Fraction(2) ** exponent) * Fraction(2) ** exponent  # Fraction rounds half to even
    if abs(rounded) >= Fraction(2) ** form.overflow:
        return math.copysign(math.inf, as_float)
    return math.copysign(float(rounded), as_float)


def pattern(value: float, dtype: torch.dtype) -> int:
    """The bits of `value`, which `dtype` represents and which is no NaN, as a signed integer of its width.

    In Python integers: torch's own conversion turns subnormals into zeros where `set_flush_denormal` says so.
    """
    form, hidden_bit = FORMATS[dtype], FORMATS[dtype].precision - 1
    magnitude = 2.0**form.overflow if math.isinf(value) else abs(value)
    binade = math.frexp(magnitude)[1] if magnitude else form.quantum
    exponent = max(binade - form.precision, form.quantum)
    bits = ((exponent - form.quantum) << hidden_bit) + int(math.ldexp(magnitude, -exponent))
    return bits - (1 << (torch.finfo(dtype).bits - 1)) if math.copysign(1.0, value) < 0.0 else bits


def _exact(value: Any) -> Fraction:
    if isinstance(value, Rational):  # int() because numpy's integers wrap around
        return Fraction(int(value.numerator), int(value.denominator))
    return Fraction(*value.as_integer_ratio())


def _to_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an int or a Fraction past fp64
        return math.inf if value > 0 else -math.inf


def _floor_log2(value: Fraction) -> int:
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1
