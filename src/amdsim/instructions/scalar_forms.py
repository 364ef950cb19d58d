"""Scalar instructions as entries of tables: one value for each wave, and perhaps the bit scc."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from amdsim.machine import Machine
from amdsim.program import Instruction
from amdsim.values import Thunk, bound, scalar_sink, wave_source

SAME = "same"
"""scc is left alone."""

NONZERO = "nonzero"
"""scc says whether the result is not 0."""

GIVEN = "given"
"""The function gives the result and scc."""

ONLY = "only"
"""The function gives scc, and there is no other result."""


@dataclass(frozen=True)
class ScalarForm:
    """A scalar instruction. `reads_target`: its destination is also its first source; `reads_scc`: scc is its last."""

    result: str
    sources: tuple[str, ...]
    compute: Callable[..., Any]
    scc: str = SAME
    reads_target: bool = False
    reads_scc: bool = False

    def __call__(self, instruction: Instruction, machine: Machine) -> Thunk:
        """Bind it."""
        instruction.only()
        operands = list(instruction.operands)
        target = None if self.scc == ONLY else operands[0]
        if not (self.scc == ONLY or self.reads_target):
            operands.pop(0)
        if len(operands) != len(self.sources):
            raise instruction.unknown(f"{len(operands)} sources: expected {len(self.sources)}")
        sources = [wave_source(instruction, o, k, machine) for o, k in zip(operands, self.sources, strict=True)]
        if self.reads_scc:
            sources.append(machine.scc)
        compute = bound(self.compute, sources)
        scc, active = machine.scc, machine.active
        if target is None:
            return lambda: np.copyto(scc, compute(), where=active)
        sink = scalar_sink(instruction, target, self.result, machine)
        if self.scc == SAME:
            return lambda: sink(compute())

        def run() -> None:
            value = compute()
            if self.scc == GIVEN:
                value, bit = value
            else:
                bit = value != 0
            sink(value)
            np.copyto(scc, bit, where=active)

        return run


def scalar(result: str, sources: str, compute: Callable[..., Any], scc: str = SAME, **more: bool) -> ScalarForm:
    """`scalar("u32", "u32 u32", np.bitwise_and, NONZERO)`."""
    return ScalarForm(result, tuple(sources.split()), compute, scc, **more)
