"""The runs as contenders. Each is looked at before it is timed: whether it hits or misses, and whether it is exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from qrita import arguments, device
from qrita.bench.ablation.runs import RUNS, Run, plan_of
from qrita.bench.contenders import FLOORS, Contender, Kind, Setting, always
from qrita.bench.timing import Bound
from qrita.plan import Plan
from qrita.records import Problem

PEER = "torch-sort"
"""What run J is."""


class NotAsMeantError(RuntimeError):
    """A run is not what the table says that it is, so it has no time."""


def contenders(peers: Sequence[Contender]) -> tuple[Contender, ...]:
    """A copy, and the runs; J where torch-sort is among the peers."""
    found = [FLOORS[0]]
    for run in RUNS:
        if run.by == "torch":
            found += [replace(peer, name=run.name, about=run.words) for peer in peers if peer.name == PEER]
        else:
            kind: Kind = "ours" if run.by == "package" else "ablation"
            found.append(Contender(run.name, kind, run.words, always, _binding(run)))
    return tuple(found)


def _binding(run: Run) -> Callable[[Setting], Bound]:
    def bind(setting: Setting) -> Bound:
        from qrita.bench.ablation.launching import mask

        problems = [arguments.problem(logits, setting.job.k, setting.job.p) for logits in setting.inputs]
        plan = plan_of(run, problems[0], device.of(problems[0].logits.device))
        look(run, plan, problems[0])
        return Bound(
            lambda number: mask(run, plan, problems[number % len(problems)], setting.out(number)), len(problems)
        )

    return bind


def look(run: Run, plan: Plan, problem: Problem) -> None:
    """Try a run on one input.

    Raises:
        NotAsMeantError: rows hit that should miss, or the other way; or the mask of an exact run is not the package's.
    """
    from qrita.bench.ablation.launching import mask, states
    from qrita.kernels.select import MISSED
    from qrita.pipeline import KernelEngine

    if run.truncation in ("hit", "miss"):
        hits = int((states(problem, plan) != MISSED.value).sum())
        expected = problem.rows if run.truncation == "hit" else 0
        if hits != expected:
            raise NotAsMeantError(f"run {run.name}: {hits} of {problem.rows} rows hit; expected {expected}")
    if run.exact:
        ours, theirs = torch.empty_like(problem.logits), torch.empty_like(problem.logits)
        mask(run, plan, problem, ours)
        KernelEngine().mask(problem, -float("inf"), theirs)
        wrong = int((ours != theirs).any(dim=1).sum())
        if wrong:
            raise NotAsMeantError(f"run {run.name}: {wrong} of {problem.rows} masks are not the package's")
