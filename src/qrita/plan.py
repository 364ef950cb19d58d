"""How a problem is laid out on a device. A plan changes the time that an answer takes, never the answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from qrita.device import MAX_THREADS, Device
from qrita.records import Problem

MAX_SPLITS = 64
"""Programs that may share a row in the kernels that stream it."""

MAX_GROUPS = 16384
"""Groups of a row that selection can count: two counts share a word of its scan."""

TRUNCATIONS = ("groups", "sigma", "none")

LIST_IN_KERNEL = 2048
"""Candidate slots up to which the kernels order the list; above it torch's sort does."""


@dataclass(frozen=True)
class Plan:
    """One layout.

    Attributes:
        truncation: "groups" (maxima of groups of tokens), "sigma" (a threshold guessed from a sample) or "none".
        group: tokens in a group.
        groups: groups that a row may have, a power of two; tokens in a row are at most group * groups.
        keep: groups that are gathered, a power of two: top-k up to `keep` never misses.
        sample, hold: tokens that a threshold or a bracket is guessed from, and that may lie above it, or inside.
        bracket: whether cuts deep in a row, which groups cannot hold, are looked for in a bracket before whole rows are
            searched.
        tile: tokens that a program reads at a time where it streams a row to truncate or to emit.
        row_tile: the same where one program searches a whole row.
        warps, select_warps, row_warps: warps of the streaming kernels, of selection from candidates, and from rows.
        splits: programs that share a row where it is streamed.
        programs: the size of the persistent grids, which walk over rows.
        origin: whether the plan was measured on such a card or derived from another's.
    """

    truncation: str
    group: int
    groups: int
    keep: int
    sample: int
    hold: int
    bracket: bool
    tile: int
    row_tile: int
    warps: int
    select_warps: int
    row_warps: int
    splits: int
    programs: int
    origin: str

    def __post_init__(self) -> None:
        """Refuse what no kernel can run.

        Raises:
            ValueError: names the field.
        """
        powers = ("group", "groups", "keep", "sample", "hold", "tile", "row_tile", "warps", "select_warps", "row_warps")
        for name in powers:
            value = getattr(self, name)
            if value < 1 or value & (value - 1):
                raise ValueError(f"plan: {name}={value}: expected a power of two")
        limits = (("keep", 2, MAX_GROUPS), ("groups", 1, MAX_GROUPS), ("sample", 32, 2**20), ("splits", 1, MAX_SPLITS))
        for name, low, high in (*limits, ("programs", 1, 2**31 - 1)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"plan: {name}={value}: expected {low} to {high}")
        if self.truncation not in TRUNCATIONS:
            raise ValueError(f"plan: truncation={self.truncation!r}: expected one of {', '.join(TRUNCATIONS)}")
        if self.tile % self.group or self.hold < self.splits:
            raise ValueError(
                f"plan: tile={self.tile}, group={self.group}, hold={self.hold}, splits={self.splits}: expected tiles "
                "of whole groups, and a slot to hold for each split"
            )


def choose(problem: Problem, device: Device) -> Plan:
    """The plan for a problem on a device. Pure: equal shapes and an equal k give equal plans.

    The figures behind it were measured on an H200 with torch 2.11 and Triton 3.6: docs/performance.md.
    """
    rows, vocab = problem.rows, problem.vocab
    short = vocab <= 32 * 4096
    # Of 1024 rows, selection took 161 us with 64 groups kept and 4 warps, 244 us with 128 and 8.
    few = short and isinstance(problem.k, int) and problem.k <= 56
    tile = 1024  # of 1024, 2048 and 4096, for the streaming kernels; 512 with 2 warps is as good
    splits = 8 if rows >= device.multiprocessors else -(-8 * device.multiprocessors // rows)
    return Plan(
        truncation="groups" if vocab <= 64 * 8192 else "none",
        group=32 if short else 64,
        groups=4096 if short else 8192,
        keep=64 if few else 128,
        sample=2048,
        hold=2048,
        bracket=True,
        tile=tile,
        row_tile=2048,
        warps=_warps(4, device),
        select_warps=_warps(4 if few else 8, device),
        row_warps=_warps(16, device),
        splits=max(1, min(MAX_SPLITS, splits, -(-vocab // tile))),
        programs=16 * device.multiprocessors,
        origin="measured" if device.architecture == "sm_90" else "derived from figures of sm_90, not measured",
    )


def forced(problem: Problem, device: Device) -> dict[str, Plan]:
    """Plans that differ from the chosen one in every way that a plan can, for tests. The answer may not change."""
    plan, vocab = choose(problem, device), problem.vocab
    return {
        "chosen": plan,
        "sigma": replace(plan, truncation="sigma"),
        "none": replace(plan, truncation="none"),
        "no bracket": replace(plan, bracket=False),
        "small bracket": replace(plan, keep=2, hold=64, sample=64, splits=2),
        "narrow": replace(plan, group=16 if vocab <= 16 * plan.groups else plan.group, keep=16, tile=512, row_tile=256),
        "one program a row": replace(plan, splits=1),
        "many programs a row": replace(plan, splits=MAX_SPLITS),
        "one program for all rows": replace(plan, programs=1),
    }


def reachable(device: Device) -> list[Plan]:
    """A plan for every set of kernels that `choose` can lead to on a device: what a warm-up has to compile."""
    plans = {}
    for vocab in (1, 32 * 4096 + 1):  # without truncation, the kernels are those of the fallback
        for k in (1, None):
            plan = choose(Problem(torch.empty((1, vocab), device="meta"), k, None), device)
            plans[replace(plan, splits=1, programs=1)] = plan
    return list(plans.values())


def _warps(wanted: int, device: Device) -> int:
    """`wanted` warps of 32, as waves of the device's width, within the threads that a program may have."""
    return max(1, min(wanted * 32, MAX_THREADS) // device.wave)
