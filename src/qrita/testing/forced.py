"""The kernel engine held to one kind of plan, whatever the problem: the answer may not change."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from qrita import device as devices
from qrita import plan as plans
from qrita.pipeline import KernelEngine
from qrita.plan import Plan
from qrita.records import Problem


def plans_of(problem: Problem) -> dict[str, Plan]:
    """Every plan that can be forced on a problem, by a name without spaces."""
    forced = plans.forced(problem, devices.of(problem.logits.device))
    return {name.replace(" ", "-"): plan for name, plan in forced.items()}


def names() -> list[str]:
    """The names of the plans."""
    return list(plans_of(Problem(torch.zeros((1, 1)), None, None)))


@dataclass(frozen=True)
class ForcedEngine(KernelEngine):
    """The kernels with the plan of a name.

    Attributes:
        forced: one of `names()`.
    """

    forced: str = "chosen"

    def plan_for(self, problem: Problem) -> Plan:
        """The plan of that name for a problem."""
        return plans_of(problem)[self.forced]
