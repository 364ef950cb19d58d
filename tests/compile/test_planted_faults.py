"""What would go wrong with a compiled kernel is planted, and the sentence that a test fails with names it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import architectures
import budgets
import compile_report
import launches
import pytest
import torch
from budgets import Figures, Move
from compiling import Compiled, Compiler, Failed
from judging import complaints
from launches import Architecture, Variant
from machine_code import Additions, Needs
from planted_kernels import wrong_kernel

WANTED = architectures.wanted(os.environ)
SM_89, SM_90, GFX950, GFX1100 = (
    Architecture(name, wave, architectures.SHARED[name])
    for name, wave in (("sm_89", 32), ("sm_90", 32), ("gfx950", 64), ("gfx1100", 32))
)
FINE = Compiled(Needs(32, 0, 0, 0, 0, 1024), Additions(96, 96, 0, 0), 1.0, waits=True)


def variant_of(kernel: str, architecture: Architecture, dtype: torch.dtype = torch.float32, **changes: Any) -> Variant:
    """A kernel's first variant under a plan with something changed."""
    plan, k = launches.chosen_plans(architecture)[-1]
    found = launches.launched(architecture, [(replace(plan, **changes), k)], (dtype,))
    return next(variant for variant in found if variant.kernel.endswith(f":{kernel}_kernel"))


@pytest.mark.parametrize("architecture", WANTED, ids=lambda architecture: architecture.name)
def test_fusion_in_one_launch(architecture: Architecture, compiler: Compiler) -> None:
    variant = variant_of("collect", architecture)
    fusing = replace(variant, options={**variant.options, "enable_fp_fusion": True})
    assert not complaints(variant, compiler.compile(variant))
    (sentence,) = complaints(fusing, compiler.compile(fusing))
    assert sentence.startswith(f"{fusing.name} on {architecture.name}: ")
    assert "fused multiply-adds" in sentence


def test_a_launch_that_comes_early_and_does_not_wait(compiler: Compiler) -> None:
    variant = variant_of("settle", SM_90)
    early = (list(variant.signature).index("EARLY"),)
    assert variant.constants[early] is True
    hasty = replace(variant, constants={**variant.constants, early: False})
    assert not complaints(variant, compiler.compile(variant))
    (sentence,) = complaints(hasty, compiler.compile(hasty))
    assert "is launched before the kernel before it is done" in sentence


def test_a_tile_too_large_for_shared_memory(compiler: Compiler) -> None:
    variant = variant_of("sigma", SM_89, torch.bfloat16, truncation="sigma", tile=32768, warps=32)
    sentence = complaints(variant, compiler.compile(variant))[0]
    assert sentence.startswith(f"{variant.name} on sm_89: it wants 131072 bytes of shared memory, of 101376 ")


def test_more_threads_than_a_program_may_have() -> None:
    """A count of warps that is right for 32 lanes shows on an architecture with 64, and there only."""
    here, there = (variant_of("select_rows", a, row_warps=32) for a in (SM_90, GFX950))
    assert not complaints(here, FINE)
    (sentence,) = complaints(there, FINE)
    assert sentence.startswith(f"{there.name} on gfx950: 32 warps of 64 are 2048 threads, of 1024 ")


def taken(variant: Variant, compiler: Compiler) -> tuple[Compiled, Figures]:
    """A variant that compiles, and what it takes."""
    outcome = compiler.compile(variant)
    assert isinstance(outcome, Compiled)
    return outcome, budgets.figures(variant, outcome.needs)


@pytest.mark.parametrize("architecture", [SM_90, GFX1100], ids=lambda architecture: architecture.name)
def test_a_tile_doubled_until_it_spills(architecture: Architecture, compiler: Compiler) -> None:
    """Beside the budget of the tile that is used: at first it takes more registers, at last there are not enough."""
    usual, target = variant_of("group_maxima", architecture), architecture.name
    fine, budget = taken(usual, compiler)
    assert not complaints(usual, fine, budget)
    for doublings in range(1, 5):
        variant = variant_of("group_maxima", architecture, tile=usual.names["TILE"] << doublings)
        outcome, found = taken(variant, compiler)
        moved = {move.figure: move for move in budgets.moves(variant.kernel, variant.name, target, budget, found)}
        assert moved["registers"].fails
        if found.spills:
            break
    assert moved["spills"] == Move("group_maxima_kernel", variant.name, target, "spills", 0, found.spills, "over")
    wrong = complaints(variant, outcome, budget)
    assert {move.figure for move in moved.values() if move.fails} >= {"registers", "spills", "scratch", "occupancy"}
    for figure, move in moved.items():
        named = f"{variant.name} on {target}: {figure} of group_maxima_kernel: {move.found}, budget {move.budget}: "
        assert any(sentence.startswith(named) for sentence in wrong) == move.fails
    assert len(complaints(variant, outcome)) == 2  # spills and scratch, also before there is a budget for the new tile
    table = compile_report.table([compile_report.record_of(variant, outcome, wrong)])
    assert table.splitlines()[1].split() == [variant.name, str(found.scratch)]


def test_a_hang(compiler: Compiler) -> None:
    variant = variant_of("select_rows", SM_90)
    (sentence,) = complaints(variant, compiler.compile(variant, patience=0.1))
    assert sentence == f"{variant.name} on sm_90: it does not compile: it was still being compiled after 0.1 s"
    lighter = variant_of("mask", SM_90)
    assert not complaints(lighter, compiler.compile(lighter))


def test_a_compiler_that_dies(compiler: Compiler) -> None:
    variant = replace(variant_of("mask", SM_90), kernel="planted_kernels:deadly_kernel")
    assert compiler.compile(variant) == Failed("the compiling process died with status 134")
    lighter = variant_of("mask", SM_90)
    assert not complaints(lighter, compiler.compile(lighter))


def test_a_kernel_that_does_not_compile(compiler: Compiler) -> None:
    with launches.captured(SM_90) as variants:
        wrong_kernel[(1,)](torch.empty(64, dtype=torch.int32), TILE=64)
    (variant,) = variants
    (sentence,) = complaints(variant, compiler.compile(variant))
    assert sentence.startswith(f"{variant.name} on sm_90: it does not compile: CompilationError: ")
