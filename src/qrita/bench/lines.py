"""Cost as a line: a fixed time and a speed, fitted to times of equal work on more and more bytes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from qrita.bench.jobs import Job
from qrita.bench.results import Result

LEAST = 3
"""Sizes that a line needs: two would lie on it whatever they are."""

PASSES: Mapping[str, int] = {"copy": 2, "read": 1, "fill": 1, "mask": 2, "candidates": 1}
"""How often each logit's bytes have to cross the bus at least: a mask is read and written, a list only read."""

FLOOR = {"mask": "copy", "candidates": "read"}
"""The floor that moves as many bytes."""

Along = Literal["rows", "vocab"]


@dataclass(frozen=True)
class Line:
    """time = fixed + bytes / speed, where bytes are those that have to cross the bus at least.

    Attributes:
        fixed: microseconds, at least 0.
        speed: bytes a microsecond, of which a million are a TB/s; infinite where the times do not grow.
        deviation: the largest distance of a time from the line, as a share of the time.
        sizes: how many there were.
    """

    fixed: float
    speed: float
    deviation: float
    sizes: int

    def micros(self, size: float) -> float:
        """The time of so many bytes."""
        return self.fixed + size / self.speed


@dataclass(frozen=True)
class Scaling:
    """A contender's line, beside that of its floor.

    Attributes:
        first, last: the smallest and the largest of the jobs that were fitted.
        along: "rows" at a fixed vocabulary, or "vocab" at a fixed number of rows.
        contender: of ours.
        line: its own.
        floor: of `FLOOR`, on the same sizes; None where it has too few of them.
    """

    first: Job
    last: Job
    along: Along
    contender: str
    line: Line
    floor: Line | None


def fit(sizes: Sequence[float], micros: Sequence[float]) -> Line | None:
    """The line with the least squares of relative errors; None for fewer than `LEAST` different sizes.

    Relative, so that the largest size does not decide alone. Where the best line has a negative fixed time, or falls,
    the best of those that have none, or are level, is taken: neither can be.

    Args:
        sizes: bytes, above 0.
        micros: a time for each, above 0.
    """
    if len({*sizes}) < LEAST:
        return None
    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(micros, dtype=np.float64)
    ones, slopes = 1.0 / y, x / y  # of the relative time, which should be 1
    fixed, cost = np.linalg.lstsq(np.stack([ones, slopes * 1e-6], axis=1), np.ones_like(y), rcond=None)[0]
    cost *= 1e-6  # bytes are many: in millions of them the columns are of one size
    if fixed < 0.0:
        fixed, cost = 0.0, slopes.sum() / (slopes @ slopes)
    elif cost <= 0.0:
        fixed, cost = ones.sum() / (ones @ ones), 0.0
    deviation = float(np.abs((fixed + cost * x) / y - 1.0).max())
    return Line(float(fixed), float(1.0 / cost) if cost > 0.0 else float("inf"), deviation, len({*sizes}))


def scalings(results: Mapping[Job, Result]) -> Iterator[Scaling]:
    """The line of each of ours in every set of jobs that differ in their rows alone, or in their vocabulary alone."""
    for along in ("rows", "vocab"):
        for jobs in _sets(results, along):
            for contender, floor in FLOOR.items():
                timed = [job for job in jobs if contender in results[job].times]
                line = _line(timed, contender, results)
                if line is not None:
                    yield Scaling(timed[0], timed[-1], along, contender, line, _line(timed, floor, results))


def _sets(results: Mapping[Job, Result], along: Along) -> list[list[Job]]:
    """Jobs that are equal but for that, the smallest first."""
    found: dict[tuple[object, ...], list[Job]] = {}
    for job in sorted(results, key=lambda job: job.bytes):
        fixed = job.vocab if along == "rows" else job.rows
        found.setdefault((fixed, job.dtype, job.family, job.k, job.p), []).append(job)
    return [*found.values()]


def _line(jobs: Sequence[Job], contender: str, results: Mapping[Job, Result]) -> Line | None:
    timed = [job for job in jobs if contender in results[job].times]
    sizes = [float(job.bytes * PASSES[contender]) for job in timed]
    return fit(sizes, [results[job].times[contender].micros for job in timed])
