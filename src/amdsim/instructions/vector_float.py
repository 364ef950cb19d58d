"""Vector instructions on float32.

The hardware's approximations (exp, log, rcp, rsq and sqrt) are rounded correctly here; on a card the last bit may
differ.
"""

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


def rounded(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of float32 by way of float64."""
    return lambda x: function(x.astype(np.float64)).astype(np.float32)


def _accumulated(instruction: Instruction, machine: Machine) -> Step:
    """v_fmac_f32: the destination is the addend."""
    encoding.check(instruction, encoding.OUTPUT)
    if instruction.modifiers.keys() & encoding.OUTPUT:
        raise instruction.unknown("output modifier")
    target, *operands = instruction.operands
    sources, lanes = encoding.inputs(instruction, [*operands, target], ("f32", "f32", "f32"), machine)
    return Step(bound(a.fused, sources), encoding.output(instruction, target, "f32", machine, lanes))


_FORMS: dict[str, Binder] = {
    "v_add_f32": form("f32", "f32 f32", np.add),
    "v_sub_f32": form("f32", "f32 f32", np.subtract),
    "v_subrev_f32": form("f32", "f32 f32", lambda x, y: y - x),
    "v_mul_f32": form("f32", "f32 f32", np.multiply),
    "v_fma_f32": form("f32", "f32 f32 f32", a.fused),
    "v_fmamk_f32": form("f32", "f32 f32 f32", a.fused),
    "v_fmaak_f32": form("f32", "f32 f32 f32", a.fused),
    "v_fmac_f32": _accumulated,
    "v_max_f32": form("f32", "f32 f32", a.maximum_number),
    "v_min_f32": form("f32", "f32 f32", a.minimum_number),
    "v_max3_f32": form("f32", "f32 f32 f32", lambda x, y, z: a.maximum_number(a.maximum_number(x, y), z)),
    "v_min3_f32": form("f32", "f32 f32 f32", lambda x, y, z: a.minimum_number(a.minimum_number(x, y), z)),
    "v_med3_f32": form("f32", "f32 f32 f32", a.middle_number),
    "v_maxmin_f32": form("f32", "f32 f32 f32", lambda x, y, z: a.minimum_number(a.maximum_number(x, y), z)),
    "v_minmax_f32": form("f32", "f32 f32 f32", lambda x, y, z: a.maximum_number(a.minimum_number(x, y), z)),
    "v_maximum_f32": form("f32", "f32 f32", a.maximum),
    "v_minimum_f32": form("f32", "f32 f32", a.minimum),
    "v_maximum3_f32": form("f32", "f32 f32 f32", lambda x, y, z: a.maximum(a.maximum(x, y), z)),
    "v_minimum3_f32": form("f32", "f32 f32 f32", lambda x, y, z: a.minimum(a.minimum(x, y), z)),
    "v_maximumminimum_f32": form("f32", "f32 f32 f32", lambda x, y, z: a.minimum(a.maximum(x, y), z)),
    "v_minimummaximum_f32": form("f32", "f32 f32 f32", lambda x, y, z: a.maximum(a.minimum(x, y), z)),
    "v_ldexp_f32": form("f32", "f32 i32", a.scaled),
    "v_exp_f32": form("f32", "f32", rounded(np.exp2)),
    "v_log_f32": form("f32", "f32", rounded(np.log2)),
    "v_rcp_f32": form("f32", "f32", rounded(np.reciprocal)),
    "v_rcp_iflag_f32": form("f32", "f32", rounded(np.reciprocal)),
    "v_sqrt_f32": form("f32", "f32", rounded(np.sqrt)),
    "v_rndne_f32": form("f32", "f32", np.rint),
    "v_floor_f32": form("f32", "f32", np.floor),
    "v_ceil_f32": form("f32", "f32", np.ceil),
    "v_trunc_f32": form("f32", "f32", np.trunc),
}

TABLE = _FORMS | renamed(
    _FORMS,
    {
        "v_max_num_f32": "v_max_f32",
        "v_min_num_f32": "v_min_f32",
        "v_max3_num_f32": "v_max3_f32",
        "v_min3_num_f32": "v_min3_f32",
        "v_med3_num_f32": "v_med3_f32",
        "v_maxmin_num_f32": "v_maxmin_f32",
        "v_minmax_num_f32": "v_minmax_f32",
    },
)
