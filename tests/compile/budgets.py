"""What each compiled kernel may take of a GPU, and what moved since that was written down.

No kernel may keep anything in memory for want of registers, whatever its budget says. AMD's spilled scalars go to lanes
of vector registers, so they are written down and nothing more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import occupancy
from launches import Variant
from machine_code import Needs

WRITE = "ci/tox -e compile -- --write-budgets"
"""The command that writes the budgets anew and shows what is different."""
TOLERANCE = 10
"""Percent that a figure may be above its budget, and below it before the budget is out of date."""


@dataclass(frozen=True)
class Figures:
    """What a compiled kernel takes: `machine_code.Needs`, and how many programs of it a multiprocessor then holds."""

    registers: int
    scalar_registers: int
    spills: int
    scalar_spills: int
    scratch: int
    shared: int
    occupancy: int


IN_MEMORY = ("spills", "scratch")
"""The figures that must be 0."""

Targets = Mapping[str, Mapping[str, Figures]]
"""Budgets of one version of Triton: architecture, then variant."""


@dataclass(frozen=True)
class Move:
    """A figure that is not what its budget says.

    Attributes:
        kernel, variant, target: whose it is.
        figure: its name; "all" where the variant itself is "new" or "gone".
        budget, found: what it may be, and is.
        verdict: "over" and "under" (occupancy) fail; "better" says that the budget is out of date; "moved" is neither.
    """

    kernel: str
    variant: str
    target: str
    figure: str
    budget: int | None
    found: int | None
    verdict: str

    @property
    def fails(self) -> bool:
        """Whether the gate closes."""
        return self.verdict in ("over", "under")


def figures(variant: Variant, needs: Needs) -> Figures:
    """What a variant takes of its architecture."""
    limits = occupancy.LIMITS[variant.architecture.name]
    return Figures(**dataclasses.asdict(needs), occupancy=occupancy.programs(limits, variant.warps, needs))


def allowed(found: Figures) -> Figures:
    """The budget for what was found: that, and nothing in memory."""
    return dataclasses.replace(found, **dict.fromkeys(IN_MEMORY, 0))


def moves(kernel: str, variant: str, target: str, budget: Figures | None, found: Figures) -> list[Move]:
    """Every figure that is not its budget; without a budget, those that are in memory."""
    name = kernel.rpartition(":")[2]
    before = dataclasses.asdict(allowed(found) if budget is None else budget)
    after = dataclasses.asdict(found)
    return [
        Move(name, variant, target, figure, before[figure], count, verdict(figure, before[figure], count))
        for figure, count in after.items()
        if before[figure] != count
    ]


def verdict(figure: str, budget: int, found: int) -> str:
    """What a figure that is not its budget comes to."""
    if figure in IN_MEMORY:
        return "over"
    if figure == "occupancy":
        return "under" if found < budget else "better"
    if figure == "scalar_spills":
        return "moved"
    if 100 * found > (100 + TOLERANCE) * budget:
        return "over"
    return "better" if 100 * found < (100 - TOLERANCE) * budget else "moved"


def sentences(found: list[Move]) -> list[str]:
    """Those that fail, in words that name kernel, variant, target and figure."""
    return [
        f"{move.variant} on {move.target}: {move.figure} of {move.kernel}: {move.found}, budget {move.budget}: "
        + (
            "it keeps in memory what registers do not hold: make its tile smaller, or its warps more"
            if move.figure in IN_MEMORY
            else f"make it smaller, or accept it: {WRITE}"
        )
        for move in found
        if move.fails
    ]


def mismatches(targets: Targets, target: str, variants: list[str]) -> list[str]:
    """Variants of an architecture without a budget, and budgets without a variant."""
    known = targets.get(target, {})
    without = [f"{name} on {target}: it has no budget: {WRITE}" for name in variants if name not in known]
    strange = [
        f"{name} on {target}: a budget of what no launch compiles: {WRITE}" for name in known if name not in variants
    ]
    return without + strange
