"""Vector instructions on 16-bit values."""

from __future__ import annotations

from typing import Any

import numpy as np

from amdsim.instructions import arithmetic as a
from amdsim.instructions.forms import Binder, form, renamed

SHIFT = np.uint16(15)


def _packed(lower: Any, upper: Any) -> Any:
    return lower.astype(np.uint32) | (upper.astype(np.uint32) << np.uint32(16))


_FORMS: dict[str, Binder] = {
    "v_mov_b16": form("u16", "u16", lambda x: x),
    "v_not_b16": form("u16", "u16", np.invert),
    "v_and_b16": form("u16", "u16 u16", np.bitwise_and),
    "v_or_b16": form("u16", "u16 u16", np.bitwise_or),
    "v_xor_b16": form("u16", "u16 u16", np.bitwise_xor),
    "v_add_u16": form("u16", "u16 u16", np.add),
    "v_sub_u16": form("u16", "u16 u16", np.subtract),
    "v_subrev_u16": form("u16", "u16 u16", lambda x, y: y - x),
    "v_mul_lo_u16": form("u16", "u16 u16", np.multiply),
    "v_mad_u16": form("u16", "u16 u16 u16", lambda x, y, z: x * y + z),
    "v_lshlrev_b16": form("u16", "u16 u16", lambda x, y: y << (x & SHIFT)),
    "v_lshrrev_b16": form("u16", "u16 u16", lambda x, y: y >> (x & SHIFT)),
    "v_ashrrev_i16": form("i16", "u16 i16", lambda x, y: y >> (x & SHIFT).astype(np.int16)),
    "v_max_u16": form("u16", "u16 u16", np.maximum),
    "v_min_u16": form("u16", "u16 u16", np.minimum),
    "v_max_i16": form("i16", "i16 i16", np.maximum),
    "v_min_i16": form("i16", "i16 i16", np.minimum),
    "v_add_f16": form("f16", "f16 f16", np.add),
    "v_sub_f16": form("f16", "f16 f16", np.subtract),
    "v_mul_f16": form("f16", "f16 f16", np.multiply),
    "v_fma_f16": form("f16", "f16 f16 f16", a.fused),
    "v_max_f16": form("f16", "f16 f16", a.maximum_number),
    "v_min_f16": form("f16", "f16 f16", a.minimum_number),
    "v_max3_f16": form("f16", "f16 f16 f16", lambda x, y, z: a.maximum_number(a.maximum_number(x, y), z)),
    "v_min3_f16": form("f16", "f16 f16 f16", lambda x, y, z: a.minimum_number(a.minimum_number(x, y), z)),
    "v_pack_b32_f16": form("u32", "b16 b16", _packed),
}

TABLE = _FORMS | renamed(
    _FORMS,
    {
        "v_add_nc_u16": "v_add_u16",
        "v_sub_nc_u16": "v_sub_u16",
        "v_max_num_f16": "v_max_f16",
        "v_min_num_f16": "v_min_f16",
        "v_max3_num_f16": "v_max3_f16",
        "v_min3_num_f16": "v_min3_f16",
    },
)
