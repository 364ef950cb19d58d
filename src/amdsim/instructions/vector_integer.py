"""Vector instructions on 32-bit integers and bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from amdsim.instructions import arithmetic as a
from amdsim.instructions import encoding
from amdsim.instructions.forms import Binder, Step, form, renamed
from amdsim.machine import Machine
from amdsim.program import Instruction
from amdsim.values import bound

SHIFT = np.uint32(31)


def shift_left(amount: Any, value: Any) -> Any:
    """Operands in the order of the "rev" instructions, as in the two after it."""
    return value << (amount & SHIFT)


def shift_right(amount: Any, value: Any) -> Any:
    """Zeros come in."""
    return value >> (amount & SHIFT)


def shift_right_signed(amount: Any, value: Any) -> Any:
    """Copies of the sign come in."""
    return value >> (amount & SHIFT).astype(np.int32)


def _saturating(plain: Callable[..., Any], limited: Callable[..., Any]) -> Binder:
    """An unsigned sum or difference, which the flag clamp keeps from wrapping around."""

    def bind(instruction: Instruction, machine: Machine) -> Step:
        encoding.check(instruction, flags=frozenset({"clamp"}))
        target, *operands = instruction.operands
        sources, lanes = encoding.inputs(instruction, operands, ("u32", "u32"), machine)
        compute = bound(limited if "clamp" in instruction.flags else plain, sources)
        return Step(compute, encoding.output(instruction, target, "u32", machine, lanes))

    return bind


def _limited_sum(first: Any, second: Any) -> Any:
    total = first + second
    return np.where(total < first, np.uint32(0xFFFFFFFF), total)


def _limited_difference(first: Any, second: Any) -> Any:
    return np.where(first < second, np.uint32(0), first - second)


def _three(name: str, kind: str) -> Binder:
    """v_bitop3_b32 and v_bitop3_b16, whose truth table is a modifier."""

    def bind(instruction: Instruction, machine: Machine) -> Step:
        encoding.check(instruction, frozenset({"bitop3"}))
        target, *operands = instruction.operands
        sources, lanes = encoding.inputs(instruction, operands, (kind,) * 3, machine)
        table = instruction.number("bitop3")
        compute = bound(lambda x, y, z: a.table_of_three(x, y, z, table), sources)
        return Step(compute, encoding.output(instruction, target, kind, machine, lanes))

    return bind


def _aligned_bits(upper: Any, lower: Any, amount: Any) -> Any:
    data = (upper.astype(np.uint64) << np.uint64(32)) | lower
    return (data >> (amount & SHIFT).astype(np.uint64)).astype(np.uint32)


def _bytes_aligned(upper: Any, lower: Any, amount: Any) -> Any:
    return _aligned_bits(upper, lower, (amount & np.uint32(3)) * np.uint32(8))


_FORMS: dict[str, Binder] = {
    "v_mov_b32": form("u32", "u32", lambda x: x),
    "v_accvgpr_read_b32": form("u32", "u32", lambda x: x),
    "v_accvgpr_write_b32": form("u32", "u32", lambda x: x),
    "v_accvgpr_mov_b32": form("u32", "u32", lambda x: x),
    "v_not_b32": form("u32", "u32", np.invert),
    "v_bfrev_b32": form("u32", "u32", a.reversed_bits),
    "v_and_b32": form("u32", "u32 u32", np.bitwise_and),
    "v_or_b32": form("u32", "u32 u32", np.bitwise_or),
    "v_xor_b32": form("u32", "u32 u32", np.bitwise_xor),
    "v_xnor_b32": form("u32", "u32 u32", lambda x, y: ~(x ^ y)),
    "v_and_or_b32": form("u32", "u32 u32 u32", lambda x, y, z: (x & y) | z),
    "v_or3_b32": form("u32", "u32 u32 u32", lambda x, y, z: x | y | z),
    "v_xor3_b32": form("u32", "u32 u32 u32", lambda x, y, z: x ^ y ^ z),
    "v_bfi_b32": form("u32", "u32 u32 u32", lambda x, y, z: (x & y) | (~x & z)),
    "v_bfe_u32": form("u32", "u32 u32 u32", a.field_u32),
    "v_bfe_i32": form("i32", "i32 u32 u32", a.field_i32),
    "v_bfm_b32": form("u32", "u32 u32", lambda x, y: ((np.uint32(1) << (x & SHIFT)) - np.uint32(1)) << (y & SHIFT)),
    "v_lshlrev_b32": form("u32", "u32 u32", shift_left),
    "v_lshrrev_b32": form("u32", "u32 u32", shift_right),
    "v_ashrrev_i32": form("i32", "u32 i32", shift_right_signed),
    "v_lshl_add_u32": form("u32", "u32 u32 u32", lambda x, y, z: (x << (y & SHIFT)) + z),
    "v_add_lshl_u32": form("u32", "u32 u32 u32", lambda x, y, z: (x + y) << (z & SHIFT)),
    "v_lshl_or_b32": form("u32", "u32 u32 u32", lambda x, y, z: (x << (y & SHIFT)) | z),
    "v_xad_u32": form("u32", "u32 u32 u32", lambda x, y, z: (x ^ y) + z),
    "v_alignbit_b32": form("u32", "u32 u32 u32", _aligned_bits),
    "v_alignbyte_b32": form("u32", "u32 u32 u32", _bytes_aligned),
    "v_perm_b32": form("u32", "u32 u32 u32", a.permuted_bytes),
    "v_bitop3_b32": _three("v_bitop3_b32", "u32"),
    "v_bitop3_b16": _three("v_bitop3_b16", "u16"),
    "v_add_u32": _saturating(np.add, _limited_sum),
    "v_sub_u32": _saturating(np.subtract, _limited_difference),
    "v_subrev_u32": _saturating(lambda x, y: y - x, lambda x, y: _limited_difference(y, x)),
    "v_add3_u32": form("u32", "u32 u32 u32", lambda x, y, z: x + y + z),
    "v_mul_lo_u32": form("u32", "u32 u32", np.multiply),
    "v_mul_hi_u32": form("u32", "u32 u32", a.high_product_u32),
    "v_mul_hi_i32": form("i32", "i32 i32", a.high_product_i32),
    "v_mul_u32_u24": form("u32", "u32 u32", lambda x, y: a.low_24(x) * a.low_24(y)),
    "v_mul_hi_u32_u24": form("u32", "u32 u32", lambda x, y: a.high_product_u32(a.low_24(x), a.low_24(y))),
    "v_mul_i32_i24": form("i32", "i32 i32", lambda x, y: a.low_24(x) * a.low_24(y)),
    "v_mul_hi_i32_i24": form("i32", "i32 i32", lambda x, y: a.high_product_i32(a.low_24(x), a.low_24(y))),
    "v_mad_u32_u24": form("u32", "u32 u32 u32", lambda x, y, z: a.low_24(x) * a.low_24(y) + z),
    "v_mad_i32_i24": form("i32", "i32 i32 i32", lambda x, y, z: a.low_24(x) * a.low_24(y) + z),
    "v_max_i32": form("i32", "i32 i32", np.maximum),
    "v_min_i32": form("i32", "i32 i32", np.minimum),
    "v_max_u32": form("u32", "u32 u32", np.maximum),
    "v_min_u32": form("u32", "u32 u32", np.minimum),
    "v_max3_i32": form("i32", "i32 i32 i32", lambda x, y, z: np.maximum(np.maximum(x, y), z)),
    "v_min3_i32": form("i32", "i32 i32 i32", lambda x, y, z: np.minimum(np.minimum(x, y), z)),
    "v_max3_u32": form("u32", "u32 u32 u32", lambda x, y, z: np.maximum(np.maximum(x, y), z)),
    "v_min3_u32": form("u32", "u32 u32 u32", lambda x, y, z: np.minimum(np.minimum(x, y), z)),
    "v_med3_i32": form("i32", "i32 i32 i32", a.middle),
    "v_med3_u32": form("u32", "u32 u32 u32", a.middle),
    "v_maxmin_i32": form("i32", "i32 i32 i32", lambda x, y, z: np.minimum(np.maximum(x, y), z)),
    "v_minmax_i32": form("i32", "i32 i32 i32", lambda x, y, z: np.maximum(np.minimum(x, y), z)),
    "v_maxmin_u32": form("u32", "u32 u32 u32", lambda x, y, z: np.minimum(np.maximum(x, y), z)),
    "v_minmax_u32": form("u32", "u32 u32 u32", lambda x, y, z: np.maximum(np.minimum(x, y), z)),
    "v_sad_u32": form("u32", "u32 u32 u32", lambda x, y, z: np.where(x > y, x - y, y - x) + z),
    "v_bcnt_u32_b32": form("u32", "u32 u32", lambda x, y: a.ones(x) + y),
    "v_ffbh_u32": form("i32", "u32", a.leading_zeros),
    "v_ffbh_i32": form("i32", "i32", a.sign_bits),
    "v_ffbl_b32": form("i32", "u32", a.trailing_zeros),
}

TABLE = _FORMS | renamed(
    _FORMS,
    {
        "v_add_nc_u32": "v_add_u32",
        "v_sub_nc_u32": "v_sub_u32",
        "v_subrev_nc_u32": "v_subrev_u32",
        "v_clz_i32_u32": "v_ffbh_u32",
        "v_cls_i32": "v_ffbh_i32",
        "v_ctz_i32_b32": "v_ffbl_b32",
    },
)
