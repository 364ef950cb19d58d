"""What a timer is given, and what it gives back."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Bound:
    """A contender bound to its inputs.

    Attributes:
        call: does the work on the input of a number, counted modulo how many there are.
        inputs: how many there are.
        restore: gives the inputs back their bits; None where no call writes to them. It is never timed.
    """

    call: Callable[[int], object]
    inputs: int
    restore: Callable[[], None] | None = None


@dataclass(frozen=True)
class Timed:
    """What one contender took.

    Attributes:
        micros: the median of the repeats, in microseconds a call.
        low, high: the tenth and the ninetieth percentile.
        repeats: how often `calls` calls were timed.
        calls: calls between two events.
        graph: whether they were replayed from a graph; if not, launching them is part of the time.
        extra_bytes: the peak of memory allocated during a call, beyond inputs and what `out` names; None if unknown.
    """

    micros: float
    low: float
    high: float
    repeats: int
    calls: int
    graph: bool
    extra_bytes: int | None = None

    @classmethod
    def of(cls, micros: Sequence[float], *, calls: int, graph: bool, extra_bytes: int | None = None) -> Timed:
        """The summary of repeats, at least one."""
        low, high = percentile(micros, 0.1), percentile(micros, 0.9)
        return cls(statistics.median(micros), low, high, len(micros), calls, graph, extra_bytes)


class Timer(Protocol):
    """Times contenders, which take turns."""

    def time(self, bound: Mapping[str, Bound], repeats: int) -> dict[str, Timed | str]:
        """Each contender's time, or why it has none."""


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which that share lies, by the nearest rank."""
    return sorted(values)[round(share * (len(values) - 1))]


def calls_for(micros: float, inputs: int, writes: bool) -> int:
    """How many calls go between two events: about 2 ms of them, at least 2.

    Where calls write to their inputs, each has an input of its own.
    """
    calls = max(2, min(40, round(2000.0 / max(micros, 1.0))))
    return min(calls, inputs) if writes else calls
