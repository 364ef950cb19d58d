"""Plans of the figures that a card has without an entry, written down: of these cards and shapes."""

from __future__ import annotations

import pytest
import torch

from qrita import plan as plans
from qrita.device import Device
from qrita.plan import Plan
from qrita.records import Problem
from qrita.tuning import derived

DEVICES = {
    "sm_80": Device("NVIDIA A100", "sm_80", wave=32, multiprocessors=108),
    "sm_89": Device("NVIDIA GeForce RTX 4090", "sm_89", wave=32, multiprocessors=128),
    "sm_90": Device("NVIDIA H200", "sm_90", wave=32, multiprocessors=132),
    "sm_100": Device("NVIDIA B200", "sm_100", wave=32, multiprocessors=148),
    "gfx950": Device("AMD Instinct MI355X", "gfx950", wave=64, multiprocessors=256),
    "gfx1201": Device("AMD Radeon RX 9070 XT", "gfx1201", wave=32, multiprocessors=32),
    "interpreter": Device("Triton interpreter", "interpreter", wave=32, multiprocessors=4),
}
BY_DEVICE = {  # warps, select_warps, bracket_warps, settle_warps, row_warps, programs, row_programs
    "sm_80": (4, 16, 4, 1, 4, 1728, 216),
    "sm_89": (4, 16, 4, 1, 4, 2048, 256),
    "sm_90": (4, 8, 4, 1, 8, 2112, 264),
    "sm_100": (4, 8, 4, 1, 8, 2368, 296),
    "gfx950": (2, 4, 2, 1, 4, 4096, 512),
    "gfx1201": (4, 8, 4, 1, 8, 512, 64),
    "interpreter": (4, 8, 4, 1, 8, 64, 8),
}
BY_SHAPE = {  # vocabulary, k: truncation, group, groups, keep, survivors
    (1000, 50): ("groups", 32, 2048, 64, 128),
    (1000, None): ("none", 32, 2048, 128, 256),
    (2049, None): ("groups", 32, 2048, 128, 256),
    (65_536, 50): ("groups", 32, 2048, 64, 128),
    (65_537, 50): ("groups", 32, 4096, 64, 128),
    (131_072, 56): ("groups", 32, 4096, 64, 128),
    (131_072, 57): ("groups", 32, 4096, 128, 256),
    (131_073, 50): ("groups", 64, 8192, 128, 256),
    (600_000, 50): ("none", 64, 8192, 128, 256),
}
SPLITS = {  # rows of 128,256 tokens: k = 50, p alone
    ("sm_90", 8): (64, 64),
    ("sm_90", 32): (17, 17),
    ("sm_90", 200): (16, 8),
    ("sm_90", 527): (16, 8),
    ("sm_90", 528): (16, 4),
    ("sm_90", 1024): (16, 4),
    ("gfx950", 32): (32, 32),
    ("gfx950", 200): (16, 8),
    ("gfx950", 1024): (16, 4),
    ("sm_89", 32): (16, 16),
    ("sm_89", 200): (16, 8),
    ("sm_89", 1024): (16, 4),
}


def chosen(architecture: str, rows: int, vocab: int, k: int | None) -> Plan:
    device = DEVICES[architecture]
    return plans.choose(Problem(torch.empty((rows, vocab), device="meta"), k, 0.9), device, derived(device))


@pytest.mark.parametrize("architecture", BY_DEVICE)
@pytest.mark.parametrize(("vocab", "k"), BY_SHAPE)
def test_what_is_compiled_in_and_the_grids(architecture: str, vocab: int, k: int | None) -> None:
    plan = chosen(architecture, 3, vocab, k)
    warps = (plan.warps, plan.select_warps, plan.bracket_warps, plan.settle_warps, plan.row_warps)
    assert (*warps, plan.programs, plan.row_programs) == BY_DEVICE[architecture]
    assert (plan.truncation, plan.group, plan.groups, plan.keep, plan.survivors) == BY_SHAPE[vocab, k]
    row_tile = 512 if architecture in ("sm_80", "sm_89") else 1024
    assert (plan.sample, plan.hold, plan.bracket, plan.tile, plan.row_tile) == (2048, 1024, True, 1024, row_tile)


@pytest.mark.parametrize(("architecture", "rows"), SPLITS)
def test_programs_that_share_a_row(architecture: str, rows: int) -> None:
    splits = tuple(chosen(architecture, rows, 128_256, k).splits for k in (50, None))
    assert splits == SPLITS[architecture, rows]
    assert [chosen(architecture, rows, 4096, k).splits for k in (50, None)] == [4, 4]
