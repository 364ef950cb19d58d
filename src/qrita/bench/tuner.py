"""Which figures suit a card: one after the other is changed, and a change stays where it wins twice.

Nothing here touches a GPU: what is measured comes from a function that the caller gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from qrita import plan as plans
from qrita.bench.jobs import Job
from qrita.bench.results import Result
from qrita.device import Device
from qrita.plan import Plan
from qrita.records import Problem
from qrita.tuning import Tuning

NOISE = 0.02
"""A share of the time: what differs by less is equal."""

FIELDS: Mapping[str, tuple[int, ...]] = {
    "tile": (512, 1024, 2048, 4096),
    "warps": (2, 4, 8),
    "small_k_splits": (4, 8, 16, 32),
    "many_rows_splits": (2, 4, 8, 16),
    "few_rows_splits": (4, 8, 16, 32),
    "many_rows": (1, 2, 4, 8),
    "streaming": (2, 4, 8, 16),
    "select_warps": (4, 8, 16),
    "bracket_warps": (2, 4, 8),
    "settle_warps": (1, 2, 4),
    "sample": (1024, 2048, 4096),
    "programs": (8, 16, 32),
    "row_tile": (512, 1024, 2048),
    "row_warps": (4, 8, 16),
    "row_programs": (1, 2, 4),
}
"""The figures in the order in which they are tried, and the values that each is given."""

JOBS = (
    *(Job(rows, 128_256, k=k, p=0.9) for rows in (1, 32, 384, 1024) for k in (50, None)),
    Job(64, 128_256, k=1000),
    *(Job(1024, 128_256, "bfloat16", k=k, p=0.9) for k in (50, None)),
)
"""What figures are compared on: few and many rows, with k and without, deep cuts, and half as many bytes."""

IN_USE = "in use"
"""The name of the figures that a change has to beat."""

DIFFERENT = "its answer has other bits than that of the figures in use"
"""Said of figures that may never win, and that show a bug."""

Measure = Callable[[Job, Mapping[str, Plan]], "Result | str"]
"""Times the plans of a job, which take turns; or says why it cannot."""


@dataclass(frozen=True)
class Trial:
    """One value of one figure.

    Attributes:
        value: what the figure was changed to.
        shares: the time of each job that the change touches, in units of that with the figures in use.
        failed: jobs that had no time, with the reason.
    """

    value: int
    shares: Mapping[Job, float]
    failed: Mapping[Job, str]

    @property
    def mean(self) -> float:
        """The geometric mean of the shares, of which there is one at least."""
        return math.exp(sum(map(math.log, self.shares.values())) / len(self.shares))

    @property
    def wins(self) -> bool:
        """Some job is faster by more than noise, none is slower by more, and it is faster on the whole."""
        some = self.shares.values()
        if self.failed or not some:
            return False
        return min(some) < 1.0 - NOISE and max(some) <= 1.0 + NOISE and self.mean < 1.0

    @property
    def different(self) -> bool:
        """Whether an answer was not that of the figures in use."""
        return any(DIFFERENT in reason for reason in self.failed.values())


@dataclass(frozen=True)
class Step:
    """What came of one figure.

    Attributes:
        field: its name.
        before: its value before.
        trials: the others.
        again: the best of them once more; None where none won.
        kept: whether that one won again, on the same jobs.
        figures: after it.
        failed: jobs on which the figures in use had no time, with the reason.
    """

    field: str
    before: int
    trials: tuple[Trial, ...]
    again: Trial | None
    kept: bool
    figures: Tuning
    failed: Mapping[Job, str]

    def verdict(self, trial: Trial) -> str:
        """What became of a value, in words."""
        if trial.different:
            return "OTHER BITS"
        if trial.failed:
            return "NOT RUN"
        if not trial.shares:
            return "not compared"  # no job could be measured, or none has another plan
        if not trial.wins:
            return "slower" if max(trial.shares.values()) > 1.0 + NOISE else "not faster"
        if self.again is None or trial.value != self.again.value:
            return "another is faster"
        return "kept" if self.kept else "won once, not twice"


def steps(
    fields: Sequence[str],
    start: Tuning,
    device: Device,
    measure: Measure,
    over: Callable[[], bool] = lambda: False,
    jobs: Sequence[Job] = JOBS,
) -> Iterator[Step]:
    """Try the figures in turn, each from where the one before ended; until `over` says that time is up."""
    figures = start
    for field in fields:
        found = _step(field, figures, device, measure, over, jobs)
        if found is None:
            return
        figures = found.figures
        yield found


def _step(
    field: str, now: Tuning, device: Device, measure: Measure, over: Callable[[], bool], jobs: Sequence[Job]
) -> Step | None:
    """One figure; None where time was up before every value was tried on every job."""
    before: int = getattr(now, field)
    failed: dict[Job, str] = {}
    values = [value for value in FIELDS[field] if value != before]
    trials = _trials(field, now, values, device, measure, over, jobs, failed)
    if trials is None:
        return None
    winners = sorted((trial for trial in trials if trial.wins), key=lambda trial: trial.mean)
    if not winners:
        return Step(field, before, trials, None, False, now, failed)
    best = winners[0]
    once_more = _trials(field, now, [best.value], device, measure, over, [*best.shares], failed)
    if once_more is None:
        return None
    (again,) = once_more
    kept = again.wins and {*again.shares} == {*best.shares}
    return Step(field, before, trials, again, kept, replace(now, **{field: best.value}) if kept else now, failed)


def _trials(
    field: str,
    now: Tuning,
    values: Collection[int],
    device: Device,
    measure: Measure,
    over: Callable[[], bool],
    jobs: Sequence[Job],
    failed: dict[Job, str],
) -> tuple[Trial, ...] | None:
    """Each value of a figure on the jobs that it touches; None where time is up. Adds to `failed`."""
    shares: dict[int, dict[Job, float]] = {value: {} for value in values}
    reasons: dict[int, dict[Job, str]] = {value: {} for value in values}
    for job in jobs:
        current = _plan(job, device, now)
        others = {value: _plan(job, device, replace(now, **{field: value})) for value in values}
        others = {value: plan for value, plan in others.items() if plan != current}
        if not others:
            continue
        if over():
            return None
        result = measure(job, {IN_USE: current, **{f"{field} {value}": plan for value, plan in others.items()}})
        if isinstance(result, str) or IN_USE not in result.times:
            failed[job] = result if isinstance(result, str) else result.not_run.get(IN_USE, "it has no time")
            continue
        for value in others:
            share = result.share(f"{field} {value}", IN_USE)
            if share is None:
                reasons[value][job] = result.not_run.get(f"{field} {value}", "it has no time")
            else:
                shares[value][job] = share
    return tuple(Trial(value, shares[value], reasons[value]) for value in values)


def _plan(job: Job, device: Device, figures: Tuning) -> Plan:
    logits = torch.empty((job.rows, job.vocab), dtype=getattr(torch, job.dtype), device="meta")
    return plans.choose(Problem(logits, job.k, job.p), device, figures)
