"""Scalar instructions that save exec and change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from amdsim.instructions.forms import Binder
from amdsim.machine import Machine
from amdsim.operands import operand
from amdsim.program import Instruction
from amdsim.values import Thunk, read, scalar_sink, wave_source

_FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "and": lambda x, e: x & e,
    "or": lambda x, e: x | e,
    "xor": lambda x, e: x ^ e,
    "andn1": lambda x, e: ~x & e,
    "andn2": lambda x, e: x & ~e,
    "and_not0": lambda x, e: ~x & e,
    "and_not1": lambda x, e: x & ~e,
}


def _binder(function: Callable[[Any, Any], Any], width: int, *, saves: bool) -> Binder:
    """`saves`: the destination gets exec as it was; otherwise what it becomes (the "wrexec" instructions)."""

    def bind(instruction: Instruction, machine: Machine) -> Thunk:
        instruction.only()
        if width != machine.width:
            raise instruction.unknown(f"exec has {machine.width} bits")
        target, mask = instruction.operands
        name, kind = "exec" if width == 64 else "exec_lo", f"b{width}"
        value = wave_source(instruction, mask, kind, machine)
        before = wave_source(instruction, operand(name), kind, machine)
        to_target = scalar_sink(instruction, target, kind, machine)
        to_exec = scalar_sink(instruction, operand(name), kind, machine)

        def run() -> None:
            old = np.array(read(before))
            new = function(read(value), old)
            to_target(old if saves else new)
            to_exec(new)
            np.copyto(machine.scc, new != 0, where=machine.active)

        return run

    return bind


def _table() -> dict[str, Binder]:
    table: dict[str, Binder] = {}
    for width in (32, 64):
        for name, function in _FUNCTIONS.items():
            table[f"s_{name}_saveexec_b{width}"] = _binder(function, width, saves=True)
        for name in ("andn1", "andn2", "and_not0", "and_not1"):
            table[f"s_{name}_wrexec_b{width}"] = _binder(_FUNCTIONS[name], width, saves=False)
    return table


TABLE = _table()
