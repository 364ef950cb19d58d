"""Bugs that a lane on an NVIDIA card cannot see: each is caught on a simulated card.

What stands in for an NVIDIA card here is what is like it: 32 lanes, answers that are judged and nothing else.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import amd_only_kernels as kernels
import pytest
import simulated
import torch
from triton.runtime.errors import OutOfResources

from amdsim import Options, SimulationError, driver
from amdsim.architectures import ARCHITECTURES
from amdsim.errors import LaunchFault, Race
from qrita.testing.properties import PROPERTIES
from qrita.testing.recipes import Recipe, build

HERE = Path(__file__).parent
WIDE = [name for name, architecture in ARCHITECTURES.items() if architecture.wave == 64]
NARROW = [name for name, architecture in ARCHITECTURES.items() if architecture.wave == 32]

BALLOT = "v_cmp_ne_u32_e32 {vcc}, 0, $1\n\tv_mbcnt_lo_u32_b32 $0, vcc_lo, 0"
"""The lanes below whose bit is set in the lower half of a wave's mask: v_mbcnt_hi_u32_b32 would count the upper one."""


def tokens(n: int = 256) -> torch.Tensor:
    return torch.randint(0, 2, (n,), generator=torch.Generator().manual_seed(n), dtype=torch.int32)


def ranks(architecture: str) -> torch.Tensor:
    """What the scan makes of `tokens`."""
    wave = ARCHITECTURES[architecture].wave
    x, ballot = tokens(), BALLOT.format(vcc="vcc" if wave == 64 else "vcc_lo")
    out = torch.zeros_like(x)
    with driver.simulated(architecture):
        kernels.ranked[(1,)](x, out, BLOCK=len(x), BALLOT=ballot, CONSTRAINTS="=v,v,~{vcc}", num_warps=len(x) // wave)
    return out


EXPECTED = torch.where(tokens() != 0, tokens().cumsum(0) - tokens(), -1).int()


@pytest.mark.parametrize("architecture", WIDE)
def test_a_scan_that_assumes_32_lanes_is_caught(architecture: str) -> None:
    upper = torch.arange(len(EXPECTED)) % 64 >= 32
    wrong = ranks(architecture) != EXPECTED
    assert wrong[upper].any()
    assert not wrong[~upper].any()


@pytest.mark.parametrize("architecture", NARROW)
def test_a_scan_that_assumes_32_lanes_is_right_where_there_are_32(architecture: str) -> None:
    assert torch.equal(ranks(architecture), EXPECTED)


def mirrored(architecture: str, options: Options | None = None) -> torch.Tensor:
    x = torch.arange(256, dtype=torch.int32)
    out, scratch = torch.zeros_like(x), torch.zeros_like(x)
    with driver.simulated(architecture, options):
        kernels.mirrored[(1,)](x, scratch, out, BLOCK=256, num_warps=4)
    return out


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_missing_barrier_before_a_scratch_load_is_caught(architecture: str) -> None:
    with pytest.raises(Race, match=r"amd_only_kernels\.py:\d+"):
        mirrored(architecture)


def test_a_missing_barrier_is_not_seen_in_the_answer() -> None:
    """The waves come in their order here, as they may on a card: what judges answers, passes."""
    assert torch.equal(mirrored("gfx1100", Options(races=False)), torch.arange(255, -1, -1, dtype=torch.int32))


INTERPRETED = """
import sys, torch
sys.path.insert(0, sys.argv[1])
import amd_only_kernels as kernels
x = torch.arange(256, dtype=torch.int32)
out, scratch = torch.zeros_like(x), torch.zeros_like(x)
kernels.mirrored[(1,)](x, scratch, out, BLOCK=256, num_warps=32)
print(torch.equal(out, x.flip(0)))
"""


def test_the_interpreter_sees_neither_the_barrier_nor_the_threads() -> None:
    command = [sys.executable, "-c", INTERPRETED, str(HERE)]
    environ = {"TRITON_INTERPRET": "1", "PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "True\n"


def planned_for_32_lanes(architecture: str) -> None:
    """The project's kernels by a plan that has 32 warps where a whole row is searched: 1,024 threads of an NVIDIA card.

    Raises:
        AssertionError: the cut is wrong.
    """
    case = build(Recipe("normal", 300, k=20, p=0.75))
    with simulated.subject(f"sim-{architecture}") as subject:
        from qrita import plan as plans
        from qrita.records import Problem

        problem = Problem(case.logits[None], case.k, case.p)
        plan = plans.forced(problem, simulated.device_of(subject.name))["narrow"]
        engine = replace(subject.engine, plan=replace(plan, truncation="none", row_warps=32, row_tile=1024))
        PROPERTIES["cut"].check(replace(subject, engine=engine), case)


@pytest.mark.parametrize("architecture", WIDE)
def test_more_than_1024_threads_are_refused(architecture: str) -> None:
    with pytest.raises((OutOfResources, LaunchFault, SimulationError), match="1024"):
        planned_for_32_lanes(architecture)


@pytest.mark.parametrize("architecture", NARROW)
def test_as_many_waves_of_32_lanes_are_1024_threads(architecture: str) -> None:
    planned_for_32_lanes(architecture)
