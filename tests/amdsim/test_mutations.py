"""Controls: one instruction of a kernel is changed, and the result or a detector has to tell.

Some mutants compute the same: a comparison whose operands are never equal, a mask where a store is masked as well, a
first value that is never read. So not every one can be caught.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from unittest import mock

import mutations
import pytest
import small_kernels as kernels
import torch
from mutations import Launch, Mutation, Recorder

from amdsim import driver
from amdsim.launch import Options

OPTIONS = Options(seed=5)
SIZES = (127, 509, 515)
COUNT = 12
"""Mutations of a kernel and an architecture."""

LEAST = {"barrier dropped": 0.75, "scan's step changed": 0.75, "offset changed": 0.75, "shift changed": 0.75}
"""Of all that are of a kind."""


def floats(n: int) -> torch.Tensor:
    return torch.randn(n, generator=torch.Generator().manual_seed(n)) * 4


def integers(n: int, low: int, high: int) -> torch.Tensor:
    return torch.randint(low, high, (n,), generator=torch.Generator().manual_seed(n), dtype=torch.int32)


def compact(n: int) -> None:
    values, places, count = torch.zeros(n), torch.zeros(n, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    kernels.compact[(1,)](floats(n), values, places, count, n, 0.5, BLOCK=256, num_warps=4)


def kth(n: int) -> None:
    out = torch.zeros(1, dtype=torch.int64)
    kernels.kth[(1,)](integers(n, -(2**31), 2**31 - 1), out, n, n // 3 + 1, BLOCK=256, num_warps=2)


def counted(n: int) -> None:
    kernels.counted[(-(-n // 128),)](
        integers(n, 0, 1000), torch.zeros(32, dtype=torch.int32), n, BLOCK=128, num_warps=2
    )


def row_sums(n: int) -> None:
    kernels.row_sums[(3,)](floats(3 * n).reshape(3, n), torch.zeros(3, 3), n, n, BLOCK=128, num_warps=2)


def exchanged(n: int) -> None:
    x = integers(256, 0, n)
    kernels.exchanged[(1,)](x, torch.zeros_like(x), torch.zeros_like(x), BLOCK=256, ORDERED=True, num_warps=4)


KERNELS = (compact, kth, counted, row_sums, exchanged)


def launches(architecture: str, kernel: Callable[[int], None]) -> list[Launch]:
    recorder = Recorder(OPTIONS)
    with mock.patch.object(driver, "Simulator", return_value=recorder), driver.simulated(architecture, OPTIONS):
        for n in SIZES:
            kernel(n)
    return recorder.launches


@pytest.fixture(scope="module")
def outcomes() -> list[tuple[str, Mutation, str]]:
    """(architecture, mutation, what told)."""
    found = []
    for architecture in ("gfx950", "gfx1201"):
        for kernel in KERNELS:
            recorded = launches(architecture, kernel)
            for mutation in mutations.drawn(recorded, COUNT, seed=1):
                found.append((architecture, mutation, mutations.outcome(recorded, mutation, OPTIONS)))
    return found


def test_most_mutants_are_caught(
    outcomes: list[tuple[str, Mutation, str]], record_property: Callable[[str, object], None]
) -> None:
    total: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    for _, mutation, told in outcomes:
        total[mutation.kind] += 1
        caught[mutation.kind] += bool(told)
    record_property("mutants caught", f"{sum(caught.values())} of {sum(total.values())}")
    assert sum(total.values()) >= 40
    assert set(total) == set(mutations.KINDS)
    assert sum(caught.values()) >= 0.7 * sum(total.values()), (caught, total)
    for kind, least in LEAST.items():
        assert caught[kind] >= least * total[kind], (kind, caught[kind], total[kind])


def test_detectors_tell_as_well_as_results(outcomes: list[tuple[str, Mutation, str]]) -> None:
    told = {name for _, _, name in outcomes}
    assert {"Race", "OutOfBounds", "result"} <= told
    unexpected = {name for name in told if ":" in name}  # not one of the simulator's own errors
    assert not unexpected


def test_a_kernel_that_is_not_changed_gives_the_same_again() -> None:
    recorded = launches("gfx950", compact)
    index = next(s.index for s in recorded[0].program.statements if s.text.startswith("s_nop"))
    assert mutations.outcome(recorded, Mutation("none", index, "s_nop 5"), OPTIONS) == ""
