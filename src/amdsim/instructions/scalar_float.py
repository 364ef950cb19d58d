"""Scalar instructions on floats, which generations from 11.5 on have."""

from __future__ import annotations

from typing import Any

import numpy as np

from amdsim.instructions import arithmetic as a
from amdsim.instructions.forms import Binder, renamed
from amdsim.instructions.scalar_forms import scalar
from amdsim.instructions.vector_float import rounded


def _low_half(value: Any) -> Any:
    return value.astype(np.uint16).view(np.float16).astype(np.float32)


_FORMS: dict[str, Binder] = {
    "s_add_f32": scalar("f32", "f32 f32", np.add),
    "s_sub_f32": scalar("f32", "f32 f32", np.subtract),
    "s_mul_f32": scalar("f32", "f32 f32", np.multiply),
    "s_fmac_f32": scalar("f32", "f32 f32 f32", lambda c, x, y: a.fused(x, y, c), reads_target=True),
    "s_fmamk_f32": scalar("f32", "f32 f32 f32", a.fused),
    "s_fmaak_f32": scalar("f32", "f32 f32 f32", a.fused),
    "s_max_num_f32": scalar("f32", "f32 f32", a.maximum_number),
    "s_min_num_f32": scalar("f32", "f32 f32", a.minimum_number),
    "s_floor_f32": scalar("f32", "f32", np.floor),
    "s_ceil_f32": scalar("f32", "f32", np.ceil),
    "s_trunc_f32": scalar("f32", "f32", np.trunc),
    "s_rndne_f32": scalar("f32", "f32", np.rint),
    "s_cvt_f32_i32": scalar("f32", "i32", lambda x: x.astype(np.float32)),
    "s_cvt_f32_u32": scalar("f32", "u32", lambda x: x.astype(np.float32)),
    "s_cvt_i32_f32": scalar("i32", "f32", a.to_i32),
    "s_cvt_u32_f32": scalar("u32", "f32", a.to_u32),
    "s_cvt_f32_f16": scalar("f32", "u32", _low_half),
    "s_cvt_hi_f32_f16": scalar("f32", "u32", lambda x: _low_half(x >> np.uint32(16))),
    "v_s_exp_f32": scalar("f32", "f32", rounded(np.exp2)),
    "v_s_log_f32": scalar("f32", "f32", rounded(np.log2)),
    "v_s_rcp_f32": scalar("f32", "f32", rounded(np.reciprocal)),
    "v_s_sqrt_f32": scalar("f32", "f32", rounded(np.sqrt)),
}

TABLE = _FORMS | renamed(_FORMS, {"s_max_f32": "s_max_num_f32", "s_min_f32": "s_min_num_f32"})
