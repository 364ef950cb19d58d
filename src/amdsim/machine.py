"""The state of a batch of waves, as arrays over waves and lanes.

All waves of some workgroups run together: an instruction is executed once, for every wave that is at it. Waves that are
elsewhere are inactive, as lanes are whose exec bit is 0; nothing is written for either.

With twins, every wave runs a second time beside itself, on registers and LDS whose first contents are different noise.
Where the two differ, something depends on what nobody wrote. Twins see the same memory and write none.
"""

from __future__ import annotations

import numpy as np

from amdsim.arrays import Array
from amdsim.errors import Uninitialised
from amdsim.local import LocalMemory
from amdsim.memory import Memory
from amdsim.operands import EXEC, SCALARS, Operand
from amdsim.program import Program, Statement


class Machine:
    """A batch.

    Attributes:
        program: what runs.
        groups, waves: workgroups, and the waves of one.
        real: waves without their twins; `size` with them.
        width: lanes of a wave.
        vectors: u32 [register, wave, lane]; accumulation registers follow the others.
        scalars: u32 [pair, wave, register of the pair]: so that a register, a pair and a mask are each a plain view.
        scc: bool [wave].
        active: bool [wave], the waves that execute.
        lanes: bool [wave, lane], exec of the waves that are active.
        full: whether every lane of every active wave is on.
        wave, group: the number of a wave in its workgroup and of its workgroup in the batch [wave].
        ranks: which wave comes first where several update memory at once [wave].
        memory, local: global memory, and LDS.
        first_group: how many workgroups of the launch ran before the batch.
        private: u8 [byte, wave, lane], what a lane spills.
    """

    def __init__(self, program: Program, groups: int, twins: bool) -> None:
        self.program = program
        self.architecture = program.architecture
        self.groups, self.waves, self.twins = groups, program.waves, twins
        self.real = groups * program.waves
        self.size = self.real * (2 if twins else 1)
        self.width = program.architecture.wave
        rows = program.vectors + program.accumulators
        self.vectors = np.zeros((max(rows, 1), self.size, self.width), np.uint32)
        self.flat = self.vectors.reshape(len(self.vectors), -1)
        self._rows = list(self.vectors)
        self.scalars = np.zeros((SCALARS // 2, self.size, 2), np.uint32)
        self.scc = np.zeros(self.size, np.bool_)
        self.active = np.ones(self.size, np.bool_)
        self.lanes = np.ones((self.size, self.width), np.bool_)
        self.full = True
        index = np.arange(self.size)
        self.wave, self.group = index % self.waves, (index % self.real) // self.waves
        self.ranks = index
        self._every = np.arange(self.size * self.width)
        self.private = np.zeros((program.scratch, self.size, self.width), np.uint8)
        self.local = LocalMemory(program, groups * (2 if twins else 1), self.size)
        self.memory = Memory()
        self.first_group = 0
        self._exec = self.mask(EXEC)
        self._count = self.size
        self._chosen: Array | slice | None = None

    def row(self, operand: Operand, offset: int = 0) -> Array:
        """A vector register, u32 [wave, lane]."""
        return self._rows[self.number(operand) + offset]

    def number(self, operand: Operand) -> int:
        """Where a vector register is in `vectors`."""
        return operand.index + (self.program.vectors if operand.file == "a" else 0)

    def shuffle(self, noise: np.random.Generator) -> None:
        """Let the waves come in another order, their twins in the same."""
        ranks = noise.permutation(self.real)
        self.ranks = np.concatenate([ranks, ranks + self.real])[: self.size]

    def order(self, lanes: Array) -> Array:
        """The order in which lanes, flat indices, update memory."""
        return np.argsort(self.ranks[lanes // self.width], kind="stable")

    def scalar(self, index: int) -> Array:
        """A scalar register, u32 [wave]."""
        return self.scalars[index // 2, :, index % 2]

    def pair(self, index: int) -> Array:
        """A pair of scalar registers, u64 [wave]."""
        return self.scalars.view(np.uint64)[index // 2, :, 0]

    def half(self, index: int, high: bool) -> Array:
        """Half of a scalar register, u16 [wave]."""
        return self.scalars.view(np.uint16)[index // 2, :, index % 2 * 2 + high]

    def mask(self, index: int) -> Array:
        """The bits for every lane that are in a scalar register or a pair, u8 [wave, byte]."""
        first = index % 2 * 4
        return self.scalars.view(np.uint8)[index // 2, :, first : first + self.width // 8]

    def scramble(self, noise: np.random.Generator) -> None:
        """Fill what a wave may not rely on. Scalars of twins are complements: a single bit may decide a branch."""
        self.vectors[...] = noise.integers(0, 2**32, self.vectors.shape, np.uint32)
        self.scalars[...] = noise.integers(0, 2**32, self.scalars.shape, np.uint32)
        self.scc[...] = noise.integers(0, 2, self.scc.shape, np.uint8)
        if self.twins:
            self.scalars[:, self.real :] = ~self.scalars[:, : self.real]
            self.scc[self.real :] = ~self.scc[: self.real]
        self.private[...] = noise.integers(0, 256, self.private.shape, np.uint8)
        self.local.scramble(noise)

    def activate(self, active: Array) -> None:
        """Choose the waves that execute, bool [wave]."""
        self.active[...] = active
        self._count = int(np.count_nonzero(active))
        self.refresh()

    def refresh(self) -> None:
        """Follow a change of exec or of the active waves."""
        exec_lanes = np.unpackbits(self._exec, axis=1, bitorder="little").view(np.bool_)
        np.logical_and(exec_lanes, self.active[:, None], out=self.lanes)
        self.full = np.count_nonzero(self.lanes) == self._count * self.width
        self._chosen = None

    @property
    def chosen(self) -> Array | slice:
        """The lanes that are on, as indices into a flattened [wave, lane]: a slice where they all are."""
        if self._chosen is None:
            self._chosen = slice(None) if self.full and self._count == self.size else np.flatnonzero(self.lanes)
        return self._chosen

    @property
    def indices(self) -> Array:
        """The same, always as indices."""
        return self._every[self.chosen]

    def doubled(self, values: Array, unknown: Array | None) -> Array:
        """What real waves and their twins load: the same, but for the bits that nobody wrote."""
        if not self.twins:
            return values
        return np.concatenate([values, values if unknown is None else values ^ unknown])

    def first_half(self, statement: Statement, what: str, values: Array) -> Array:
        """`values` of the lanes that are on, without the twins': those are compared, and left out.

        Raises:
            Uninitialised: twins differ.
        """
        if not self.twins:
            return values
        half = len(values) // 2
        if len(values) % 2 or not np.array_equal(values[:half], values[half:]):
            raise Uninitialised(f"{statement.place}: {what} depends on what nobody wrote")
        return values[:half]

    def same_lanes(self, statement: Statement) -> None:
        """Check that exec is defined.

        Raises:
            Uninitialised: twins differ.
        """
        if self.twins and not np.array_equal(self.lanes[: self.real], self.lanes[self.real :]):
            raise Uninitialised(f"{statement.place}: the exec mask depends on what nobody wrote")
