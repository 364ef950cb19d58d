"""How often truncation by sigma hits: what lies above the threshold settles the row, for a k or a p."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from qrita import arguments, device
from qrita.bench.ablation.launching import floors, states
from qrita.bench.jobs import REAL_VOCAB, Job
from qrita.bench.results import Hits
from qrita.bench.rows import make
from qrita.kernels.select import MISSED
from qrita.plan import Plan, choose
from qrita.records import Problem

CASES: tuple[tuple[int | None, float | None], ...] = (
    (1, None),
    (50, None),
    (1000, None),
    (None, 0.5),
    (None, 0.9),
    (None, 0.99),
)
ROOMS: tuple[int | None, ...] = (2048, 8192, None)
"""Tokens above the threshold that there is room for: more are a miss. The first is what the plan table has; None is
room for all above the threshold of the first, as in the paper, whose buffers are as long as the vocabulary."""

REAL_ROWS = 8
"""All that travel with the package."""


def jobs(normal_rows: int) -> Iterator[Job]:
    """Whose rows are looked at."""
    for k, p in CASES:
        yield Job(REAL_ROWS, REAL_VOCAB, "bfloat16", "real", k, p)
    for k, p in CASES:
        yield Job(normal_rows, 128_256, k=k, p=p)


def count(job: Job, where: torch.device | str, room: int | None) -> Hits:
    """Launch truncation and selection, and count the rows that have a record. With room for all there is no selection:
    then truncation is launched, and torch looks at what reaches its threshold.
    """
    problem = arguments.problem(make(job, where, 0), job.k, job.p)
    if room is None:
        hit = low_enough(problem, floors(problem, plan_with(ROOMS[0] or 1, problem)), job)
    else:
        hit = states(problem, plan_with(room, problem)) != MISSED.value
    return Hits(job, room, int(hit.sum()))


def low_enough(problem: Problem, floors: Tensor, job: Job) -> Tensor:
    """bool [rows], whether k tokens reach the threshold, or tokens of together p (in float64: this decides nothing)."""
    logits = problem.logits.double()
    reach = logits >= (floors ^ ((floors >> 31) & 0x7FFFFFFF)).view(torch.float32).double()[:, None]
    if job.k is not None:
        return reach.sum(dim=1) >= job.k
    return (logits.softmax(dim=1) * reach).sum(dim=1) >= (job.p or 0.0)


def plan_with(room: int, problem: Problem) -> Plan:
    """A plan that does not depend on the card, since more programs a row have less room each: that of 1,024 rows."""
    plan = choose(problem, device.of(problem.logits.device))
    return replace(plan, truncation="sigma", hold=room, splits=16, tile=1024)
