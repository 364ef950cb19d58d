"""Instructions that end a stretch of code: branches, barriers, the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from amdsim.errors import Uninitialised
from amdsim.instructions.forms import Binder
from amdsim.machine import Machine
from amdsim.operands import EXEC, VCC, operand
from amdsim.parse import WORD
from amdsim.program import Instruction
from amdsim.values import Thunk, read, scalar_sink, wave_source

CODE = 0x7E0000000000
"""The address of the first instruction, as a program sees it."""


class Flow(Protocol):
    """What the waves' way through the program is kept in."""

    def jump(self, where: Any, target: int) -> None:
        """Waves of a mask go on at an instruction."""

    def wait(self, following: int, statement: Any) -> None:
        """The active waves wait for their workgroups, then go on."""

    def end(self) -> None:
        """The active waves are done."""


Leave = Callable[[Machine, Flow], "int | None"]
"""Ends a stretch: the instruction where all active waves go on, or None where the flow knows more."""


@dataclass(frozen=True)
class Ending:
    """A binder of such instructions; `following` is the instruction after."""

    bind: Callable[[Instruction, Machine, int], Leave]


def _target(instruction: Instruction, labels: Mapping[str, int]) -> int:
    if instruction.words[0] not in labels:
        raise instruction.unknown("a label that is not there")
    return labels[instruction.words[0]]


def _always(instruction: Instruction, machine: Machine, following: int) -> Leave:
    target = _target(instruction, machine.program.labels)
    return lambda machine, flow: target


def _branch(condition: Callable[[Machine], Callable[[], Any]], wanted: bool) -> Ending:
    def bind(instruction: Instruction, machine: Machine, following: int) -> Leave:
        target = _target(instruction, machine.program.labels)
        taken = condition(machine)
        place = instruction.statement.place

        def leave(machine: Machine, flow: Flow) -> int | None:
            going = (taken() == wanted) & machine.active
            if machine.twins and not np.array_equal(going[: machine.real], going[machine.real :]):
                raise Uninitialised(f"{place}: the branch depends on what nobody wrote")
            count = np.count_nonzero(going)
            if count == 0:
                return following
            if count == np.count_nonzero(machine.active):
                return target
            flow.jump(going, target)
            flow.jump(machine.active & ~going, following)
            return None

        return leave

    return Ending(bind)


def _scc(machine: Machine) -> Callable[[], Any]:
    return lambda: machine.scc


def _nonzero(register: int) -> Callable[[Machine], Callable[[], Any]]:
    """Whether a mask register holds a bit for any lane."""

    def condition(machine: Machine) -> Callable[[], Any]:
        if machine.width == 64:
            pair = machine.pair(register)
            return lambda: pair != 0
        single = machine.scalar(register)
        return lambda: single != 0

    return condition


def _barrier(instruction: Instruction, machine: Machine, following: int) -> Leave:
    if instruction.mnemonic == "s_barrier_wait" and instruction.words != ("-1",):
        raise instruction.unknown("a named barrier")

    def leave(machine: Machine, flow: Flow) -> int | None:
        machine.same_lanes(instruction.statement)
        flow.wait(following, instruction.statement)
        return None

    return leave


def _end(instruction: Instruction, machine: Machine, following: int) -> Leave:
    def leave(machine: Machine, flow: Flow) -> int | None:
        flow.end()
        return None

    return leave


def _far(instruction: Instruction, machine: Machine, following: int) -> Leave:
    """s_setpc_b64, to an address that was computed from s_getpc_b64."""
    address = wave_source(instruction, instruction.operands[0], "u64", machine)

    def leave(machine: Machine, flow: Flow) -> int | None:
        targets = np.unique(read(address)[machine.active])
        place = (int(targets[0]) - CODE) // WORD
        if len(targets) > 1 or not 0 <= place < len(machine.program.statements):
            raise instruction.unknown("a jump that is not to one instruction of the kernel")
        return place

    return leave


ENDINGS: dict[str, Ending] = {
    "s_branch": Ending(_always),
    "s_cbranch_scc0": _branch(_scc, wanted=False),
    "s_cbranch_scc1": _branch(_scc, wanted=True),
    "s_cbranch_vccz": _branch(_nonzero(VCC), wanted=False),
    "s_cbranch_vccnz": _branch(_nonzero(VCC), wanted=True),
    "s_cbranch_execz": _branch(_nonzero(EXEC), wanted=False),
    "s_cbranch_execnz": _branch(_nonzero(EXEC), wanted=True),
    "s_barrier": Ending(_barrier),
    "s_barrier_wait": Ending(_barrier),
    "s_setpc_b64": Ending(_far),
    "s_endpgm": Ending(_end),
}


def _own_address(instruction: Instruction, machine: Machine) -> Thunk:
    """s_getpc_b64."""
    sink = scalar_sink(instruction, operand(instruction.words[0]), "u64", machine)
    place = np.asarray(CODE + WORD * (instruction.statement.index + 1), np.uint64)
    return lambda: sink(place)


_TOUCHES_MEMORY = ("ds_", "global_", "flat_", "buffer_", "scratch_", "s_cbranch", "s_branch", "s_endpgm", "s_setpc")

_PERMUTES = ("ds_bpermute", "ds_permute", "ds_swizzle")


def _signal(instruction: Instruction, machine: Machine) -> Thunk:
    """s_barrier_signal: the wait has to come before any access to memory, so that the two are a barrier."""
    for following in machine.program.statements[instruction.statement.index + 1 :]:
        if following.text == "s_barrier_wait -1":
            break
        if following.text.startswith(_TOUCHES_MEMORY) and not following.text.startswith(_PERMUTES):
            raise instruction.unknown(f"a barrier in two parts with {following.text} between")
    if instruction.words != ("-1",):
        raise instruction.unknown("a named barrier")
    return lambda: None


TABLE: dict[str, Binder] = {"s_getpc_b64": _own_address, "s_barrier_signal": _signal}
