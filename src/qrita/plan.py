"""How a problem is laid out on a device. A plan changes the time that an answer takes, never the answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from qrita import entries
from qrita.device import MAX_THREADS, Device
from qrita.records import Problem
from qrita.tuning import Tuning

MAX_SPLITS = 64
"""Programs that may share a row in the kernels that stream it."""

MAX_GROUPS = 16384
"""Groups of a row that selection can count, and tokens of those that it keeps: two counts share a word of 32 bits."""

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
            groups, that look for brackets and in them, that settle few tokens or say where brackets lie, and that
            search whole rows.
        splits: programs that share a row where it is streamed; of the mask more may, if the row is long.
        programs, row_programs: the size of the persistent grids, which walk over rows; of those that search whole rows.
        origin: on which card its figures were measured, or that they are derived from another's.
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
        if self.keep * self.group > MAX_GROUPS:
            raise ValueError(
                f"plan: keep={self.keep}, group={self.group}: expected at most {MAX_GROUPS} tokens in the groups kept"
            )
        if self.tile < 8 * self.group or self.hold < self.splits:
            raise ValueError(
                f"plan: tile={self.tile}, group={self.group}, hold={self.hold}, splits={self.splits}: expected tiles "
                "of 8 groups or more, and a slot to hold for each split"
            )


def choose(problem: Problem, device: Device, figures: Tuning | None = None) -> Plan:
    """The plan for a problem on a device. Pure: equal shapes, an equal k and equal figures give equal plans.

    Args:
        problem: what is asked.
        device: where.
        figures: to make the plan from; None takes those in force for the device (`qrita.entries`).
    """
    tuned, origin = entries.in_force(device) if figures is None else (figures, "of figures that are tried")
    rows, vocab = problem.rows, problem.vocab
    short = vocab <= 32 * 4096
    few = short and isinstance(problem.k, int) and problem.k <= 56
    many = rows >= tuned.many_rows * device.multiprocessors
    wanted = tuned.small_k_splits if few else tuned.many_rows_splits if many else tuned.few_rows_splits
    splits = max(wanted, -(-tuned.streaming * device.multiprocessors // rows))
    return Plan(
        truncation="groups" if few or 2048 < vocab <= 64 * 8192 else "none",
        group=32 if short else 64,
        groups=2048 if vocab <= 32 * 2048 else 4096 if short else 8192,
        keep=64 if few else 128,
        survivors=128 if few else 256,
        sample=tuned.sample,
        hold=1024,
        bracket=True,
        tile=tuned.tile,
        row_tile=tuned.row_tile,
        warps=_warps(tuned.warps, device),
        select_warps=_warps(tuned.select_warps, device),
        bracket_warps=_warps(tuned.bracket_warps, device),
        settle_warps=_warps(tuned.settle_warps, device),
        row_warps=_warps(tuned.row_warps, device),
        splits=max(1, min(MAX_SPLITS, splits, -(-vocab // tuned.tile))),
        programs=tuned.programs * device.multiprocessors,
        row_programs=tuned.row_programs * device.multiprocessors,
        origin=origin,
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
    for vocab in (2049, 32 * 2048 + 1, 32 * 4096 + 1):  # without truncation, the kernels are those of the fallback
        for k in (1, None):
            plan = choose(Problem(torch.empty((1, vocab), device="meta"), k, None), device)
            plans[replace(plan, splits=1, programs=1, row_programs=1)] = k
    return list(plans.items())


def _warps(wanted: int, device: Device) -> int:
    """`wanted` warps of 32, as waves of the device's width, within the threads that a program may have."""
    return max(1, min(wanted * 32, MAX_THREADS) // device.wave)
