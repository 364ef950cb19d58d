"""What is wrong with a compiled variant, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from compiling import Compiled, Failed
from launches import Variant

from qrita.device import MAX_THREADS


def complaints(variant: Variant, outcome: Compiled | Failed) -> list[str]:
    """Every reason why a launch of the variant would fail, or answer with other bits; none is how it should be."""
    return [f"{variant.name} on {variant.architecture.name}: {sentence}" for sentence in _wrong(variant, outcome)]


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
    additions = outcome.additions
    if additions.may_be_fused(architecture.backend):
        yield (
            f"{additions.fused} fused multiply-adds of floats without a known reason, and {additions.found} of "
            f"{additions.meant} additions: launch with enable_fp_fusion=False (semantics, rule 9)"
        )
