"""The arithmetic that numpy has no function for, on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from amdsim.arrays import Value

_QUIET = {2: np.uint16(1 << 9), 4: np.uint32(1 << 22), 8: np.uint64(1 << 51)}
_BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def quieted(value: Value) -> Value:
    """NaNs made quiet: the highest bit of their mantissa set."""
    size = value.dtype.itemsize
    return np.where(np.isnan(value), (value.view(_BITS[size]) | _QUIET[size]).view(value.dtype), value)


def _signalling(value: Value) -> Value:
    size = value.dtype.itemsize
    signalling: Value = np.isnan(value) & ((value.view(_BITS[size]) & _QUIET[size]) == 0)
    return signalling


def _number_of_two(first: Value, second: Value, chosen: Value) -> Value:
    """IEEE 754-2008 minNum and maxNum: of a number and a quiet NaN the number, a signalling NaN made quiet."""
    if not np.isnan(first + second).any():
        return chosen
    chosen = np.where(np.isnan(first), second, np.where(np.isnan(second), first, chosen))
    chosen = np.where(_signalling(second), quieted(second), chosen)
    return quieted(np.where(_signalling(first), quieted(first), chosen))


def maximum_number(first: Value, second: Value) -> Value:
    """The greater number; +0 is greater than -0."""
    bits = _BITS[first.dtype.itemsize]
    both = np.asarray(np.asarray(first).view(bits) & np.asarray(second).view(bits)).view(first.dtype)
    return _number_of_two(first, second, np.where(first == second, both, np.where(first > second, first, second)))


def minimum_number(first: Value, second: Value) -> Value:
    """The lesser number; -0 is less than +0."""
    bits = _BITS[first.dtype.itemsize]
    either = np.asarray(np.asarray(first).view(bits) | np.asarray(second).view(bits)).view(first.dtype)
    return _number_of_two(first, second, np.where(first == second, either, np.where(first < second, first, second)))


def maximum(first: Value, second: Value) -> Value:
    """IEEE 754-2019 maximum: NaN where either is."""
    nan = np.isnan(first) | np.isnan(second)
    return np.where(nan, quieted(np.where(np.isnan(first), first, second)), maximum_number(first, second))


def minimum(first: Value, second: Value) -> Value:
    """IEEE 754-2019 minimum: NaN where either is."""
    nan = np.isnan(first) | np.isnan(second)
    return np.where(nan, quieted(np.where(np.isnan(first), first, second)), minimum_number(first, second))


def middle(first: Value, second: Value, third: Value) -> Value:
    """The middle one of three integers."""
    return np.maximum(np.minimum(first, second), np.minimum(np.maximum(first, second), third))


def middle_number(first: Value, second: Value, third: Value) -> Value:
    """The middle one of three numbers: the greater of those that are not the greatest; the least beside a NaN."""
    greatest = maximum_number(maximum_number(first, second), third)
    others = np.where(
        greatest == first,
        maximum_number(second, third),
        np.where(greatest == second, maximum_number(first, third), maximum_number(first, second)),
    )
    unknown = np.isnan(first) | np.isnan(second) | np.isnan(third)
    return np.where(unknown, minimum_number(minimum_number(first, second), third), others)


def fused_wide(first: Value, second: Value, third: Value) -> Value:
    """first * second + third as a float64 that can be rounded once more, to float32 or float16, as if it were exact.

    In float64 the product of two float32 is exact, and the error of the sum is known: the sum is rounded to odd, which
    a second rounding, to a format less than half as wide, cannot spoil.
    """
    product = first.astype(np.float64) * second.astype(np.float64)
    addend = third.astype(np.float64)
    total = np.asarray(product + addend)
    part = total - product
    error = np.asarray((product - (total - part)) + (addend - part))
    inexact = np.isfinite(total) & (error != 0) & ~np.isnan(error)
    if inexact.any():
        even = (total.view(np.uint64) & np.uint64(1)) == 0
        towards = np.where(error > 0, np.inf, -np.inf)
        total = np.where(inexact & even, np.nextafter(total, towards), total)
    return total


def fused(first: Value, second: Value, third: Value) -> Value:
    """first * second + third, rounded once."""
    return fused_wide(first, second, third).astype(first.dtype)


def scaled(value: Value, exponent: Any) -> Value:
    """value * 2**exponent, rounded once."""
    wide = np.ldexp(value.astype(np.float64), np.clip(exponent, -400, 400).astype(np.int32))
    return wide.astype(value.dtype)


def truncated_to(value: Value, low: int, high: int, dtype: type[np.integer[Any]]) -> Any:
    """A float as an integer: truncated towards zero, clamped, NaN as 0."""
    wide = np.trunc(np.nan_to_num(value.astype(np.float64), nan=0.0))
    return np.clip(wide, float(low), float(high)).astype(np.int64).astype(dtype)


def to_i32(value: Value) -> Value:
    """A float as i32."""
    return truncated_to(value, -(2**31), 2**31 - 1, np.int32)


def to_u32(value: Value) -> Value:
    """A float as u32."""
    return truncated_to(value, 0, 2**32 - 1, np.uint32)


def reversed_bits(value: Value) -> Value:
    """u32, the lowest bit first."""
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        value = ((value >> np.uint32(shift)) & np.uint32(mask)) | ((value & np.uint32(mask)) << np.uint32(shift))
    return (value >> np.uint32(16)) | (value << np.uint32(16))


def leading_zeros(value: Value) -> Value:
    """i32, zeros above the highest one of a u32; -1 without one."""
    _, exponent = np.frexp(value.astype(np.float64))
    return np.where(value == 0, np.int32(-1), np.int32(32) - exponent.astype(np.int32))


def trailing_zeros(value: Value) -> Value:
    """i32, zeros below the lowest one of a u32; -1 without one."""
    lowest = value & (~value + np.uint32(1))
    _, exponent = np.frexp(lowest.astype(np.float64))
    return np.where(value == 0, np.int32(-1), exponent.astype(np.int32) - np.int32(1))


def sign_bits(value: Value) -> Value:
    """i32, how often the sign bit of an i32 is repeated from the top; -1 where all bits are equal."""
    folded = np.where(value < 0, ~value, value).view(np.uint32)
    return np.where(folded == 0, np.int32(-1), leading_zeros(folded))


def ones(value: Value) -> Value:
    """u32, the bits that are set."""
    return np.bitwise_count(value).astype(np.uint32)


def high_product_u32(first: Value, second: Value) -> Value:
    """The upper half of a product of two u32."""
    return ((first.astype(np.uint64) * second.astype(np.uint64)) >> np.uint64(32)).astype(np.uint32)


def high_product_i32(first: Value, second: Value) -> Value:
    """The upper half of a product of two i32."""
    return ((first.astype(np.int64) * second.astype(np.int64)) >> np.int64(32)).astype(np.int32)


def field_u32(value: Value, first: Value, count: Value) -> Value:
    """`count` bits of a u32 from bit `first` on; both modulo 32."""
    return (value >> (first & np.uint32(31))) & ((np.uint32(1) << (count & np.uint32(31))) - np.uint32(1))


def field_i32(value: Value, first: Value, count: Value) -> Value:
    """The same with the sign of the field's highest bit; bits above the word are copies of its sign."""
    count = (count & np.uint32(31)).astype(np.int64)
    field = value.astype(np.int64) >> (first & np.uint32(31)).astype(np.int64)
    field = (field << (64 - count)) >> (64 - count)
    return np.where(count == 0, np.int64(0), field).astype(np.int32)


def low_24(value: Any) -> Any:
    """The lower 24 bits of a u32, or of an i32 with their sign."""
    if value.dtype == np.uint32:
        return value & np.uint32(0xFFFFFF)
    return (value << np.int32(8)) >> np.int32(8)


def permuted_bytes(upper: Value, lower: Value, selector: Value) -> Value:
    """v_perm_b32: each byte of the selector names one of the eight bytes, a sign of one, 0 or 255."""
    data = lower.astype(np.uint64) | (upper.astype(np.uint64) << np.uint64(32))
    result: Any = np.uint32(0)
    for place in range(0, 32, 8):
        chosen = (selector >> np.uint32(place)) & np.uint32(255)
        byte = (data >> (np.minimum(chosen, np.uint32(7)).astype(np.uint64) * np.uint64(8))) & np.uint64(255)
        if (chosen > 7).any():
            sign_of = np.clip(chosen.astype(np.int64) - 8, 0, 3) * 16 + 15
            sign = ((data >> sign_of.astype(np.uint64)) & np.uint64(1)) * np.uint64(255)
            byte = np.where(
                chosen > 7, np.where(chosen > 11, np.where(chosen > 12, 255, 0).astype(np.uint64), sign), byte
            )
        result = result | (byte.astype(np.uint32) << np.uint32(place))
    return np.asarray(result)


def table_of_three(first: Value, second: Value, third: Value, table: int) -> Value:
    """v_bitop3: bit (4a + 2b + c) of the table for the bits a, b, c of the operands."""
    result: Any = first.dtype.type(0)
    for row in range(8):
        if table >> row & 1:
            term = (first if row & 4 else ~first) & (second if row & 2 else ~second) & (third if row & 1 else ~third)
            result = result | term
    return np.asarray(result, first.dtype)
