"""qrita.rounding against exact fractions: one rounding, to nearest, ties to even, from any kind of number.

Two references. `neighbour` walks the format's own numbers, enumerated from their bit patterns by torch, and picks the
nearest in exact arithmetic. numpy and torch conversions are right where they round once: float64 to float32 or
float16, float32 to bfloat16.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from support import DTYPES, INF, NAN, short

from qrita.rounding import FORMATS, nearest, pattern

dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=short)
sixteen_bit = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=short)
floats = st.floats(allow_nan=False, allow_infinity=False)
fractions = st.builds(
    lambda numerator, denominator, shift: Fraction(numerator, denominator) * Fraction(2) ** shift,
    st.integers(-(2**70), 2**70),
    st.integers(1, 2**70),
    st.integers(-160, 130),
)


def same(x: float, y: float) -> bool:
    """Equal with the sign of zero, or both NaN."""
    return x.hex() == y.hex()


@cache
def magnitudes(dtype: torch.dtype) -> list[float]:
    """Every finite non-negative number of a 16-bit format, in order; then the power of two where infinity begins."""
    values = torch.arange(0x8000, dtype=torch.int32).to(torch.int16).view(dtype).double()
    return [*values[values.isfinite()].tolist(), 2.0 ** FORMATS[dtype].overflow]


def neighbour(value: Fraction, dtype: torch.dtype) -> float:
    """The nearest number of a 16-bit format, found among its neighbours; equally near ones by even pattern."""
    numbers = magnitudes(dtype)
    above = bisect_left(numbers, abs(value))
    if above == len(numbers):
        return math.copysign(INF, value)
    distance = {i: abs(Fraction(numbers[i]) - abs(value)) for i in (above - 1, above) if i >= 0}
    best = min(distance, key=lambda i: (distance[i], i % 2))
    return math.copysign(INF if best == len(numbers) - 1 else numbers[best], value)


@sixteen_bit
@given(value=fractions)
def test_sixteen_bit_formats_against_their_own_numbers(dtype: torch.dtype, value: Fraction) -> None:
    assert nearest(value, dtype) == neighbour(value, dtype)


@sixteen_bit
def test_every_number_every_midpoint_and_both_sides_of_it(dtype: torch.dtype) -> None:
    """Sampled evenly, with the ends; at the midpoint the even pattern wins, whichever side it is on."""
    numbers = magnitudes(dtype)
    beside = Fraction(1, 2**300)
    for i in [*range(40), *range(40, len(numbers) - 1, 97), len(numbers) - 2]:
        low, high = Fraction(numbers[i]), Fraction(numbers[i + 1])
        middle = (low + high) / 2
        top = INF if i == len(numbers) - 2 else float(high)
        assert nearest(low, dtype) == low
        assert nearest(middle - beside, dtype) == low
        assert nearest(middle, dtype) == (float(low) if i % 2 == 0 else top)
        assert nearest(middle + beside, dtype) == top
        assert nearest(-middle - beside, dtype) == -top


@given(value=floats)
@example(2.0**-149)
@example(2.0**-150)
@example(2.0**-126 - 2.0**-150)
@example(3.4028235677973366e38)  # the least fp64 that rounds to infinity
@example(3.4028235677973362e38)
def test_float32_agrees_with_numpy_and_torch(value: float) -> None:
    with np.errstate(over="ignore", under="ignore"):
        expected = float(np.float32(value))
    assert same(nearest(value, torch.float32), expected)
    assert same(torch.tensor(value, dtype=torch.float64).float().item(), expected)


@given(value=floats | st.floats(-70000, 70000))
@example(65519.99)
@example(65520.0)
@example(2.0**-25)
def test_float16_agrees_with_numpy(value: float) -> None:
    with np.errstate(over="ignore", under="ignore"):
        expected = float(np.float16(value))
    assert same(nearest(value, torch.float16), expected)


@given(value=st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_bfloat16_agrees_with_torch_where_the_value_is_a_float32(value: float) -> None:
    assert same(nearest(value, torch.bfloat16), torch.tensor(value).bfloat16().item())


@given(value=fractions)
def test_float32_is_nearest_to_a_fraction(value: Fraction) -> None:
    """By definition: within half a quantum, and at exactly half of one with an even significand."""
    rounded = nearest(value, torch.float32)
    if math.isinf(rounded):
        assert abs(value) >= 2**128 - 2**103
        return
    assert float(np.float32(rounded)) == rounded
    lower, upper = (Fraction(float(np.nextafter(np.float32(rounded), np.float32(end)))) for end in (-INF, INF))
    error, exact = abs(Fraction(rounded) - value), Fraction(rounded)
    assert error <= min(abs(lower - value), abs(upper - value))
    if error in (abs(lower - value), abs(upper - value)):
        assert np.float32(rounded).view(np.uint32) % 2 == 0
    assert (exact > 0) - (exact < 0) in (0, (value > 0) - (value < 0))


@dtypes
@pytest.mark.parametrize(
    ("value", "expected"),
    [(INF, INF), (-INF, -INF), (0.0, 0.0), (-0.0, -0.0), (0, 0.0)],
    ids=["inf", "-inf", "0.0", "-0.0", "0"],
)
@pytest.mark.parametrize("kind", [float, np.float16, np.float64, np.longdouble], ids=lambda kind: kind.__name__)
def test_infinities_and_zeros_pass_through(dtype: torch.dtype, value: float, expected: float, kind: Any) -> None:
    assert same(nearest(kind(value), dtype), expected)


@dtypes
@pytest.mark.parametrize("kind", [float, np.float16, np.float32, np.longdouble], ids=lambda kind: kind.__name__)
def test_nan_passes_through(dtype: torch.dtype, kind: Any) -> None:
    assert math.isnan(nearest(kind(NAN), dtype))


@dtypes
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    "value", [10**400, 10**5000, Fraction(10**5000, 3), 2**128, np.uint64(2**64 - 1)],
    ids=["10**400", "10**5000", "10**5000/3", "2**128", "numpy"],
)  # fmt: skip
def test_huge_numbers(dtype: torch.dtype, sign: int, value: Any) -> None:
    finite = int(value) < 2 ** FORMATS[dtype].overflow
    assert nearest(sign * value if sign > 0 else -int(value), dtype) == sign * (2.0**64 if finite else INF)


@dtypes
@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_below_fp64_vanish_with_their_sign(dtype: torch.dtype, sign: int) -> None:
    assert same(nearest(Fraction(sign, 10**400), dtype), math.copysign(0.0, sign))


@pytest.mark.parametrize(
    "integer", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64], ids=lambda kind: kind.__name__
)
def test_numpy_integers_do_not_wrap_around(integer: type[np.integer[Any]]) -> None:
    greatest = np.iinfo(integer).max
    assert nearest(integer(greatest), torch.float32) == float(np.float32(greatest))
    assert nearest(integer(np.iinfo(integer).min), torch.float32) == float(np.iinfo(integer).min)


@sixteen_bit
def test_what_torch_gets_wrong_by_rounding_twice(dtype: torch.dtype) -> None:
    """Why the module exists: torch takes fp64 to a 16-bit format by way of fp32."""
    quantum = 2.0 ** (1 - FORMATS[dtype].precision)
    above_a_tie = 1 + quantum / 2 + 2.0**-40
    assert nearest(above_a_tie, dtype) == 1 + quantum
    assert torch.tensor(above_a_tie, dtype=torch.float64).to(dtype).item() == 1.0


@sixteen_bit
def test_patterns_of_every_sixteen_bit_number(dtype: torch.dtype) -> None:
    patterns = torch.arange(-0x8000, 0x8000, dtype=torch.int32).to(torch.int16)
    values = patterns.view(dtype).double()
    numbers = ~values.isnan()
    assert [pattern(value, dtype) for value in values[numbers].tolist()] == patterns[numbers].tolist()


@given(bits=st.integers(-(2**31), 2**31 - 1))
@example(0)
@example(-(2**31))
@example(1)
@example(0x007FFFFF)
@example(0x00800000)
@example(0x7F7FFFFF)
@example(0x7F800000)
@example(-0x00800000)
def test_patterns_of_float32(bits: int) -> None:
    value = float(np.int32(bits).view(np.float32))
    assert math.isnan(value) or pattern(value, torch.float32) == bits


@dtypes
@pytest.mark.parametrize("sign", [1, -1])
def test_pattern_of_a_subnormal_while_subnormals_are_flushed(dtype: torch.dtype, sign: int) -> None:
    value = sign * 3 * 2.0 ** FORMATS[dtype].quantum
    expected = pattern(value, dtype)
    torch.set_flush_denormal(True)
    try:
        assert pattern(value, dtype) == expected
    finally:
        torch.set_flush_denormal(False)
    assert expected & 0x7FFF == 3
