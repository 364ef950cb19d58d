"""The kernels of the bench's ablation compile for a card of each vendor, and fuse nothing. They have no budgets."""

from __future__ import annotations

import os

import architectures
import launches
import pytest
import torch
from compiling import Compiled, Compiler
from launches import Architecture, Variant

from qrita import arguments
from qrita.bench.ablation import launching
from qrita.bench.ablation.runs import RUNS, plan_of
from qrita.device import Device


def asked_for(architecture: Architecture) -> list[Variant]:
    """Each of them once, as runs launch them on aligned logits; what they share with plans is tested elsewhere."""
    logits = torch.zeros((2, 4096))
    device = Device("faked", architecture.name, architecture.wave, multiprocessors=8)
    with launches.captured(architecture) as variants:
        for run in (run for run in RUNS if run.by == "bench"):
            problem = arguments.problem(logits, 50, 0.9)
            launching.mask(run, plan_of(run, problem, device), problem, torch.empty_like(logits))
    return list({variant.name: variant for variant in variants if ".ablation." in variant.kernel}.values())


WANTED = architectures.wanted(os.environ)
ARCHITECTURES = [each for each in WANTED if each.name in ("sm_90", "gfx950")] or WANTED
ALL = [variant for architecture in ARCHITECTURES for variant in asked_for(architecture)]


@pytest.mark.parametrize("variant", ALL, ids=lambda variant: f"{variant.architecture.name}-{variant.name}")
def test_it_compiles_and_fuses_nothing(variant: Variant, compiler: Compiler) -> None:
    outcome = compiler.compile(variant)
    assert isinstance(outcome, Compiled), outcome
    assert not outcome.additions.may_be_fused(variant.architecture.backend)
    assert outcome.needs.shared <= variant.architecture.shared


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda architecture: architecture.name)
def test_every_search_is_among_them(architecture: Architecture) -> None:
    found = {
        (variant.kernel.rpartition(":")[2], variant.names["SEARCH"], variant.names["DUPLICATES"])
        for variant in ALL
        if variant.architecture == architecture
    }
    tile, row = "select_kernel", "select_rows_kernel"
    assert found == {
        (tile, 0, True),
        (row, 0, True),
        *((kernel, s, False) for kernel in (tile, row) for s in (0, 1)),
        (tile, 2, False),
    }
