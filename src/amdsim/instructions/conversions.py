"""Vector instructions that convert between formats."""

from __future__ import annotations

from typing import Any

import numpy as np

from amdsim.instructions import arithmetic as a
from amdsim.instructions.forms import Binder, form


def _to(dtype: Any) -> Any:
    return lambda x: x.astype(dtype)


def _byte(place: int) -> Any:
    return lambda x: ((x >> np.uint32(8 * place)) & np.uint32(255)).astype(np.float32)


def _pair(first: Any, second: Any) -> Any:
    return first.astype(np.uint32) | (second.astype(np.uint32) << np.uint32(16))


def _f16_bits(value: Any) -> Any:
    return value.astype(np.float16).view(np.uint16)


def bf16_bits(value: Any) -> Any:
    """u32, the bits of a float32 rounded to bf16, to nearest even; NaNs stay NaNs."""
    bits = value.view(np.uint32)
    nearest = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(value), (bits >> np.uint32(16)) | np.uint32(0x40), nearest)


TABLE: dict[str, Binder] = {
    "v_cvt_f32_i32": form("f32", "i32", _to(np.float32)),
    "v_cvt_f32_u32": form("f32", "u32", _to(np.float32)),
    "v_cvt_i32_f32": form("i32", "f32", a.to_i32),
    "v_cvt_u32_f32": form("u32", "f32", a.to_u32),
    "v_cvt_f32_f16": form("f32", "f16", _to(np.float32)),
    "v_cvt_f16_f32": form("f16", "f32", _to(np.float16)),
    "v_cvt_f32_f64": form("f32", "f64", _to(np.float32)),
    "v_cvt_f64_f32": form("f64", "f32", _to(np.float64)),
    "v_cvt_f64_i32": form("f64", "i32", _to(np.float64)),
    "v_cvt_f64_u32": form("f64", "u32", _to(np.float64)),
    "v_cvt_f32_ubyte0": form("f32", "u32", _byte(0)),
    "v_cvt_f32_ubyte1": form("f32", "u32", _byte(1)),
    "v_cvt_f32_ubyte2": form("f32", "u32", _byte(2)),
    "v_cvt_f32_ubyte3": form("f32", "u32", _byte(3)),
    "v_cvt_u32_u16": form("u32", "u16", _to(np.uint32)),
    "v_cvt_i32_i16": form("i32", "i16", _to(np.int32)),
    "v_cvt_pk_bf16_f32": form("u32", "f32 f32", lambda x, y: _pair(bf16_bits(x), bf16_bits(y))),
    "v_cvt_pk_f16_f32": form("u32", "f32 f32", lambda x, y: _pair(_f16_bits(x), _f16_bits(y))),
}
