"""What is wrong with a compiled variant, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

import budgets
from budgets import Figures
from compiling import Compiled, Failed
from launches import Variant

from qrita.device import MAX_THREADS


def complaints(variant: Variant, outcome: Compiled | Failed, budget: Figures | None = None) -> list[str]:
    """Every reason why a launch of the variant would fail, answer with other bits, or take more than it may of a GPU.

    Without a budget, the last of them is what it keeps in memory for want of registers.
    """
    name, target = variant.name, variant.architecture.name
    wrong = [f"{name} on {target}: {sentence}" for sentence in _wrong(variant, outcome)]
    if isinstance(outcome, Failed):
        return wrong
    found = budgets.figures(variant, outcome.needs)
    return wrong + budgets.sentences(budgets.moves(variant.kernel, name, target, budget, found))


def _wrong(variant: Variant, outcome: Compiled | Failed) -> Iterator[str]:
    architecture = variant.architecture
    if variant.threads > MAX_THREADS:
        yield (
            f"{variant.warps} warps of {architecture.wave} are {variant.threads} threads, of {MAX_THREADS} that a "
            "program may have: lower the plan's warps"
        )
    if isinstance(outcome, Failed):
        yield f"it does not compile: {outcome.how}"
        return
    if outcome.needs.shared > architecture.shared:
        yield (
            f"it wants {outcome.needs.shared} bytes of shared memory, of {architecture.shared} that a program may "
            "have: make the plan's tile smaller"
        )
    if variant.options.get("launch_pdl") and not outcome.waits:
        yield (
            "it is launched before the kernel before it is done, and does not wait for that first: begin it with "
            "kernels.entry.in_turn(EARLY, ...)"
        )
    additions = outcome.additions
    if additions.may_be_fused(architecture.backend):
        yield (
            f"{additions.fused} fused multiply-adds of floats without a known reason, and {additions.found} of "
            f"{additions.meant} additions: launch with enable_fp_fusion=False (semantics, rule 9)"
        )
