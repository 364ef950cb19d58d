"""Which way a case takes through an engine that has plans, as far as the plan and the oracle's answer tell."""

from __future__ import annotations

from qrita import arguments
from qrita.records import Problem
from qrita.testing.building import Case
from qrita.testing.subjects import Subject


def paths(subject: Subject, case: Case) -> tuple[str, ...]:
    """How the row is truncated, whether that hits for certain, and whether programs share it; () without plans.

    Where a hit hangs on the logits, only the device knows, and the path is called "hit or miss".
    """
    plan_for = getattr(subject.engine, "plan_for", None)
    if plan_for is None:
        return ()
    problem: Problem = arguments.problem(subject.put(case.logits)[None], case.k, case.p)
    plan = plan_for(problem)
    if plan.truncation == "none":
        fate = "whole row"
    elif plan.truncation == "sigma":
        fate = "hit or miss"
    elif isinstance(problem.k, int) and problem.k <= plan.keep:
        fate = "hit by k"
    elif case.vocab <= plan.survivors:
        fate = "hit, every token kept"
    elif isinstance(problem.k, int):
        fate = "miss: bracket or fallback" if plan.bracket else "miss: fallback"
    else:
        fate = "hit or miss"
    return f"path: {plan.truncation}, {fate}", "path: split" if plan.splits > 1 else "path: one program a row"
