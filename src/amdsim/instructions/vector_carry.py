"""Sums and differences with a carry for each lane."""

from __future__ import annotations

from typing import Any

import numpy as np

from amdsim.instructions import encoding
from amdsim.instructions.forms import Binder, Step
from amdsim.machine import Machine
from amdsim.program import Instruction
from amdsim.values import bound, mask_sink, mask_source, read


def _sum(first: Any, second: Any, carry: Any) -> Any:
    partial = first + second
    total = partial + carry
    return total, (partial < first) | (total < partial)


def _difference(first: Any, second: Any, borrow: Any) -> Any:
    partial = first - second
    total = partial - borrow
    return total, (first < second) | (partial < borrow)


def _binder(compute: Any, reverse: bool, takes: bool) -> Binder:
    """`takes`: there is a carry from before, as the last operand."""

    def bind(instruction: Instruction, machine: Machine) -> Step:
        encoding.check(instruction)
        target, carry, first, second, *before = instruction.operands
        if len(before) != takes:
            raise instruction.unknown()
        sources, lanes = encoding.inputs(instruction, [first, second], ("u32", "u32"), machine)
        incoming = mask_source(instruction, before[0], machine) if takes else np.zeros((1, 1), np.bool_)
        to_target = encoding.output(instruction, target, "u32", machine, lanes)
        to_carry = mask_sink(instruction, carry, machine, lanes)

        def both(x: Any, y: Any) -> Any:
            return compute(y, x, bit()) if reverse else compute(x, y, bit())

        def bit() -> Any:
            return read(incoming).astype(np.uint32)

        def commit(value: Any) -> None:
            total, carried = value
            to_carry(np.asarray(carried))
            to_target(total)

        return Step(bound(both, sources), commit)

    return bind


TABLE: dict[str, Binder] = {
    "v_add_co_u32": _binder(_sum, reverse=False, takes=False),
    "v_sub_co_u32": _binder(_difference, reverse=False, takes=False),
    "v_subrev_co_u32": _binder(_difference, reverse=True, takes=False),
    "v_addc_co_u32": _binder(_sum, reverse=False, takes=True),
    "v_subb_co_u32": _binder(_difference, reverse=False, takes=True),
    "v_subbrev_co_u32": _binder(_difference, reverse=True, takes=True),
    "v_add_co_ci_u32": _binder(_sum, reverse=False, takes=True),
    "v_sub_co_ci_u32": _binder(_difference, reverse=False, takes=True),
    "v_subrev_co_ci_u32": _binder(_difference, reverse=True, takes=True),
}
