"""What instructions compute, one lane at a time, in whole numbers: the expected values of the tests.

Written from the pseudocode in AMD's instruction set documents: "AMD Instinct MI300" and "AMD Instinct CDNA4" for
generation 9, "RDNA3" for 11, "RDNA4" for 12. Where the documents' text would make divisions come out wrong, what makes
them right is taken to be meant: v_div_fmas_f32 scales by 2**64 or 2**-64, by the exponent of its third operand, before
it rounds; "denormal" in v_div_scale_f32 means subnormal in float32, and a denominator whose reciprocal and quotient
both are is scaled by 2**-64; v_div_fixup_f32 makes infinity of a quotient of numbers that is NaN.

A definition takes integers: with a sign for i kinds, without for u kinds, and the bits of floats. It gives the result's
bits, modulo its width; None stands for any NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import floats
from floats import F16, F32, F64, FORMATS

WORD = 0xFFFFFFFF
DOUBLE = 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True)
class Definition:
    """The kinds of the result and of the sources, and the function between."""

    result: str
    sources: tuple[str, ...]
    compute: Callable[..., Any]


def define(result: str, sources: str, compute: Callable[..., Any]) -> Definition:
    return Definition(result, tuple(sources.split()), compute)


def signed(value: int, bits: int) -> int:
    """The number whose two's complement is the lower bits of a value."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def reversed_word(value: int) -> int:
    return int(f"{value:032b}"[::-1], 2)


def leading_zeros(value: int) -> int:
    return 32 - value.bit_length() if value else -1


def trailing_zeros(value: int) -> int:
    return next((i for i in range(64) if value >> i & 1), -1)


def sign_run(value: int) -> int:
    """The first bit from the top that differs from the sign, counted from the top; -1 without one."""
    bits = f"{value & WORD:032b}"
    return next((i for i in range(1, 32) if bits[i] != bits[0]), -1)


def field(value: int, first: int, count: int) -> int:
    return (value >> (first & 31)) & ((1 << (count & 31)) - 1)


def signed_field(value: int, first: int, count: int) -> int:
    count &= 31
    return signed(value >> (first & 31), count) if count else 0


def permuted(upper: int, lower: int, selector: int) -> int:
    data, result = (upper << 32) | lower, 0
    for place in range(4):
        chosen = selector >> (8 * place) & 255
        if chosen >= 13:
            byte = 255
        elif chosen == 12:
            byte = 0
        elif chosen >= 8:
            byte = 255 * (data >> (16 * (chosen - 8) + 15) & 1)
        else:
            byte = data >> (8 * chosen) & 255
        result |= byte << (8 * place)
    return result


def low24(value: int) -> int:
    return value & 0xFFFFFF


def signed24(value: int) -> int:
    return signed(value, 24)


def negated(bits: int, form: floats.Format) -> int:
    return bits ^ form.sign


def number_maximum(form: floats.Format) -> Callable[[int, int], int]:
    """maxNum: a signalling NaN gives a quiet one, a quiet NaN gives the other operand, +0 is above -0."""

    def compute(first: int, second: int) -> int:
        for value in (first, second):
            if floats.is_nan(value, form) and not value & form.quiet:
                return floats.quieted(value, form)
        if floats.is_nan(first, form):
            return second
        if floats.is_nan(second, form):
            return first
        return max(first, second, key=lambda bits: floats.total_key(bits, form))

    return compute


def number_minimum(form: floats.Format) -> Callable[[int, int], int]:
    greatest = number_maximum(form)

    def compute(first: int, second: int) -> int:
        if floats.is_nan(first, form) or floats.is_nan(second, form):
            return greatest(first, second)
        return min(first, second, key=lambda bits: floats.total_key(bits, form))

    return compute


def middle_number(form: floats.Format) -> Callable[[int, int, int], int]:
    """The greater of two that are not the greatest, where zeros are equal; beside a NaN, the least."""
    greatest, least = number_maximum(form), number_minimum(form)

    def compute(x: int, y: int, z: int) -> int:
        if any(floats.is_nan(bits, form) for bits in (x, y, z)):
            return least(least(x, y), z)
        top = greatest(greatest(x, y), z)
        if floats.compare(top, x, form) == "=":
            return greatest(y, z)
        return greatest(x, z) if floats.compare(top, y, form) == "=" else greatest(x, y)

    return compute


def ieee_maximum(form: floats.Format) -> Callable[[int, int], int | None]:
    """maximum: NaN where either is, +0 above -0."""

    def compute(first: int, second: int) -> int | None:
        if floats.is_nan(first, form) or floats.is_nan(second, form):
            return None
        return number_maximum(form)(first, second)

    return compute


def ieee_minimum(form: floats.Format) -> Callable[[int, int], int | None]:
    def compute(first: int, second: int) -> int | None:
        if floats.is_nan(first, form) or floats.is_nan(second, form):
            return None
        return number_minimum(form)(first, second)

    return compute


def chained(first: Callable[..., int | None], second: Callable[..., int | None]) -> Callable[..., Any]:
    """second(first(x, y), z), where NaN stays NaN."""

    def compute(x: int, y: int, z: int) -> int | None:
        inner = first(x, y)
        return second(0x7FC00000 if inner is None else inner, z)

    return compute


def bf16(bits: int) -> int:
    """The bits of a float32 as bf16, the upper half of one."""
    if floats.is_nan(bits, F32):
        return bits >> 16 | 0x40
    lower, upper = bits & 0xFFFF, bits >> 16
    return upper + (lower > 0x8000 or (lower == 0x8000 and upper % 2 == 1))


def narrowed(bits: int) -> int:
    found = floats.converted(bits, F32, F16)
    return 0x7E00 | (bits >> 16 & 0x8000) if found is None else found


def rounded_whole(bits: int, mode: str, form: floats.Format = F32) -> int | None:
    """A float rounded to a whole number: "down", "up", "zero" or "even"."""
    if floats.is_nan(bits, form):
        return None
    if floats.is_infinite(bits, form) or floats.is_zero(bits, form):
        return bits
    value = floats.value_of(bits, form)
    floor = value.numerator // value.denominator
    up = -(-value.numerator // value.denominator)
    whole = {"down": floor, "up": up, "zero": int(value), "even": round(value)}[mode]
    return floats.bits_of(Fraction(whole), form, minus_zero=floats.negative(bits, form))


def scaled(bits: int, exponent: int) -> int | None:
    """ldexp on float32."""
    if floats.is_nan(bits, F32):
        return None
    if floats.is_infinite(bits, F32) or floats.is_zero(bits, F32):
        return bits
    exponent = max(-400, min(400, exponent))
    value = floats.value_of(bits, F32)
    value = value * 2**exponent if exponent >= 0 else value / 2**-exponent
    return floats.bits_of(value, F32, minus_zero=floats.negative(bits, F32))


def subnormal(bits: int) -> bool:
    return floats.exponent_of(bits, F32) == 0 and not floats.is_zero(bits, F32)


def tiny(value: Any) -> bool:
    """Whether an exact number is below the normal float32."""
    return bool(value != 0 and abs(value) * 2**126 < 1)


def division_scale(value: int, denominator: int, numerator: int) -> tuple[int | None, bool]:
    """v_div_scale_f32: (result, its bit of vcc)."""
    if any(floats.is_zero(x, F32) for x in (denominator, numerator)):
        return None, False
    exponents = floats.exponent_of(numerator, F32) - floats.exponent_of(denominator, F32)
    finite = not (floats.is_infinite(denominator, F32) or floats.is_nan(denominator, F32))
    below = 1 / floats.value_of(denominator, F32) if finite else 0
    usual = finite and not (floats.is_infinite(numerator, F32) or floats.is_nan(numerator, F32))
    share = floats.value_of(numerator, F32) * below if usual else 0
    if exponents >= 96:
        return (scaled(value, 64) if value == denominator else value), True
    if subnormal(denominator):
        return scaled(value, 64), False
    if tiny(below) and tiny(share):
        return (scaled(value, -64) if value == denominator else value), True
    if tiny(below):
        return scaled(value, -64), False
    if tiny(share):
        return (scaled(value, 64) if value == numerator else value), True
    if floats.exponent_of(numerator, F32) <= 23:
        return scaled(value, 64), False
    return value, False


def division_fixup(quotient: int, denominator: int, numerator: int) -> int | None:
    """v_div_fixup_f32."""
    if floats.is_nan(numerator, F32) or floats.is_nan(denominator, F32):
        return None
    sign = (denominator ^ numerator) & F32.sign
    if floats.is_zero(denominator, F32) and floats.is_zero(numerator, F32):
        return 0xFFC00000
    if floats.is_infinite(denominator, F32) and floats.is_infinite(numerator, F32):
        return 0xFFC00000
    if floats.is_zero(denominator, F32) or floats.is_infinite(numerator, F32):
        return sign | F32.infinity
    if floats.is_infinite(denominator, F32) or floats.is_zero(numerator, F32):
        return sign
    if floats.exponent_of(numerator, F32) - floats.exponent_of(denominator, F32) < -150:
        return sign
    return sign | (F32.infinity if floats.is_nan(quotient, F32) else quotient & ~F32.sign)


def add3(x: int, y: int, z: int) -> int:
    return x + y + z


VECTOR: dict[str, Definition] = {
    "v_mov_b32": define("u32", "u32", lambda x: x),
    "v_mov_b64": define("u64", "u64", lambda x: x),
    "v_mov_b16": define("u16", "u16", lambda x: x),
    "v_accvgpr_read_b32": define("u32", "u32", lambda x: x),
    "v_accvgpr_write_b32": define("u32", "u32", lambda x: x),
    "v_not_b32": define("u32", "u32", lambda x: ~x),
    "v_bfrev_b32": define("u32", "u32", reversed_word),
    "v_and_b32": define("u32", "u32 u32", lambda x, y: x & y),
    "v_or_b32": define("u32", "u32 u32", lambda x, y: x | y),
    "v_xor_b32": define("u32", "u32 u32", lambda x, y: x ^ y),
    "v_xnor_b32": define("u32", "u32 u32", lambda x, y: ~(x ^ y)),
    "v_and_or_b32": define("u32", "u32 u32 u32", lambda x, y, z: (x & y) | z),
    "v_or3_b32": define("u32", "u32 u32 u32", lambda x, y, z: x | y | z),
    "v_xor3_b32": define("u32", "u32 u32 u32", lambda x, y, z: x ^ y ^ z),
    "v_bfi_b32": define("u32", "u32 u32 u32", lambda x, y, z: (x & y) | (~x & z)),
    "v_bfe_u32": define("u32", "u32 u32 u32", field),
    "v_bfe_i32": define("u32", "i32 u32 u32", signed_field),
    "v_bfm_b32": define("u32", "u32 u32", lambda x, y: ((1 << (x & 31)) - 1) << (y & 31)),
    "v_lshlrev_b32": define("u32", "u32 u32", lambda x, y: y << (x & 31)),
    "v_lshrrev_b32": define("u32", "u32 u32", lambda x, y: y >> (x & 31)),
    "v_ashrrev_i32": define("u32", "u32 i32", lambda x, y: y >> (x & 31)),
    "v_lshlrev_b64": define("u64", "u32 u64", lambda x, y: y << (x & 63)),
    "v_lshrrev_b64": define("u64", "u32 u64", lambda x, y: y >> (x & 63)),
    "v_ashrrev_i64": define("u64", "u32 i64", lambda x, y: y >> (x & 63)),
    "v_lshl_add_u32": define("u32", "u32 u32 u32", lambda x, y, z: (x << (y & 31)) + z),
    "v_add_lshl_u32": define("u32", "u32 u32 u32", lambda x, y, z: ((x + y) & WORD) << (z & 31)),
    "v_lshl_or_b32": define("u32", "u32 u32 u32", lambda x, y, z: (x << (y & 31)) | z),
    "v_lshl_add_u64": define("u64", "u64 u32 u64", lambda x, y, z: (x << (y & 7)) + z),
    "v_xad_u32": define("u32", "u32 u32 u32", lambda x, y, z: (x ^ y) + z),
    "v_alignbit_b32": define("u32", "u32 u32 u32", lambda x, y, z: ((x << 32) | y) >> (z & 31)),
    "v_perm_b32": define("u32", "u32 u32 u32", permuted),
    "v_add_u32": define("u32", "u32 u32", lambda x, y: x + y),
    "v_sub_u32": define("u32", "u32 u32", lambda x, y: x - y),
    "v_subrev_u32": define("u32", "u32 u32", lambda x, y: y - x),
    "v_add3_u32": define("u32", "u32 u32 u32", add3),
    "v_mul_lo_u32": define("u32", "u32 u32", lambda x, y: x * y),
    "v_mul_hi_u32": define("u32", "u32 u32", lambda x, y: (x * y) >> 32),
    "v_mul_hi_i32": define("u32", "i32 i32", lambda x, y: (x * y) >> 32),
    "v_mul_u32_u24": define("u32", "u32 u32", lambda x, y: low24(x) * low24(y)),
    "v_mul_hi_u32_u24": define("u32", "u32 u32", lambda x, y: (low24(x) * low24(y)) >> 32),
    "v_mul_i32_i24": define("u32", "u32 u32", lambda x, y: signed24(x) * signed24(y)),
    "v_mad_u32_u24": define("u32", "u32 u32 u32", lambda x, y, z: low24(x) * low24(y) + z),
    "v_mad_i32_i24": define("u32", "u32 u32 i32", lambda x, y, z: signed24(x) * signed24(y) + z),
    "v_max_i32": define("u32", "i32 i32", max),
    "v_min_i32": define("u32", "i32 i32", min),
    "v_max_u32": define("u32", "u32 u32", max),
    "v_min_u32": define("u32", "u32 u32", min),
    "v_max3_i32": define("u32", "i32 i32 i32", max),
    "v_min3_i32": define("u32", "i32 i32 i32", min),
    "v_max3_u32": define("u32", "u32 u32 u32", max),
    "v_min3_u32": define("u32", "u32 u32 u32", min),
    "v_med3_i32": define("u32", "i32 i32 i32", lambda *x: sorted(x)[1]),
    "v_med3_u32": define("u32", "u32 u32 u32", lambda *x: sorted(x)[1]),
    "v_maxmin_i32": define("u32", "i32 i32 i32", lambda x, y, z: min(max(x, y), z)),
    "v_minmax_i32": define("u32", "i32 i32 i32", lambda x, y, z: max(min(x, y), z)),
    "v_bcnt_u32_b32": define("u32", "u32 u32", lambda x, y: x.bit_count() + y),
    "v_ffbh_u32": define("u32", "u32", leading_zeros),
    "v_ffbh_i32": define("u32", "u32", sign_run),
    "v_ffbl_b32": define("u32", "u32", trailing_zeros),
    "v_add_u16": define("u16", "u16 u16", lambda x, y: x + y),
    "v_sub_u16": define("u16", "u16 u16", lambda x, y: x - y),
    "v_mul_lo_u16": define("u16", "u16 u16", lambda x, y: x * y),
    "v_and_b16": define("u16", "u16 u16", lambda x, y: x & y),
    "v_or_b16": define("u16", "u16 u16", lambda x, y: x | y),
    "v_lshlrev_b16": define("u16", "u16 u16", lambda x, y: y << (x & 15)),
    "v_lshrrev_b16": define("u16", "u16 u16", lambda x, y: y >> (x & 15)),
    "v_ashrrev_i16": define("u16", "u16 i16", lambda x, y: y >> (x & 15)),
    "v_max_i16": define("u16", "i16 i16", max),
    "v_min_i16": define("u16", "i16 i16", min),
    "v_pack_b32_f16": define("u32", "u16 u16", lambda x, y: x | (y << 16)),
    "v_add_f32": define("f32", "f32 f32", lambda x, y: floats.add(x, y, F32)),
    "v_sub_f32": define("f32", "f32 f32", lambda x, y: floats.add(x, negated(y, F32), F32)),
    "v_subrev_f32": define("f32", "f32 f32", lambda x, y: floats.add(y, negated(x, F32), F32)),
    "v_mul_f32": define("f32", "f32 f32", lambda x, y: floats.multiply(x, y, F32)),
    "v_fma_f32": define("f32", "f32 f32 f32", lambda x, y, z: floats.multiply_add(x, y, z, F32)),
    "v_max_f32": define("f32", "f32 f32", number_maximum(F32)),
    "v_min_f32": define("f32", "f32 f32", number_minimum(F32)),
    "v_ldexp_f32": define("f32", "f32 i32", scaled),
    "v_floor_f32": define("f32", "f32", lambda x: rounded_whole(x, "down")),
    "v_ceil_f32": define("f32", "f32", lambda x: rounded_whole(x, "up")),
    "v_trunc_f32": define("f32", "f32", lambda x: rounded_whole(x, "zero")),
    "v_rndne_f32": define("f32", "f32", lambda x: rounded_whole(x, "even")),
    "v_sqrt_f32": define("f32", "f32", lambda x: floats.square_root(x, F32)),
    "v_rcp_f32": define("f32", "f32", lambda x: floats.quotient(0x3F800000, x, F32)),
    "v_rcp_iflag_f32": define("f32", "f32", lambda x: floats.quotient(0x3F800000, x, F32)),
    "v_div_fixup_f32": define("f32", "f32 f32 f32", division_fixup),
    "v_add_f16": define("f16", "f16 f16", lambda x, y: floats.add(x, y, F16)),
    "v_sub_f16": define("f16", "f16 f16", lambda x, y: floats.add(x, negated(y, F16), F16)),
    "v_mul_f16": define("f16", "f16 f16", lambda x, y: floats.multiply(x, y, F16)),
    "v_fma_f16": define("f16", "f16 f16 f16", lambda x, y, z: floats.multiply_add(x, y, z, F16)),
    "v_max_f16": define("f16", "f16 f16", number_maximum(F16)),
    "v_min_f16": define("f16", "f16 f16", number_minimum(F16)),
    "v_add_f64": define("f64", "f64 f64", lambda x, y: floats.add(x, y, F64)),
    "v_mul_f64": define("f64", "f64 f64", lambda x, y: floats.multiply(x, y, F64)),
    "v_max_f64": define("f64", "f64 f64", number_maximum(F64)),
    "v_min_f64": define("f64", "f64 f64", number_minimum(F64)),
    "v_cvt_f32_i32": define("f32", "i32", lambda x: floats.bits_of(Fraction(x), F32)),
    "v_cvt_f32_u32": define("f32", "u32", lambda x: floats.bits_of(Fraction(x), F32)),
    "v_cvt_i32_f32": define("u32", "f32", lambda x: floats.integer_of(x, F32, -(2**31), 2**31 - 1)),
    "v_cvt_u32_f32": define("u32", "f32", lambda x: floats.integer_of(x, F32, 0, 2**32 - 1)),
    "v_cvt_f32_f16": define("f32", "f16", lambda x: floats.converted(x, F16, F32)),
    "v_cvt_f16_f32": define("f16", "f32", lambda x: floats.converted(x, F32, F16)),
    "v_cvt_f32_f64": define("f32", "f64", lambda x: floats.converted(x, F64, F32)),
    "v_cvt_f64_f32": define("f64", "f32", lambda x: floats.converted(x, F32, F64)),
    "v_cvt_f64_i32": define("f64", "i32", lambda x: floats.bits_of(Fraction(x), F64)),
    "v_cvt_f64_u32": define("f64", "u32", lambda x: floats.bits_of(Fraction(x), F64)),
    "v_cvt_f32_ubyte0": define("f32", "u32", lambda x: floats.bits_of(Fraction(x & 255), F32)),
    "v_alignbyte_b32": define("u32", "u32 u32 u32", lambda x, y, z: ((x << 32) | y) >> (8 * (z & 3))),
    "v_sad_u32": define("u32", "u32 u32 u32", lambda x, y, z: abs(x - y) + z),
    "v_mul_hi_i32_i24": define("u32", "u32 u32", lambda x, y: (signed24(x) * signed24(y)) >> 32),
    "v_maxmin_u32": define("u32", "u32 u32 u32", lambda x, y, z: min(max(x, y), z)),
    "v_minmax_u32": define("u32", "u32 u32 u32", lambda x, y, z: max(min(x, y), z)),
    "v_subrev_u16": define("u16", "u16 u16", lambda x, y: y - x),
    "v_mad_u16": define("u16", "u16 u16 u16", lambda x, y, z: x * y + z),
    "v_max_u16": define("u16", "u16 u16", max),
    "v_min_u16": define("u16", "u16 u16", min),
    "v_not_b16": define("u16", "u16", lambda x: ~x),
    "v_xor_b16": define("u16", "u16 u16", lambda x, y: x ^ y),
    "v_fmamk_f32": define("f32", "f32 f32 f32", lambda x, y, z: floats.multiply_add(x, y, z, F32)),
    "v_fmaak_f32": define("f32", "f32 f32 f32", lambda x, y, z: floats.multiply_add(x, y, z, F32)),
    "v_max3_f32": define("f32", "f32 f32 f32", chained(number_maximum(F32), number_maximum(F32))),
    "v_min3_f32": define("f32", "f32 f32 f32", chained(number_minimum(F32), number_minimum(F32))),
    "v_med3_f32": define("f32", "f32 f32 f32", middle_number(F32)),
    "v_maxmin_f32": define("f32", "f32 f32 f32", chained(number_maximum(F32), number_minimum(F32))),
    "v_minmax_f32": define("f32", "f32 f32 f32", chained(number_minimum(F32), number_maximum(F32))),
    "v_maximum_f32": define("f32", "f32 f32", ieee_maximum(F32)),
    "v_minimum_f32": define("f32", "f32 f32", ieee_minimum(F32)),
    "v_maximum3_f32": define("f32", "f32 f32 f32", chained(ieee_maximum(F32), ieee_maximum(F32))),
    "v_minimum3_f32": define("f32", "f32 f32 f32", chained(ieee_minimum(F32), ieee_minimum(F32))),
    "v_maximumminimum_f32": define("f32", "f32 f32 f32", chained(ieee_maximum(F32), ieee_minimum(F32))),
    "v_minimummaximum_f32": define("f32", "f32 f32 f32", chained(ieee_minimum(F32), ieee_maximum(F32))),
    "v_max3_f16": define("f16", "f16 f16 f16", chained(number_maximum(F16), number_maximum(F16))),
    "v_min3_f16": define("f16", "f16 f16 f16", chained(number_minimum(F16), number_minimum(F16))),
    "v_floor_f64": define("f64", "f64", lambda x: rounded_whole(x, "down", F64)),
    "v_trunc_f64": define("f64", "f64", lambda x: rounded_whole(x, "zero", F64)),
    "v_cvt_f32_ubyte1": define("f32", "u32", lambda x: floats.bits_of(Fraction(x >> 8 & 255), F32)),
    "v_cvt_f32_ubyte2": define("f32", "u32", lambda x: floats.bits_of(Fraction(x >> 16 & 255), F32)),
    "v_cvt_f32_ubyte3": define("f32", "u32", lambda x: floats.bits_of(Fraction(x >> 24), F32)),
    "v_cvt_pk_bf16_f32": define("u32", "f32 f32", lambda x, y: bf16(x) | bf16(y) << 16),
    "v_cvt_u32_u16": define("u32", "u16", lambda x: x),
    "v_cvt_i32_i16": define("u32", "i16", lambda x: x),
}
"""Instructions whose result depends on their own operands only."""

LATER_NAMES = {
    "v_add_nc_u32": "v_add_u32", "v_sub_nc_u32": "v_sub_u32", "v_subrev_nc_u32": "v_subrev_u32",
    "v_add_nc_u16": "v_add_u16", "v_sub_nc_u16": "v_sub_u16", "v_clz_i32_u32": "v_ffbh_u32",
    "v_cls_i32": "v_ffbh_i32", "v_ctz_i32_b32": "v_ffbl_b32", "v_max_num_f32": "v_max_f32",
    "v_min_num_f32": "v_min_f32", "v_max_num_f16": "v_max_f16", "v_min_num_f16": "v_min_f16",
    "v_max3_num_f32": "v_max3_f32", "v_min3_num_f32": "v_min3_f32", "v_maxmin_num_f32": "v_maxmin_f32",
    "v_med3_num_f32": "v_med3_f32",
    "v_minmax_num_f32": "v_minmax_f32", "v_max3_num_f16": "v_max3_f16", "v_min3_num_f16": "v_min3_f16",
    "v_max_num_f64": "v_max_f64", "v_min_num_f64": "v_min_f64",
}  # fmt: skip
"""What generations from 11 on call instructions that generation 9 has."""

VECTOR |= {new: VECTOR[old] for new, old in LATER_NAMES.items()}


@dataclass(frozen=True)
class ScalarDefinition:
    """As a definition; the function gives (result or None, scc or None for unchanged). It is passed scc last."""

    result: str
    sources: tuple[str, ...]
    compute: Callable[..., tuple[int | None, bool | None]]
    constant: bool = False


def plain(result: str, sources: str, compute: Callable[..., int | None]) -> ScalarDefinition:
    return ScalarDefinition(result, tuple(sources.split()), lambda *x: (compute(*x[:-1]), None))


def nonzero(result: str, sources: str, compute: Callable[..., int]) -> ScalarDefinition:
    """scc says whether the result is not 0."""
    mask = DOUBLE if result.endswith("64") else WORD

    def both(*x: int) -> tuple[int, bool]:
        value = compute(*x[:-1]) & mask
        return value, value != 0

    return ScalarDefinition(result, tuple(sources.split()), both)


def flagged(result: str, sources: str, compute: Callable[..., Any], *, constant: bool = False) -> ScalarDefinition:
    return ScalarDefinition(result, tuple(sources.split()), compute, constant)


def overflowing(value: int) -> tuple[int, bool]:
    return value, not -(2**31) <= value < 2**31


def _bits(width: int) -> dict[str, ScalarDefinition]:
    kind = f"u{width}"
    two = f"{kind} {kind}"
    return {
        f"s_mov_b{width}": plain(kind, kind, lambda x: x),
        f"s_not_b{width}": nonzero(kind, kind, lambda x: ~x),
        f"s_and_b{width}": nonzero(kind, two, lambda x, y: x & y),
        f"s_or_b{width}": nonzero(kind, two, lambda x, y: x | y),
        f"s_xor_b{width}": nonzero(kind, two, lambda x, y: x ^ y),
        f"s_andn2_b{width}": nonzero(kind, two, lambda x, y: x & ~y),
        f"s_orn2_b{width}": nonzero(kind, two, lambda x, y: x | ~y),
        f"s_nand_b{width}": nonzero(kind, two, lambda x, y: ~(x & y)),
        f"s_nor_b{width}": nonzero(kind, two, lambda x, y: ~(x | y)),
        f"s_xnor_b{width}": nonzero(kind, two, lambda x, y: ~(x ^ y)),
        f"s_cselect_b{width}": flagged(kind, two, lambda x, y, scc: (x if scc else y, None)),
        f"s_bcnt1_i32_b{width}": nonzero("u32", kind, lambda x: x.bit_count()),
        f"s_ff1_i32_b{width}": plain("u32", kind, trailing_zeros),
    }


COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda x, y: x == y,
    "lg": lambda x, y: x != y,
    "ne": lambda x, y: x != y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
}

SCALAR: dict[str, ScalarDefinition] = {
    **_bits(32),
    **_bits(64),
    "s_movk_i32": flagged("u32", "k16", lambda k, scc: (k, None), constant=True),
    "s_add_u32": flagged("u32", "u32 u32", lambda x, y, scc: (x + y, x + y > WORD)),
    "s_sub_u32": flagged("u32", "u32 u32", lambda x, y, scc: (x - y, y > x)),
    "s_addc_u32": flagged("u32", "u32 u32", lambda x, y, scc: (x + y + scc, x + y + scc > WORD)),
    "s_subb_u32": flagged("u32", "u32 u32", lambda x, y, scc: (x - y - scc, y + scc > x)),
    "s_add_i32": flagged("u32", "i32 i32", lambda x, y, scc: overflowing(x + y)),
    "s_sub_i32": flagged("u32", "i32 i32", lambda x, y, scc: overflowing(x - y)),
    "s_addk_i32": flagged("u32", "i32 k16", lambda x, k, scc: overflowing(x + k), constant=True),
    "s_mulk_i32": flagged("u32", "i32 k16", lambda x, k, scc: (x * k, None), constant=True),
    "s_mul_i32": plain("u32", "i32 i32", lambda x, y: x * y),
    "s_mul_hi_u32": plain("u32", "u32 u32", lambda x, y: (x * y) >> 32),
    "s_mul_hi_i32": plain("u32", "i32 i32", lambda x, y: (x * y) >> 32),
    "s_mul_u64": plain("u64", "u64 u64", lambda x, y: x * y),
    "s_add_nc_u64": plain("u64", "u64 u64", lambda x, y: x + y),
    "s_sub_nc_u64": plain("u64", "u64 u64", lambda x, y: x - y),
    "s_abs_i32": nonzero("u32", "i32", abs),
    "s_max_i32": flagged("u32", "i32 i32", lambda x, y, scc: (max(x, y), x >= y)),
    "s_min_i32": flagged("u32", "i32 i32", lambda x, y, scc: (min(x, y), x < y)),
    "s_max_u32": flagged("u32", "u32 u32", lambda x, y, scc: (max(x, y), x >= y)),
    "s_min_u32": flagged("u32", "u32 u32", lambda x, y, scc: (min(x, y), x < y)),
    "s_lshl_b32": nonzero("u32", "u32 u32", lambda x, y: x << (y & 31)),
    "s_lshr_b32": nonzero("u32", "u32 u32", lambda x, y: x >> (y & 31)),
    "s_ashr_i32": nonzero("u32", "i32 u32", lambda x, y: x >> (y & 31)),
    "s_lshl_b64": nonzero("u64", "u64 u32", lambda x, y: x << (y & 63)),
    "s_lshr_b64": nonzero("u64", "u64 u32", lambda x, y: x >> (y & 63)),
    "s_ashr_i64": nonzero("u64", "i64 u32", lambda x, y: x >> (y & 63)),
    "s_lshl1_add_u32": flagged("u32", "u32 u32", lambda x, y, scc: (2 * x + y, 2 * x + y > WORD)),
    "s_lshl2_add_u32": flagged("u32", "u32 u32", lambda x, y, scc: (4 * x + y, 4 * x + y > WORD)),
    "s_lshl3_add_u32": flagged("u32", "u32 u32", lambda x, y, scc: (8 * x + y, 8 * x + y > WORD)),
    "s_lshl4_add_u32": flagged("u32", "u32 u32", lambda x, y, scc: (16 * x + y, 16 * x + y > WORD)),
    "s_bfe_u32": nonzero("u32", "u32 field", lambda x, f: x >> (f & 31) & ((1 << (f >> 16 & 127)) - 1)),
    "s_bfe_i32": nonzero("u32", "i32 field", lambda x, f: signed(x >> (f & 31), f >> 16 & 127) if f >> 16 & 127 else 0),
    "s_bfm_b32": plain("u32", "u32 u32", lambda x, y: ((1 << (x & 31)) - 1) << (y & 31)),
    "s_brev_b32": plain("u32", "u32", reversed_word),
    "s_flbit_i32_b32": plain("u32", "u32", leading_zeros),
    "s_flbit_i32": plain("u32", "u32", sign_run),
    "s_sext_i32_i8": plain("u32", "u32", lambda x: signed(x, 8)),
    "s_sext_i32_i16": plain("u32", "u32", lambda x: signed(x, 16)),
    "s_bitset0_b32": flagged("u32", "old u32", lambda old, x, scc: (old & ~(1 << (x & 31)), None)),
    "s_bitset1_b32": flagged("u32", "old u32", lambda old, x, scc: (old | (1 << (x & 31)), None)),
    "s_bitcmp0_b32": flagged("", "u32 u32", lambda x, y, scc: (None, not x >> (y & 31) & 1)),
    "s_bitcmp1_b32": flagged("", "u32 u32", lambda x, y, scc: (None, bool(x >> (y & 31) & 1))),
    "s_bitcmp0_b64": flagged("", "u64 u32", lambda x, y, scc: (None, not x >> (y & 63) & 1)),
    "s_bitcmp1_b64": flagged("", "u64 u32", lambda x, y, scc: (None, bool(x >> (y & 63) & 1))),
    "s_bfe_u64": nonzero("u64", "u64 field", lambda x, f: x >> (f & 63) & ((1 << (f >> 16 & 127)) - 1)),
    "s_cmov_b32": flagged("u32", "old u32", lambda old, x, scc: (x if scc else old, None)),
    "s_flbit_i32_b64": plain("u32", "u64", lambda x: 64 - x.bit_length() if x else -1),
    "s_fmamk_f32": plain("f32", "f32 f32 f32", lambda x, y, z: floats.multiply_add(x, y, z, F32)),
    "s_fmaak_f32": plain("f32", "f32 f32 f32", lambda x, y, z: floats.multiply_add(x, y, z, F32)),
    "s_pack_ll_b32_b16": plain("u32", "u32 u32", lambda x, y: (x & 0xFFFF) | (y << 16)),
    "s_pack_lh_b32_b16": plain("u32", "u32 u32", lambda x, y: (x & 0xFFFF) | (y & 0xFFFF0000)),
    "s_pack_hh_b32_b16": plain("u32", "u32 u32", lambda x, y: (x >> 16) | (y & 0xFFFF0000)),
    "s_cvt_f32_i32": plain("f32", "i32", lambda x: floats.bits_of(Fraction(x), F32)),
    "s_cvt_f32_u32": plain("f32", "u32", lambda x: floats.bits_of(Fraction(x), F32)),
    "s_cvt_i32_f32": plain("u32", "f32", lambda x: floats.integer_of(x, F32, -(2**31), 2**31 - 1)),
    "s_cvt_u32_f32": plain("u32", "f32", lambda x: floats.integer_of(x, F32, 0, 2**32 - 1)),
    "s_cvt_f32_f16": plain("f32", "u32", lambda x: floats.converted(x & 0xFFFF, F16, F32)),
    "s_cvt_hi_f32_f16": plain("f32", "u32", lambda x: floats.converted(x >> 16, F16, F32)),
    "s_add_f32": plain("f32", "f32 f32", lambda x, y: floats.add(x, y, F32)),
    "s_sub_f32": plain("f32", "f32 f32", lambda x, y: floats.add(x, negated(y, F32), F32)),
    "s_mul_f32": plain("f32", "f32 f32", lambda x, y: floats.multiply(x, y, F32)),
    "s_fmac_f32": plain("f32", "old f32 f32", lambda c, x, y: floats.multiply_add(x, y, c, F32)),
    "s_max_num_f32": plain("f32", "f32 f32", number_maximum(F32)),
    "s_min_num_f32": plain("f32", "f32 f32", number_minimum(F32)),
    "s_floor_f32": plain("f32", "f32", lambda x: rounded_whole(x, "down")),
    "s_ceil_f32": plain("f32", "f32", lambda x: rounded_whole(x, "up")),
    "s_trunc_f32": plain("f32", "f32", lambda x: rounded_whole(x, "zero")),
    "s_rndne_f32": plain("f32", "f32", lambda x: rounded_whole(x, "even")),
    "v_s_rcp_f32": plain("f32", "f32", lambda x: floats.quotient(0x3F800000, x, F32)),
    "v_s_sqrt_f32": plain("f32", "f32", lambda x: floats.square_root(x, F32)),
}
for _name, _compare in COMPARISONS.items():
    for _kind in ("i32", "u32", "u64"):
        SCALAR[f"s_cmp_{_name}_{_kind}"] = flagged(
            "", f"{_kind} {_kind}", lambda x, y, scc, _compare=_compare: (None, _compare(x, y))
        )
    for _kind, _constant in (("i32", "k16"), ("u32", "u16")):
        SCALAR[f"s_cmpk_{_name}_{_kind}"] = flagged(
            "", f"{_kind} {_constant}", lambda x, y, scc, _compare=_compare: (None, _compare(x, y)), constant=True
        )

FLOAT_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "lg", "neq", "nlt", "nle", "ngt", "nge", "nlg", "o", "u")


def float_comparison(name: str, relation: str) -> bool:
    """A comparison by the relation of its operands, "<", "=", ">" or "?"."""
    holds = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=", "lg": "<>", "o": "<=>", "u": "?"}
    if name in holds:
        return relation in holds[name]
    return relation not in holds[{"neq": "eq"}.get(name, name[1:])]


for _name in FLOAT_COMPARISONS:
    SCALAR[f"s_cmp_{_name}_f32"] = flagged(
        "",
        "f32 f32",
        lambda x, y, scc, _name=_name: (None, float_comparison(_name, floats.compare(x, y, F32))),
    )

SCALAR_LATER_NAMES = {
    "s_add_co_u32": "s_add_u32", "s_sub_co_u32": "s_sub_u32", "s_add_co_ci_u32": "s_addc_u32",
    "s_sub_co_ci_u32": "s_subb_u32", "s_add_co_i32": "s_add_i32", "s_sub_co_i32": "s_sub_i32",
    "s_addk_co_i32": "s_addk_i32", "s_and_not1_b32": "s_andn2_b32", "s_and_not1_b64": "s_andn2_b64",
    "s_or_not1_b32": "s_orn2_b32", "s_or_not1_b64": "s_orn2_b64", "s_clz_i32_u32": "s_flbit_i32_b32",
    "s_cls_i32": "s_flbit_i32", "s_ctz_i32_b32": "s_ff1_i32_b32", "s_ctz_i32_b64": "s_ff1_i32_b64",
    "s_clz_i32_u64": "s_flbit_i32_b64", "s_max_f32": "s_max_num_f32", "s_min_f32": "s_min_num_f32",
}  # fmt: skip
SCALAR |= {new: SCALAR[old] for new, old in SCALAR_LATER_NAMES.items()}


def comparison(name: str, kind: str) -> Callable[[int, int], bool] | None:
    """The relation of v_cmp_NAME_KIND; None where there is none such."""
    if kind in FORMATS:
        if name not in FLOAT_COMPARISONS:
            return None
        return lambda x, y: float_comparison(name, floats.compare(x, y, FORMATS[kind]))
    return COMPARISONS.get(name)
