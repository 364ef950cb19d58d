"""How many programs a multiprocessor holds, against what the vendors' own tools say."""

from __future__ import annotations

import occupancy
import pytest
from machine_code import Needs
from occupancy import LIMITS

LLVM = [
    # architecture, vector registers, scalar registers, and the "Occupancy" that LLVM prints below such a kernel
    ("gfx942", 50, 57, 8),
    ("gfx942", 82, 106, 5),
    ("gfx942", 47, 106, 7),
    ("gfx942", 112, 66, 4),
    ("gfx950", 84, 86, 5),
    ("gfx1100", 82, 66, 16),
    ("gfx1100", 100, 54, 12),
    ("gfx1100", 173, 107, 8),
    ("gfx1201", 112, 107, 12),
]


@pytest.mark.parametrize(("architecture", "registers", "scalars", "waves"), LLVM)
def test_waves_of_a_simd(architecture: str, registers: int, scalars: int, waves: int) -> None:
    assert occupancy.warps_of_a_partition(LIMITS[architecture], Needs(registers, scalars, 0, 0, 0, 0)) == waves


PROGRAMS = [
    # architecture, warps of a program, registers, shared memory, programs, and what limits them
    ("sm_90", 4, 32, 0, 16, "threads"),
    ("sm_89", 4, 32, 0, 12, "threads"),
    ("sm_90", 1, 16, 0, 32, "programs"),
    ("sm_120", 1, 16, 0, 24, "programs"),
    ("sm_90", 8, 255, 0, 1, "registers"),
    ("sm_90", 4, 169, 0, 2, "registers, given out by eights"),
    ("sm_80", 4, 32, 16384, 9, "shared memory, 1 KiB of it the system's"),
    ("sm_100", 4, 32, 227 * 1024, 1, "shared memory"),
    ("gfx942", 1, 24, 0, 32, "waves"),
    ("gfx942", 2, 24, 0, 16, "barriers"),
    ("gfx942", 16, 128, 0, 1, "registers"),
    ("gfx942", 2, 24, 8192, 8, "shared memory"),
    ("gfx950", 2, 24, 16000, 9, "shared memory, given out by 1,280 bytes"),
    ("gfx1100", 4, 96, 0, 16, "threads"),
    ("gfx1201", 4, 97, 0, 12, "registers, given out by 24"),
    ("gfx1201", 32, 24, 65536, 2, "shared memory, and threads"),
]


@pytest.mark.parametrize(
    ("architecture", "warps", "registers", "shared", "programs"),
    [case[:5] for case in PROGRAMS],
    ids=[case[5] for case in PROGRAMS],
)
def test_programs_of_a_multiprocessor(
    architecture: str, warps: int, registers: int, shared: int, programs: int
) -> None:
    assert occupancy.programs(LIMITS[architecture], warps, Needs(registers, 0, 0, 0, 0, shared)) == programs


@pytest.mark.parametrize("architecture", LIMITS)
def test_one_program_more_never_fits(architecture: str) -> None:
    """More of anything leaves as many programs, or fewer."""
    limits = LIMITS[architecture]
    for warps in (1, 2, 4, 8):
        for one, other in (
            (Needs(r, 0, 0, 0, 0, s), Needs(r + 8, 0, 0, 0, 0, s + 64)) for r in (8, 96) for s in (0, 4096)
        ):
            assert occupancy.programs(limits, warps, one) >= occupancy.programs(limits, warps, other) > 0
            assert occupancy.programs(limits, warps, one) >= occupancy.programs(limits, 2 * warps, one)
