"""Instructions as entries of tables: what they take, what they give, and the function between.

A binder makes of an instruction and a machine what executes it. A family of instructions is a table from mnemonics,
without their encodings, to binders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from amdsim.arrays import Value
from amdsim.instructions import encoding
from amdsim.machine import Machine
from amdsim.program import Instruction
from amdsim.values import DTYPES, Thunk, bound


@dataclass(frozen=True)
class Step:
    """An instruction in two steps: dual instructions read everything before they write anything."""

    compute: Callable[[], Any]
    commit: Callable[[Any], None]

    def thunk(self) -> Thunk:
        """Both."""
        compute, commit = self.compute, self.commit
        return lambda: commit(compute())


Binder = Callable[[Instruction, Machine], "Step | Thunk"]


@dataclass(frozen=True)
class Form:
    """A vector instruction that computes one value for each lane from its own operands only."""

    result: str
    sources: tuple[str, ...]
    compute: Callable[..., Any]

    def __call__(self, instruction: Instruction, machine: Machine) -> Step:
        """Bind it."""
        floats = self.result[0] == "f"
        encoding.check(instruction, encoding.OUTPUT if floats else frozenset(), frozenset({"clamp"} if floats else ()))
        target, *operands = instruction.operands
        sources, lanes = encoding.inputs(instruction, operands, self.sources, machine)
        compute = bound(self.compute, sources)
        if instruction.flags & {"clamp"} or instruction.modifiers.keys() & encoding.OUTPUT:
            compute = _output_modifier(instruction, compute, self.result)
        return Step(compute, encoding.output(instruction, target, self.result, machine, lanes))


def form(result: str, sources: str, compute: Callable[..., Any]) -> Form:
    """`form("u32", "u32 u32", np.add)`."""
    return Form(result, tuple(sources.split()), compute)


def renamed(table: Mapping[str, Binder], names: Mapping[str, str]) -> dict[str, Binder]:
    """The same instructions under the names that other architectures have for them: new -> old."""
    return {new: table[old] for new, old in names.items()}


def _output_modifier(instruction: Instruction, compute: Callable[[], Value], kind: str) -> Callable[[], Value]:
    """mul:2, mul:4, div:2, then clamp to 0 .. 1, where NaN becomes 0."""
    dtype = DTYPES[kind].type
    scale = dtype(float(instruction.modifiers.get("mul", "1")) / float(instruction.modifiers.get("div", "1")))
    clamp = "clamp" in instruction.flags

    def changed() -> Value:
        value = compute() * scale
        if clamp:
            value = np.where(np.isnan(value), dtype(0), np.clip(value, dtype(0), dtype(1)))
        return value

    return changed
