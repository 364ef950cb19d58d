"""Scalar comparisons, which give scc."""

from __future__ import annotations

from typing import Any

import numpy as np

from amdsim.instructions.forms import Binder
from amdsim.instructions.scalar_forms import ONLY, scalar
from amdsim.instructions.vector_compare import FLOAT

_COMPARE = {
    "eq": np.equal,
    "lg": np.not_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
}


def _with_constant(compare: Any, signed: bool) -> Any:
    """s_cmpk: the constant has 16 bits, with a sign or without."""

    def compute(x: Any, constant: Any) -> Any:
        short = constant.astype(np.uint32).astype(np.uint16)
        return compare(x, short.astype(np.int16).astype(np.int32) if signed else short.astype(np.uint32))

    return compute


def _bit_is(value: int, width: int) -> Any:
    def compute(x: Any, place: Any) -> Any:
        return ((x >> (place & np.uint32(width - 1)).astype(x.dtype)) & x.dtype.type(1)) == value

    return compute


def _table() -> dict[str, Binder]:
    table: dict[str, Binder] = {}
    for name, compare in _COMPARE.items():
        for kind in ("i32", "u32"):
            table[f"s_cmp_{name}_{kind}"] = scalar("", f"{kind} {kind}", compare, ONLY)
            table[f"s_cmpk_{name}_{kind}"] = scalar("", f"{kind} {kind}", _with_constant(compare, kind == "i32"), ONLY)
    for name in ("eq", "lg"):
        table[f"s_cmp_{name}_u64"] = scalar("", "u64 u64", _COMPARE[name], ONLY)
    for name, ordered in FLOAT.items():
        table[f"s_cmp_{name}_f32"] = scalar("", "f32 f32", ordered, ONLY)
    for value in (0, 1):
        table[f"s_bitcmp{value}_b32"] = scalar("", "u32 u32", _bit_is(value, 32), ONLY)
        table[f"s_bitcmp{value}_b64"] = scalar("", "u64 u32", _bit_is(value, 64), ONLY)
    return table


TABLE = _table()
