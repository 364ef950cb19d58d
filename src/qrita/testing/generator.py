"""Random integers that are the same on every machine: splitmix64 over counters, nothing else.

No library's generator or distribution takes part, since those change between versions and platforms; what looks
Gaussian is a sum of uniform integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15


def mix(word: int) -> int:
    """splitmix64's finaliser: a bijection of the 64-bit integers in which every output bit needs every input bit."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
    return word ^ (word >> 31)


def _mix_all(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`mix` of every element; numpy's multiplication of uint64 arrays wraps by itself. Works in place."""
    words ^= words >> np.uint64(30)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words


@dataclass(frozen=True)
class Stream:
    """Random arrays of one seed. Different lanes of a stream are independent; the same lane is the same numbers."""

    seed: int

    def words(self, lane: int, count: int) -> NDArray[np.uint64]:
        """uint64 [count]: word i is mix(start + (i + 1) * gamma), where seed and lane choose the start."""
        start = mix((mix(self.seed) + lane) & _MASK)
        return _mix_all(np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_GAMMA) + np.uint64(start))

    def below(self, lane: int, count: int, bound: int) -> NDArray[np.int64]:
        """int64 [count], each from 0 to bound - 1. (The bias of a remainder does no harm here.)"""
        return (self.words(lane, count) % np.uint64(bound)).astype(np.int64)

    def normal(self, lane: int, count: int, scale: float) -> NDArray[np.float32]:
        """float32 [count], nearly Gaussian with deviation `scale`: twelve uniform 21-bit integers added.

        Their sum has deviation 2**21 to 12 digits. It is an exact integer, multiplied once and rounded once.
        """
        words = self.words(lane, 4 * count).reshape(4, count)
        third = np.uint64((1 << 21) - 1)
        total = sum(((words >> np.uint64(shift)) & third).sum(axis=0) for shift in (0, 21, 42))
        centred = np.asarray(total, dtype=np.uint64).astype(np.int64) - 6 * ((1 << 21) - 1)
        return (centred.astype(np.float64) * (scale / (1 << 21))).astype(np.float32)

    def shuffled(self, lane: int, values: NDArray[np.generic]) -> NDArray[np.generic]:
        """The values in random order."""
        return values[np.argsort(self.words(lane, len(values)), kind="stable")]


class Seeded:
    """Choices made from a seed, one counter value each: what `qrita check` draws recipes with, without hypothesis."""

    def __init__(self, seed: int) -> None:
        self._start = mix(seed & _MASK)
        self._drawn = 0

    def integer(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""
        self._drawn += 1
        return low + mix((self._start + self._drawn * _GAMMA) & _MASK) % (high - low + 1)

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.integer(0, len(options) - 1)]
