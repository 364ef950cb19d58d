"""The kernel engine on a simulated AMD GPU."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from unittest import mock

from torch import Tensor

from amdsim import Options, Simulator, driver
from qrita import device as devices
from qrita import plan as plans
from qrita.device import Device
from qrita.pipeline import KernelEngine
from qrita.plan import Plan
from qrita.records import Candidates, Cuts, Problem

SEED = 20
"""Of the noise in registers and memory, and of the order in which programs and waves come."""

SHORT = 4096
"""The longest row that is answered by a small plan."""


_ONE_AT_A_TIME = threading.RLock()
"""Triton has one driver in a process: threads that launch have to take turns."""


@dataclass(frozen=True)
class SimulatedEngine(KernelEngine):
    """The kernels, compiled as a launch on the card compiles them, with their machine code executed on this CPU.

    Attributes:
        card: what the plan is chosen for.
        simulator: what executes: one for all calls, since it keeps what it prepared for a kernel.
    """

    card: Device = field(kw_only=True)
    simulator: Simulator = field(kw_only=True, compare=False, repr=False)

    def plan_for(self, problem: Problem) -> Plan:
        """The plan that the engine is held to, else a small one."""
        return self.plan or small(problem, self.card)

    def describe(self, problem: Problem) -> str:
        """The plan and where it comes from."""
        with mock.patch.object(devices, "of", return_value=self.card):
            return super().describe(problem)

    def cuts(self, problem: Problem) -> Cuts:
        """The cut of every row."""
        with self.simulated():
            return super().cuts(problem)

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        """Write the masked logits into `out`."""
        with self.simulated():
            super().mask(problem, mask_value, out)

    def candidates(self, problem: Problem, max_candidates: int) -> Candidates:
        """The kept tokens in order."""
        with self.simulated():
            return super().candidates(problem, max_candidates)

    @contextlib.contextmanager
    def simulated(self) -> Iterator[None]:
        """Kernels that are launched inside run on the card."""
        with _ONE_AT_A_TIME, driver.simulated(self.card.architecture, simulator=self.simulator):
            yield


def engine(name: str, card: Device) -> SimulatedEngine:
    """An engine with a simulator of its own."""
    return SimulatedEngine(name, card=card, simulator=Simulator(Options(seed=SEED)))


def small(problem: Problem, card: Device) -> Plan:
    """A plan with everything small, so that a short row has many groups and several splits, and misses."""
    if problem.vocab > SHORT:
        return plans.choose(problem, card)
    tile = 128
    return replace(
        plans.forced(problem, card)["narrow"],
        group=16,
        groups=SHORT // 16,
        sample=64,
        hold=128,
        tile=tile,
        row_tile=tile,
        warps=2,
        select_warps=2,
        row_warps=2,
        splits=-(-problem.vocab // tile),
        programs=3,
        origin="small, for a simulator",
    )
