"""LDS: the memory that the waves of a workgroup share."""

from __future__ import annotations

from typing import Any

import numpy as np

from amdsim.arrays import UNITS, Array
from amdsim.errors import OutOfBounds, Race
from amdsim.program import Program, Statement
from amdsim.tracking import Spans, Tracker

_ALIGNMENT = 16


class LocalMemory:
    """One piece for every workgroup of a batch, and for its twin.

    An access is made for many lanes at once, which flat indices [lane] name, and for several units of each lane: units
    of 1, 2, 4 or 8 bytes at the lane's address plus each of some offsets [unit].
    """

    def __init__(self, program: Program, instances: int, waves: int) -> None:
        """`waves`: all that there are in the batch, those of an instance one after the other."""
        self.size = program.lds
        stride = -(-max(program.lds, 1) // _ALIGNMENT) * _ALIGNMENT
        self._bytes = np.zeros(instances * stride, np.uint8)
        self._views = {size: self._bytes.view(unit) for size, unit in UNITS.items()}
        wave = np.repeat(np.arange(waves), program.architecture.wave)
        self._wave = wave % program.waves
        self._instance = wave // program.waves
        self._base = self._instance * stride
        self._tracker = Tracker(len(self._bytes), _granule(program)) if program.waves > 1 else None
        self.spans = Spans(instances)
        self.stamps = np.zeros(len(wave), np.int32)

    def scramble(self, noise: np.random.Generator) -> None:
        """Fill with noise, and forget who touched what."""
        self._bytes[...] = noise.integers(0, 256, self._bytes.shape, np.uint8)
        if self._tracker is not None:
            self._tracker.writers[...] = 0
            self._tracker.readers[...] = 0

    def begin(self, first: int, *, fresh: bool) -> None:
        """A batch begins, whose workgroups are numbered from `first` on; a launch with it, if `fresh`."""
        self.spans.begin(first, fresh=fresh)
        self._restamp()

    def barrier(self, instances: Array, first: int) -> None:
        """Workgroups passed a barrier."""
        self.spans.advance(instances, first)
        self._restamp()

    def acquire(self, waves: Array) -> None:
        """Waves of a mask took note of what other workgroups released."""
        self.spans.acquire(np.unique(self._instance.reshape(len(waves), -1)[waves, 0]))

    def _restamp(self) -> None:
        self.stamps = self.spans.stamps(self._instance, self._wave)

    def load(self, statement: Statement, lanes: Any, addresses: Array, offsets: Array, unit: int) -> Array:
        """Unsigned numbers [unit, lane]."""
        places = self._places(statement, lanes, addresses, offsets, unit)
        if self._tracker is not None:
            bad = self._tracker.loads(places, unit, self.stamps[lanes])
            if bad is not None:
                self._race(statement, "reads", lanes, addresses, bad)
        values: Array = self._views[unit][places // unit]
        return values

    def store(
        self, statement: Statement, lanes: Any, addresses: Array, offsets: Array, values: Array, unit: int
    ) -> None:
        """Store [unit, lane]. Waves that store what is there already are harmless: layouts may repeat values."""
        places = self._places(statement, lanes, addresses, offsets, unit)
        view, index = self._views[unit], places // unit
        before = view[index]
        view[index] = values
        if (clash := view[index] != values).any():
            self._race(statement, "writes what another lane writes otherwise to", lanes, addresses, clash)
        if self._tracker is not None:
            bad = self._tracker.stores(places, unit, self.stamps[lanes])
            if bad is not None and (bad := bad & (before != values)).any():
                self._race(statement, "writes", lanes, addresses, bad)

    def cells(self, statement: Statement, lanes: Any, addresses: Array, offset: int, unit: int) -> tuple[Array, Array]:
        """(view, indices [lane]) for atomic updates."""
        places = self._places(statement, lanes, addresses, np.array([offset]), unit)
        if self._tracker is not None:
            bad = self._tracker.updates(places, unit, self.stamps[lanes])
            if bad is not None:
                self._race(statement, "updates", lanes, addresses, bad)
        return self._views[unit], places[0] // unit

    def _places(self, statement: Statement, lanes: Any, addresses: Array, offsets: Array, unit: int) -> Array:
        if not len(addresses):
            return np.zeros((len(offsets), 0), np.int64)
        highest = int(addresses.max()) + int(offsets.max()) + unit
        if highest > self.size:
            raise OutOfBounds(f"{statement.place}: LDS up to byte {highest}, of {self.size} that the workgroup has")
        if int(np.bitwise_or.reduce(addresses)) & (unit - 1):
            raise OutOfBounds(f"{statement.place}: an LDS address that is no multiple of {unit}")
        places: Array = (addresses + self._base[lanes]) + offsets[:, None]
        return places

    def _race(self, statement: Statement, verb: str, lanes: Any, addresses: Array, bad: Array) -> None:
        first = int(np.flatnonzero(bad.any(axis=0))[0])
        wave = int(self._wave[lanes][first])
        raise Race(
            f"{statement.place}: wave {wave} {verb} LDS at byte {int(addresses[first])}, which another wave touches "
            "with no barrier between them"
        )


def _granule(program: Program) -> int:
    """Bytes that are tracked as one: what the kernel stores at least."""
    if any(m.startswith(("ds_write_b8", "ds_store_b8")) for m in program.mnemonics):
        return 1
    if any(m.startswith(("ds_write_b16", "ds_store_b16")) for m in program.mnemonics):
        return 2
    return 4
