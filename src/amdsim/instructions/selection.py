"""v_cndmask: one of two values, by a bit for each lane."""

from __future__ import annotations

from typing import Any

import numpy as np

from amdsim.instructions import encoding
from amdsim.instructions.forms import Binder, Step
from amdsim.machine import Machine
from amdsim.operands import operand
from amdsim.program import Instruction
from amdsim.values import bound, mask_source


def condition(machine: Machine) -> str:
    """The mask register that short encodings do not name."""
    return "vcc" if machine.width == 64 else "vcc_lo"


def _binder(kind: str) -> Binder:
    def bind(instruction: Instruction, machine: Machine) -> Step:
        encoding.check(instruction)
        target, unset, given, *named = instruction.operands
        mask = mask_source(instruction, named[0] if named else operand(condition(machine)), machine)
        sources, lanes = encoding.inputs(instruction, [unset, given], (kind, kind), machine)
        compute = bound(_choose, [*sources, mask])
        return Step(compute, encoding.output(instruction, target, kind, machine, lanes))

    return bind


def _choose(unset: Any, given: Any, mask: Any) -> Any:
    return np.where(mask, given, unset)


TABLE: dict[str, Binder] = {"v_cndmask_b32": _binder("b32"), "v_cndmask_b16": _binder("b16")}
