"""The runs: which parts each has, what the paper measured, and the plan that it takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from qrita.bench.jobs import Job
from qrita.device import Device
from qrita.plan import Plan, choose
from qrita.records import Problem

JOB = Job(1024, 128_256, k=50, p=0.9)
"""The paper's shape."""

ROOM = 2048
"""Tokens that may lie above the threshold of sigma."""

BLOCK = 2048
"""Tokens that every kernel of a run with fixed blocks works on at a time."""

Truncation = Literal["hit", "miss", "none", "groups"]
Search = Literal["three pivots", "one pivot", "sort"]
By = Literal["package", "bench", "torch"]


@dataclass(frozen=True)
class Run:
    """One line of the table.

    Attributes:
        name: a letter of the paper's, or a name of ours.
        truncation: "hit" and "miss" of sigma, "none", or "groups", which is the package's default.
        search: what finds the cut.
        duplicates: whether equal tokens at the cut are told apart by their index. Without it a run is not exact.
        tuned: whether blocks are those of the plan table, or one for all kernels.
        by: whose kernels: the package's, as a plan can have them; the bench's own; torch's.
        paper: milliseconds on an H100; None where the paper has no such run.
        about: what else there is to say.
    """

    name: str
    truncation: Truncation
    search: Search
    duplicates: bool
    tuned: bool
    by: By
    paper: float | None = None
    about: str = ""

    @property
    def exact(self) -> bool:
        """Whether it gives the mask that the semantics define: sorting by key and index settles duplicates too."""
        return self.by != "torch" and (self.duplicates or self.search == "sort")

    @property
    def kind(self) -> str:
        """What it promises, in words."""
        if self.by == "torch":
            return "float sums"
        return "exact" if self.exact else "NOT EXACT"

    @property
    def words(self) -> str:
        """The run in a line."""
        blocks = "tuned" if self.tuned else "fixed"
        duplicates = "on" if self.duplicates else "off"
        parts = [f"truncation {self.truncation}", self.search, f"duplicates {duplicates}", f"{blocks} blocks"]
        if self.by == "torch":
            parts = ["torch.sort of whole rows, softmax and cumsum in float32"]
        return ", ".join([*parts, f"by {self.by}", self.kind, *filter(None, [self.about])])


RUNS = (
    Run("A", "hit", "three pivots", True, True, "package", 0.919),
    Run("B", "hit", "three pivots", True, False, "package", 1.354),
    Run("C", "hit", "three pivots", False, False, "bench", 1.308),
    Run("D", "miss", "three pivots", False, False, "bench", 5.373),
    Run("E", "none", "three pivots", False, False, "bench", 4.931),
    Run("F", "hit", "one pivot", False, False, "bench", 1.281),
    Run("G", "miss", "one pivot", False, False, "bench", 7.773),
    Run("I", "hit", "sort", False, False, "bench", 2.099, "the order has the index in it, so duplicates cost nothing"),
    Run("J", "none", "sort", True, False, "torch", 16.487),
    Run("B-bench", "hit", "three pivots", True, False, "bench", None, "B by the kernels of C to I: their control"),
    Run("miss", "miss", "three pivots", True, True, "package", None, "the package's fallback, which samples first"),
    Run("none", "none", "three pivots", True, True, "package", None, "the same for every row"),
    Run("groups", "groups", "three pivots", True, True, "package", None, "the package's default"),
)
"""The paper has no run H."""


def plan_of(run: Run, problem: Problem, device: Device) -> Plan:
    """The plan of a run that is not torch's.

    A miss is forced by a plan that has room for one token above the threshold a split, where hundreds are expected.
    """
    plan = replace(choose(problem, device), hold=ROOM)
    if not run.tuned:
        plan = fixed(plan, problem)
    if run.truncation == "groups":
        return replace(plan, truncation="groups")
    if run.truncation == "none":
        return replace(plan, truncation="none")
    if run.truncation == "miss":
        plan = replace(plan, hold=1 << (plan.splits - 1).bit_length())
    return replace(plan, truncation="sigma")


def fixed(plan: Plan, problem: Problem) -> Plan:
    """A plan with one block for every kernel: BLOCK tokens, and the warps of selection, 8 of 32 threads."""
    return replace(
        plan,
        tile=BLOCK,
        row_tile=BLOCK,
        hold=BLOCK,
        warps=plan.select_warps,
        row_warps=plan.select_warps,
        splits=min(plan.splits, -(-problem.vocab // BLOCK)),
    )
