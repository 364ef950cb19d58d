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
        groups: groups that a row may have, a power of two, at least 32; tokens in a row are at most group * groups.
        keep: groups that are gathered, a power of two: top-k up to `keep` never misses.
        survivors: tokens of those groups that are settled, a power of two, at least `keep`.
        sample, hold: tokens that a threshold or a bracket is guessed from, and that may lie above it, or inside.
        bracket: whether cuts deep in a row, which groups cannot hold, are looked for in a bracket before whole rows are
            searched.
        tile: tokens that a program reads at a time where it streams a row to truncate or to emit.
        row_tile: the same where one program searches a whole row.
        warps, select_warps, bracket_warps, settle_warps, row_warps: warps of the streaming kernels, of those that pick
            groups, that look for brackets and in them, that settle few tokens, and that search whole rows.
        splits: programs that share a row where it is streamed.
        programs, row_programs: the size of the persistent grids, which walk over rows; of those that search whole rows.
        origin: whether the plan was measured on such a card or derived from another's.
    """

    truncation: str
    group: int
    groups: int
    keep: int
    survivors: int
    sample: int
    hold: int
    bracket: bool
    tile: int
    row_tile: int
    warps: int
    select_warps: int
    bracket_warps: int
    settle_warps: int
    row_warps: int
    splits: int
    programs: int
    row_programs: int
    origin: str

    def __post_init__(self) -> None:
        """Refuse what no kernel can run.

        Raises:
            ValueError: names the field.
        """
        warps = ("warps", "select_warps", "bracket_warps", "settle_warps", "row_warps")
        for name in ("group", "groups", "keep", "survivors", "sample", "hold", "tile", "row_tile", *warps):
            value = getattr(self, name)
            if value < 1 or value & (value - 1):
                raise ValueError(f"plan: {name}={value}: expected a power of two")
        limits = (("keep", 2, MAX_GROUPS), ("groups", 32, MAX_GROUPS), ("sample", 32, 2**20), ("splits", 1, MAX_SPLITS))
        for name, low, high in (*limits, ("programs", 1, 2**31 - 1), ("row_programs", 1, 2**31 - 1)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"plan: {name}={value}: expected {low} to {high}")
        if self.truncation not in TRUNCATIONS:
            raise ValueError(f"plan: truncation={self.truncation!r}: expected one of {', '.join(TRUNCATIONS)}")
        if not self.keep <= self.survivors <= self.keep * self.group:
            raise ValueError(
                f"plan: survivors={self.survivors}, keep={self.keep}, group={self.group}: expected at least as many "
                "survivors as groups kept, and at most their tokens"
            )
        if self.tile < 8 * self.group or self.hold < self.splits:
            raise ValueError(
                f"plan: tile={self.tile}, group={self.group}, hold={self.hold}, splits={self.splits}: expected tiles "
                "of 8 groups or more, and a slot to hold for each split"
            )


def choose(problem: Problem, device: Device) -> Plan:
    """The plan for a problem on a device. Pure: equal shapes and an equal k give equal plans.

    The figures behind it were measured on an H200 with torch 2.11 and Triton 3.6: docs/performance.md.
    """
    rows, vocab = problem.rows, problem.vocab
    measured = device.architecture == "sm_90"
    short = vocab <= 32 * 4096
    few = short and isinstance(problem.k, int) and problem.k <= 56
    tile = 1024  # of 1024, 2048 and 4096, for the streaming kernels; 512 with 2 warps is as good
    # Of 1024 rows, k = 50 took 326 us with 16 programs a row and 333 with 8; p = 0.9 996, 913, and 898 with 4.
    wanted = (16 if few else 4) if rows >= 4 * device.multiprocessors else 8
    # Of 64 rows with k = 1000, 32,000 tokens each, 60 us with 17 programs a row and 53 with 8.
    splits = max(wanted, -(-(8 if few else 4) * device.multiprocessors // rows))
    return Plan(
        truncation="groups" if few or 2048 < vocab <= 64 * 8192 else "none",
        group=32 if short else 64,
        groups=4096 if short else 8192,
        keep=64 if few else 128,
        survivors=128 if few else 256,
        sample=2048,
        hold=2048,
        bracket=True,
        tile=tile,
        row_tile=1024,
        warps=_warps(4, device),
        select_warps=_warps(8, device),
        # 913 us against 994 on an H200; with 4, newer architectures would spill.
        bracket_warps=_warps(4 if device.architecture in ("sm_80", "sm_89", "sm_90") else 8, device),
        settle_warps=1,
        row_warps=_warps(8, device),
        splits=max(1, min(MAX_SPLITS, splits, -(-vocab // tile))),
        programs=16 * device.multiprocessors,
        row_programs=2 * device.multiprocessors,
        origin="measured" if measured else "derived from figures of sm_90, not measured",
    )


def forced(problem: Problem, device: Device) -> dict[str, Plan]:
    """Plans that differ from the chosen one in every way that a plan can, for tests. The answer may not change."""
    plan, vocab = choose(problem, device), problem.vocab
    grouped = replace(plan, truncation="groups" if vocab <= plan.group * plan.groups else "none")
    fine = 16 if vocab <= 16 * plan.groups else plan.group
    return {
        "chosen": plan,
        "groups": grouped,
        "sigma": replace(plan, truncation="sigma"),
        "none": replace(plan, truncation="none"),
        "no bracket": replace(grouped, bracket=False),
        "small bracket": replace(grouped, keep=2, survivors=4, hold=64, sample=64, splits=2),
        "narrow": replace(grouped, group=fine, keep=16, survivors=16, tile=512, row_tile=256),
        "one program a row": replace(grouped, splits=1),
        "many programs a row": replace(grouped, splits=MAX_SPLITS),
        "one program for all rows": replace(grouped, programs=1, row_programs=1),
    }


def reachable(device: Device) -> list[tuple[Plan, int | None]]:
    """A plan for every set of kernels that `choose` can lead to on a device, with a k that leads there.

    This is what a warm-up has to compile.
    """
    plans = {}
    for vocab in (2049, 32 * 4096 + 1):  # without truncation, the kernels are those of the fallback
        for k in (1, None):
            plan = choose(Problem(torch.empty((1, vocab), device="meta"), k, None), device)
            plans[replace(plan, splits=1, programs=1, row_programs=1)] = k
    return list(plans.items())


def _warps(wanted: int, device: Device) -> int:
    """`wanted` warps of 32, as waves of the device's width, within the threads that a program may have."""
    return max(1, min(wanted * 32, MAX_THREADS) // device.wave)
