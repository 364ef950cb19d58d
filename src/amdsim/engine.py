"""Executes a batch of waves, stretch of code by stretch of code.

The waves that are furthest behind go on, all that are at the same instruction together: waves that a branch parted meet
again where their ways do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from amdsim import instructions, parse
from amdsim.arrays import Array
from amdsim.errors import BarrierFault, Runaway
from amdsim.instructions.control import ENDINGS, Leave
from amdsim.machine import Machine
from amdsim.program import Program, Statement
from amdsim.values import Thunk

FAR = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Stretch:
    """Instructions that are executed one after the other, and what ends them."""

    thunks: Sequence[Thunk]
    leave: Leave


class Engine:
    """A machine and the code that was bound to it so far."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._stretches: dict[int, Stretch] = {}
        self._starts = _starts(machine.program)
        self.flow = _Flow(machine)

    def run(self, groups: int, limit: int) -> int:
        """Run the waves of the first workgroups to their end; the number of instructions, counted once for all waves
        that share one.

        Raises:
            Runaway: there were more than the limit.
        """
        flow, executed = self.flow, 0
        flow.begin(self.machine.program.start, groups)
        while (place := flow.choose()) is not None:
            others = flow.others
            following: int | None = place
            while following is not None and following < others:
                stretch = self._stretches.get(following) or self._bound(following)
                executed += len(stretch.thunks)
                if executed > limit:
                    raise Runaway(f"{self.machine.program.name}: more than {limit} instructions")
                for thunk in stretch.thunks:
                    thunk()
                following = stretch.leave(self.machine, flow)
            if following is not None:
                flow.jump(self.machine.active, following)
        return executed

    def _bound(self, place: int) -> Stretch:
        """The stretch that starts at an instruction."""
        program, thunks = self.machine.program, []
        end = place
        while True:
            instruction = parse.instruction(program.statements[end])
            end += 1
            if instruction.mnemonic in ENDINGS:
                leave = ENDINGS[instruction.mnemonic].bind(instruction, self.machine, end)
                break
            if (thunk := instructions.bind(instruction, self.machine)) is not None:
                thunks.append(thunk)
            if end in self._starts or end == len(program.statements):
                leave = _through(end)
                break
        self._stretches[place] = Stretch(thunks, leave)
        return self._stretches[place]


def _through(place: int) -> Leave:
    return lambda machine, flow: place


def _starts(program: Program) -> frozenset[int]:
    """Where branches may lead: stretches end there, so that waves can meet."""
    return frozenset(program.labels.values())


class _Flow:
    """Where each wave is."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._place = np.zeros(machine.size, np.int64)
        self._waiting = np.zeros(machine.size, np.bool_)
        self._done = np.zeros(machine.size, np.bool_)
        self.others = FAR

    def begin(self, place: int, groups: int) -> None:
        """The waves of the first workgroups start at an instruction, the others have no part."""
        self._place[...] = place
        self._waiting[...] = False
        self._done[...] = self._machine.group >= groups

    def choose(self) -> int | None:
        """Activate the waves that are furthest behind; their instruction, or None when all are done."""
        ready = ~(self._waiting | self._done)
        if not ready.any():
            if self._done.all():
                return None
            self._release()
            ready = ~self._done
        place = int(self._place[ready].min())
        active = ready & (self._place == place)
        rest = self._place[ready & ~active]
        self.others = int(rest.min()) if len(rest) else FAR
        self._machine.activate(active)
        return place

    def jump(self, where: Array, target: int) -> None:
        """Waves of a mask [wave] go on at an instruction."""
        self._place[where] = target

    def wait(self, following: int, statement: Statement) -> None:
        """The active waves wait for their workgroups, then go on."""
        active = self._machine.active
        if not self._machine.full:
            raise BarrierFault(f"{statement.place}: a barrier with lanes switched off")
        self._waiting[active] = True
        self._place[active] = following

    def end(self) -> None:
        """The active waves are done."""
        self._done[self._machine.active] = True

    def _release(self) -> None:
        """Everybody waits who is not done: a workgroup goes on when all of its waves are at one barrier."""
        waves = self._machine.waves
        waiting, place = self._waiting.reshape(-1, waves), self._place.reshape(-1, waves)
        groups = waiting.any(axis=1)
        together = waiting.all(axis=1) & (place == place[:, :1]).all(axis=1)
        if (groups & ~together).any():
            group = int(np.flatnonzero(groups & ~together)[0])
            statements = self._machine.program.statements
            places = " and ".join(statements[p - 1].place for p in np.unique(place[group][waiting[group]]))
            raise BarrierFault(f"waves of a workgroup do not meet: {waiting[group].sum()} of {waves} are at {places}")
        self._waiting[...] = False
        self._machine.local.barrier(np.flatnonzero(groups), self._machine.first_group)
