"""Vector instructions on 64-bit values."""

from __future__ import annotations

from typing import Any

import numpy as np

from amdsim.instructions import arithmetic as a
from amdsim.instructions import encoding
from amdsim.instructions.forms import Binder, Step, form, renamed
from amdsim.machine import Machine
from amdsim.program import Instruction
from amdsim.values import bound, mask_sink

SHIFT = np.uint64(63)


def _amount(value: Any) -> Any:
    return value.astype(np.uint64) & SHIFT


def _unsigned_product_sum(x: Any, y: Any, z: Any) -> Any:
    """(the sum, whether it carries)."""
    product = x.astype(np.uint64) * y.astype(np.uint64)
    total = product + z
    return total, total < product


def _signed_product_sum(x: Any, y: Any, z: Any) -> Any:
    """(the sum, the sign that it has in 65 bits)."""
    product = x.astype(np.int64) * y.astype(np.int64)
    total = product + z
    overflow = ((product ^ total) & (z ^ total)) < 0
    return total, (total < 0) ^ overflow


def _multiply_add(narrow: str, wide: str, compute: Any) -> Binder:
    """A 64-bit sum of a product, and a bit for each lane."""

    def bind(instruction: Instruction, machine: Machine) -> Step:
        encoding.check(instruction)
        target, carry, *operands = instruction.operands
        sources, lanes = encoding.inputs(instruction, operands, (narrow, narrow, wide), machine)
        to_target = encoding.output(instruction, target, wide, machine, lanes)
        to_carry = mask_sink(instruction, carry, machine, lanes)

        def commit(value: Any) -> None:
            total, bit = value
            to_carry(np.asarray(bit))
            to_target(total)

        return Step(bound(compute, sources), commit)

    return bind


_ANY_SHIFT = form("u64", "u64 u32 u64", lambda x, y, z: (x << (y & np.uint32(7)).astype(np.uint64)) + z)
_NO_SHIFT = form("u64", "u64 u32 u64", lambda x, y, z: x + z)


def _shifted_sum(instruction: Instruction, machine: Machine) -> Step:
    """v_lshl_add_u64, which mostly adds."""
    return (_NO_SHIFT if instruction.words[2] == "0" else _ANY_SHIFT)(instruction, machine)


_FORMS: dict[str, Binder] = {
    "v_mov_b64": form("b64", "b64", lambda x: x),
    "v_lshlrev_b64": form("u64", "u32 u64", lambda x, y: y << _amount(x)),
    "v_lshrrev_b64": form("u64", "u32 u64", lambda x, y: y >> _amount(x)),
    "v_ashrrev_i64": form("i64", "u32 i64", lambda x, y: y >> _amount(x).astype(np.int64)),
    "v_lshl_add_u64": _shifted_sum,
    "v_mad_u64_u32": _multiply_add("u32", "u64", _unsigned_product_sum),
    "v_mad_i64_i32": _multiply_add("i32", "i64", _signed_product_sum),
    "v_add_f64": form("f64", "f64 f64", np.add),
    "v_mul_f64": form("f64", "f64 f64", np.multiply),
    "v_max_f64": form("f64", "f64 f64", a.maximum_number),
    "v_min_f64": form("f64", "f64 f64", a.minimum_number),
    "v_trunc_f64": form("f64", "f64", np.trunc),
    "v_floor_f64": form("f64", "f64", np.floor),
}

TABLE = _FORMS | renamed(
    _FORMS,
    {
        "v_mad_co_u64_u32": "v_mad_u64_u32",
        "v_mad_co_i64_i32": "v_mad_i64_i32",
        "v_max_num_f64": "v_max_f64",
        "v_min_num_f64": "v_min_f64",
    },
)
