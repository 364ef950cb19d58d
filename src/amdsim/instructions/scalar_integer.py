"""Scalar instructions on integers and bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from amdsim.instructions import arithmetic as a
from amdsim.instructions.forms import Binder, renamed
from amdsim.instructions.scalar_forms import GIVEN, NONZERO, scalar

SHIFT32, SHIFT64 = np.uint32(31), np.uint64(63)
SIGN = np.uint32(0x80000000)


def _sum(x: Any, y: Any) -> Any:
    total = x + y
    return total, total < x


def _sum_with_carry(x: Any, y: Any, carry: Any) -> Any:
    partial = x + y
    total = partial + carry.astype(np.uint32)
    return total, (partial < x) | (total < partial)


def _difference_with_borrow(x: Any, y: Any, borrow: Any) -> Any:
    bit = borrow.astype(np.uint32)
    partial = x - y
    return partial - bit, (x < y) | (partial < bit)


def _signed_sum(x: Any, y: Any) -> Any:
    total = x + y
    return total, (~(x ^ y) & (x ^ total) & SIGN) != 0


def _signed_difference(x: Any, y: Any) -> Any:
    total = x - y
    return total, ((x ^ y) & (x ^ total) & SIGN) != 0


def _short(value: Any) -> Any:
    """A 16-bit constant with its sign."""
    return value.astype(np.uint16).astype(np.int16).astype(np.int32)


def _shifted_sum(amount: int) -> Any:
    def compute(x: Any, y: Any) -> Any:
        total = (x.astype(np.uint64) << np.uint64(amount)) + y
        return total.astype(np.uint32), total > np.uint64(0xFFFFFFFF)

    return compute


def _field_u32(value: Any, field: Any) -> Any:
    count = (field >> np.uint32(16)) & np.uint32(127)
    mask = (np.uint64(1) << np.minimum(count, np.uint32(32)).astype(np.uint64)) - np.uint64(1)
    return (value >> (field & SHIFT32)) & mask.astype(np.uint32)


def _field_i32(value: Any, field: Any) -> Any:
    count = np.minimum((field >> np.uint32(16)) & np.uint32(127), np.uint32(32)).astype(np.int64)
    wide = value.astype(np.int64) >> (field & SHIFT32).astype(np.int64)
    wide = (wide << (64 - np.maximum(count, 1))) >> (64 - np.maximum(count, 1))
    return np.where(count == 0, np.int64(0), wide).astype(np.int32)


def _field_u64(value: Any, field: Any) -> Any:
    count = ((field >> np.uint32(16)) & np.uint32(127)).astype(np.uint64)
    mask = np.where(count >= 64, np.uint64(2**64 - 1), (np.uint64(1) << (count & SHIFT64)) - np.uint64(1))
    return (value >> (field & np.uint32(63)).astype(np.uint64)) & mask


def _trailing_zeros_64(value: Any) -> Any:
    lower, upper = value.astype(np.uint32), (value >> np.uint64(32)).astype(np.uint32)
    high = a.trailing_zeros(upper)
    return np.where(lower != 0, a.trailing_zeros(lower), np.where(upper != 0, high + np.int32(32), np.int32(-1)))


def _leading_zeros_64(value: Any) -> Any:
    lower, upper = value.astype(np.uint32), (value >> np.uint64(32)).astype(np.uint32)
    low = a.leading_zeros(lower)
    return np.where(upper != 0, a.leading_zeros(upper), np.where(lower != 0, low + np.int32(32), np.int32(-1)))


def _select(x: Any, y: Any, scc: Any) -> Any:
    return np.where(scc, x, y)


def _bit(value: Any) -> Any:
    return np.uint32(1) << (value & SHIFT32)


def _bits() -> dict[str, Binder]:
    table: dict[str, Binder] = {}
    functions: dict[str, Callable[..., Any]] = {
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "andn2": lambda x, y: x & ~y,
        "orn2": lambda x, y: x | ~y,
        "nand": lambda x, y: ~(x & y),
        "nor": lambda x, y: ~(x | y),
        "xnor": lambda x, y: ~(x ^ y),
    }
    for width in ("32", "64"):
        for name, function in functions.items():
            table[f"s_{name}_b{width}"] = scalar(f"b{width}", f"b{width} b{width}", function, NONZERO)
        table[f"s_mov_b{width}"] = scalar(f"b{width}", f"b{width}", lambda x: x)
        table[f"s_not_b{width}"] = scalar(f"b{width}", f"b{width}", np.invert, NONZERO)
        table[f"s_cselect_b{width}"] = scalar(f"b{width}", f"b{width} b{width}", _select, reads_scc=True)
        table[f"s_bcnt1_i32_b{width}"] = scalar("u32", f"u{width}", a.ones, NONZERO)
        table[f"s_cmov_b{width}"] = scalar(
            f"b{width}",
            f"b{width} b{width}",
            lambda old, x, scc: np.where(scc, x, old),
            reads_target=True,
            reads_scc=True,
        )
    return table


_FORMS: dict[str, Binder] = {
    **_bits(),
    "s_movk_i32": scalar("i32", "i32", _short),
    "s_add_u32": scalar("u32", "u32 u32", _sum, GIVEN),
    "s_sub_u32": scalar("u32", "u32 u32", lambda x, y: (x - y, x < y), GIVEN),
    "s_addc_u32": scalar("u32", "u32 u32", _sum_with_carry, GIVEN, reads_scc=True),
    "s_subb_u32": scalar("u32", "u32 u32", _difference_with_borrow, GIVEN, reads_scc=True),
    "s_add_i32": scalar("u32", "u32 u32", _signed_sum, GIVEN),
    "s_sub_i32": scalar("u32", "u32 u32", _signed_difference, GIVEN),
    "s_addk_i32": scalar(
        "u32", "u32 i32", lambda x, k: _signed_sum(x, _short(k).view(np.uint32)), GIVEN, reads_target=True
    ),
    "s_mulk_i32": scalar("i32", "i32 i32", lambda x, k: x * _short(k), reads_target=True),
    "s_mul_i32": scalar("i32", "i32 i32", np.multiply),
    "s_mul_hi_u32": scalar("u32", "u32 u32", a.high_product_u32),
    "s_mul_hi_i32": scalar("i32", "i32 i32", a.high_product_i32),
    "s_mul_u64": scalar("u64", "u64 u64", np.multiply),
    "s_add_nc_u64": scalar("u64", "u64 u64", np.add),
    "s_sub_nc_u64": scalar("u64", "u64 u64", np.subtract),
    "s_abs_i32": scalar("i32", "i32", np.abs, NONZERO),
    "s_max_i32": scalar("i32", "i32 i32", lambda x, y: (np.maximum(x, y), x >= y), GIVEN),
    "s_min_i32": scalar("i32", "i32 i32", lambda x, y: (np.minimum(x, y), x < y), GIVEN),
    "s_max_u32": scalar("u32", "u32 u32", lambda x, y: (np.maximum(x, y), x >= y), GIVEN),
    "s_min_u32": scalar("u32", "u32 u32", lambda x, y: (np.minimum(x, y), x < y), GIVEN),
    "s_lshl_b32": scalar("u32", "u32 u32", lambda x, y: x << (y & SHIFT32), NONZERO),
    "s_lshr_b32": scalar("u32", "u32 u32", lambda x, y: x >> (y & SHIFT32), NONZERO),
    "s_ashr_i32": scalar("i32", "i32 u32", lambda x, y: x >> (y & SHIFT32).astype(np.int32), NONZERO),
    "s_lshl_b64": scalar("u64", "u64 u32", lambda x, y: x << (y.astype(np.uint64) & SHIFT64), NONZERO),
    "s_lshr_b64": scalar("u64", "u64 u32", lambda x, y: x >> (y.astype(np.uint64) & SHIFT64), NONZERO),
    "s_ashr_i64": scalar("i64", "i64 u32", lambda x, y: x >> (y & np.uint32(63)).astype(np.int64), NONZERO),
    "s_lshl1_add_u32": scalar("u32", "u32 u32", _shifted_sum(1), GIVEN),
    "s_lshl2_add_u32": scalar("u32", "u32 u32", _shifted_sum(2), GIVEN),
    "s_lshl3_add_u32": scalar("u32", "u32 u32", _shifted_sum(3), GIVEN),
    "s_lshl4_add_u32": scalar("u32", "u32 u32", _shifted_sum(4), GIVEN),
    "s_bfe_u32": scalar("u32", "u32 u32", _field_u32, NONZERO),
    "s_bfe_i32": scalar("i32", "i32 u32", _field_i32, NONZERO),
    "s_bfe_u64": scalar("u64", "u64 u32", _field_u64, NONZERO),
    "s_bfm_b32": scalar("u32", "u32 u32", lambda x, y: (_bit(x) - np.uint32(1)) << (y & SHIFT32)),
    "s_brev_b32": scalar("u32", "u32", a.reversed_bits),
    "s_ff1_i32_b32": scalar("i32", "u32", a.trailing_zeros),
    "s_ff1_i32_b64": scalar("i32", "u64", _trailing_zeros_64),
    "s_flbit_i32_b32": scalar("i32", "u32", a.leading_zeros),
    "s_flbit_i32_b64": scalar("i32", "u64", _leading_zeros_64),
    "s_flbit_i32": scalar("i32", "i32", a.sign_bits),
    "s_sext_i32_i8": scalar("i32", "u32", lambda x: x.astype(np.uint8).astype(np.int8).astype(np.int32)),
    "s_sext_i32_i16": scalar("i32", "u32", _short),
    "s_bitset0_b32": scalar("u32", "u32 u32", lambda old, x: old & ~_bit(x), reads_target=True),
    "s_bitset1_b32": scalar("u32", "u32 u32", lambda old, x: old | _bit(x), reads_target=True),
    "s_pack_ll_b32_b16": scalar("u32", "u32 u32", lambda x, y: (x & np.uint32(0xFFFF)) | (y << np.uint32(16))),
    "s_pack_lh_b32_b16": scalar("u32", "u32 u32", lambda x, y: (x & np.uint32(0xFFFF)) | (y & np.uint32(0xFFFF0000))),
    "s_pack_hh_b32_b16": scalar("u32", "u32 u32", lambda x, y: (x >> np.uint32(16)) | (y & np.uint32(0xFFFF0000))),
}

TABLE = _FORMS | renamed(
    _FORMS,
    {
        "s_add_co_u32": "s_add_u32",
        "s_sub_co_u32": "s_sub_u32",
        "s_add_co_ci_u32": "s_addc_u32",
        "s_sub_co_ci_u32": "s_subb_u32",
        "s_add_co_i32": "s_add_i32",
        "s_sub_co_i32": "s_sub_i32",
        "s_addk_co_i32": "s_addk_i32",
        "s_and_not1_b32": "s_andn2_b32",
        "s_and_not1_b64": "s_andn2_b64",
        "s_or_not1_b32": "s_orn2_b32",
        "s_or_not1_b64": "s_orn2_b64",
        "s_clz_i32_u32": "s_flbit_i32_b32",
        "s_clz_i32_u64": "s_flbit_i32_b64",
        "s_cls_i32": "s_flbit_i32",
        "s_ctz_i32_b32": "s_ff1_i32_b32",
        "s_ctz_i32_b64": "s_ff1_i32_b64",
    },
)
