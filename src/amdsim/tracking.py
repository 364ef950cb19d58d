"""Who touched which memory last, to tell accesses that nothing orders.

A stamp is the number of a wave in a span, the time between two barriers of its workgroup. Two accesses to the same
memory, one of them a write, are ordered when one wave makes both, or when a barrier of their workgroup lies between.
"""

from __future__ import annotations

import numpy as np

from amdsim.arrays import Array

SHARE = 6
"""Bits of a stamp that hold the wave, 0 to 31; the others count the spans."""

SEVERAL = 63
"""In the place of the wave: several waves of the workgroup, in one span."""

ATOMIC = 62
"""There as well: an atomic update, which further atomic updates may follow."""


class Spans:
    """The spans of every workgroup of a launch; 0 is before the launch."""

    def __init__(self, instances: int) -> None:
        self.current = np.zeros(instances, np.int32)
        self._group = np.zeros(1, np.int32)
        self._horizon = np.zeros(1, np.int32)
        self._made = 1

    def begin(self, first: int, *, fresh: bool) -> None:
        """A batch begins, whose workgroups are numbered from `first` on; a launch with it, if `fresh`."""
        if fresh:
            self._made = 1
        self.current[...] = 0
        self._horizon[0] = 0
        self.advance(np.arange(len(self.current)), first)

    def advance(self, instances: Array, first: int) -> None:
        """Begin a new span in workgroups."""
        needed = self._made + len(instances)
        if needed > len(self._group):
            more = np.zeros(needed * 2, np.int32)
            self._group, self._horizon = np.concatenate([self._group, more]), np.concatenate([self._horizon, more])
        self._group[self._made : needed] = instances + first + 1
        self._horizon[self._made : needed] = self._horizon[self.current[instances]]
        self.current[instances] = np.arange(self._made, needed)
        self._made = needed

    def acquire(self, instances: Array) -> None:
        """Workgroups take note of what others released: what is in spans that began before is ordered for them.

        That the others did release it, and wrote nothing after, is not checked.
        """
        self._horizon[self.current[instances]] = self._made

    def stamps(self, instances: Array, waves: Array) -> Array:
        """The stamps of waves."""
        stamps: Array = ((self.current[instances] << SHARE) | waves).astype(np.uint32)
        return stamps

    def strangers(self, earlier: Array, stamps: Array) -> Array:
        """Where an earlier access was another workgroup's, in the same launch, and nothing orders the two."""
        span, mine = earlier >> np.uint32(SHARE), stamps >> np.uint32(SHARE)
        others: Array = (self._group[span] != self._group[mine]) & (span != 0) & (span >= self._horizon[mine])
        return others


def _same_span(first: Array, second: Array) -> Array:
    """Where two stamps are of different waves in one span: they differ in the lower bits alone."""
    return ((first ^ second) - np.uint32(1)) < np.uint32(SEVERAL)


class Tracker:
    """The last writer and reader of every granule of some memory.

    Places are bytes [unit, lane], where units of a size start; stamps are [lane]. What comes back is where an access
    races, bool [unit, lane], or None where none does.
    """

    def __init__(self, size: int, granule: int, spans: Spans | None = None) -> None:
        """`spans`: where the memory is shared by workgroups, to tell them apart."""
        self._granule, self._spans = granule, spans
        self.writers = np.zeros(-(-size // granule) + 8, np.uint32)
        self.readers = np.zeros_like(self.writers)

    def loads(self, places: Array, unit: int, stamps: Array) -> Array | None:
        """Note loads."""
        raced = None
        for granules in self._granules(places, unit):
            writers = self.writers[granules]
            bad = self._of_others(writers, stamps)
            if bad.any():
                raced = bad if raced is None else raced | bad
            merged = np.where(_same_span(self.readers[granules], stamps), stamps | np.uint32(SEVERAL), stamps)
            self.readers[granules] = merged
            if (crossed := self.readers[granules] != merged).any():  # several waves in this very instruction
                self.readers[granules[crossed]] |= np.uint32(SEVERAL)
        return raced

    def stores(self, places: Array, unit: int, stamps: Array) -> Array | None:
        """Note stores. Those of one instruction are not compared among themselves."""
        raced = None
        for granules in self._granules(places, unit):
            writers = self.writers[granules]
            bad = self._of_others(writers, stamps) | _same_span(self.readers[granules], stamps)
            if bad.any():
                raced = bad if raced is None else raced | bad
            self.writers[granules] = stamps
        return raced

    def updates(self, places: Array, unit: int, stamps: Array) -> Array | None:
        """Note atomic updates, which race with plain accesses only."""
        raced = None
        for granules in self._granules(places, unit):
            writers = self.writers[granules]
            bad = self._of_others(writers, stamps)
            bad &= (writers & np.uint32(SEVERAL)) != np.uint32(ATOMIC)
            bad |= _same_span(self.readers[granules], stamps)
            if bad.any():
                raced = bad if raced is None else raced | bad
            self.writers[granules] = (stamps & ~np.uint32(SEVERAL)) | np.uint32(ATOMIC)
        return raced

    def _granules(self, places: Array, unit: int) -> list[Array]:
        """Of each unit the first granule, the second, and so on."""
        first = places // self._granule
        return [first + i for i in range(max(1, unit // self._granule))]

    def _of_others(self, earlier: Array, stamps: Array) -> Array:
        """Where an earlier access was another wave's in the same span, or another workgroup's that nothing orders."""
        others = _same_span(earlier, stamps)
        if self._spans is not None:
            others |= self._spans.strangers(earlier, stamps)
        return others
