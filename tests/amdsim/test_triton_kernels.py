"""Triton kernels, compiled as a launch on the card would compile them, against numpy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import small_kernels as kernels
import torch
from bench import NAMES

from amdsim import driver
from amdsim.errors import LaunchFault, OutOfBounds, Race, Uninitialised
from amdsim.launch import Options

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
SIZES = (127, 512, 515)
"""Below, at and above a multiple of the block."""


@pytest.fixture(params=NAMES)
def card(request: pytest.FixtureRequest) -> Iterator[str]:
    with driver.simulated(request.param, Options(seed=11)):
        yield request.param


def floats(n: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return (torch.randn(n, generator=torch.Generator().manual_seed(n + seed)) * 4).to(dtype)


def integers(n: int, low: int, high: int, dtype: torch.dtype = torch.int32, seed: int = 0) -> torch.Tensor:
    return torch.randint(low, high, (n,), generator=torch.Generator().manual_seed(n + seed), dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sums_and_maxima_of_rows(card: str, dtype: torch.dtype) -> None:
    for n in SIZES:
        x = ((floats(3 * n) * 8).round() / 8).clamp(-15, 15).to(dtype).reshape(3, n)
        x[1, ::7] = float("-inf")
        out = torch.full((3, 3), -1.0)
        kernels.row_sums[(3,)](x, out, x.stride(0), n, BLOCK=128, num_warps=2)
        wide = x.double()
        positive = torch.where(wide > 0, wide, 0.0)
        assert torch.equal(out[:, 0].double(), positive.sum(1))  # eighths: sums are exact in any order
        assert torch.equal(out[:, 1], x.float().amax(1))
        assert torch.equal(out[:, 2], (x > 0).sum(1).float())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("warps", [1, 4])
def test_compaction_by_a_running_sum(card: str, dtype: torch.dtype, warps: int) -> None:
    for n in SIZES:
        x = floats(n, dtype)
        values, places = torch.full((n,), -9.0), torch.full((n,), -9, dtype=torch.int32)
        count = torch.zeros(1, dtype=torch.int32)
        kernels.compact[(1,)](x, values, places, count, n, 0.5, BLOCK=256, num_warps=warps)
        wanted = np.flatnonzero(x.float().numpy() >= 0.5)
        assert count.item() == len(wanted)
        assert np.array_equal(places.numpy()[: len(wanted)], wanted)
        assert np.array_equal(values.numpy()[: len(wanted)], x.float().numpy()[wanted])
        assert (places.numpy()[len(wanted) :] == -9).all()


def test_atomic_sums(card: str) -> None:
    for n in SIZES:
        x = integers(n, 0, 1000)
        bins = torch.zeros(32, dtype=torch.int32)
        kernels.counted[(-(-n // 128),)](x, bins, n, BLOCK=128, num_warps=2)
        assert np.array_equal(bins.numpy(), np.bincount(x.numpy() & 31, minlength=32))


def test_atomic_sums_that_return_and_wide_ones(card: str) -> None:
    for n in SIZES:
        x = integers(n, 0, 1000)
        slots = torch.full((n,), -1, dtype=torch.int32)
        used, total = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int64)
        kernels.allotted[(-(-n // 128),)](x, slots, used, total, n, BLOCK=128, num_warps=2)
        wanted = x.numpy()[x.numpy() % 3 == 0]
        assert used.item() == len(wanted)
        assert sorted(slots.numpy()[: len(wanted)]) == sorted(wanted)
        assert total.item() == int(wanted.astype(np.int64).sum()) << 20


def test_a_loop_of_unknown_length(card: str) -> None:
    for n, k in ((127, 1), (512, 100), (515, 515)):
        x = integers(n, -(2**31), 2**31 - 1)
        out = torch.zeros(1, dtype=torch.int64)
        kernels.kth[(1,)](x, out, n, k, BLOCK=256, num_warps=2)
        assert out.item() == np.sort(x.numpy())[::-1][k - 1]


def test_arithmetic_in_64_bits(card: str) -> None:
    n = 100
    x = integers(n, -(2**62), 2**62, torch.int64)
    y = integers(n, -(2**40), 2**40, torch.int64, seed=1)
    y[y == 0] = 1
    y[::9] = 3
    out = torch.zeros(5, n, dtype=torch.int64)
    kernels.wide[(1,)](x, y, out, n, BLOCK=128, num_warps=1)
    a, b = x.numpy(), y.numpy()
    with np.errstate(over="ignore"):
        assert np.array_equal(out[0].numpy(), a * b + (a >> 7))
        assert np.array_equal(out[1].numpy(), (a ^ b) - (a << 3))
    quotient = torch.div(x, y, rounding_mode="trunc")
    assert torch.equal(out[2], quotient)
    assert torch.equal(out[3], x - quotient * y)
    assert np.array_equal(out[4].numpy(), np.minimum(a, b))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("target", DTYPES, ids=str)
def test_conversions(card: str, dtype: torch.dtype, target: torch.dtype) -> None:
    n = 300
    x = floats(n, dtype)
    x[:6] = torch.tensor([0.0, -0.0, float("inf"), float("-inf"), 6.1e-5, 1e-7]).to(dtype)
    out = torch.zeros(n, dtype=target)
    kernels.converted[(-(-n // 128),)](x, out, n, BLOCK=128, num_warps=1, enable_fp_fusion=False)
    bits = torch.int32 if target is torch.float32 else torch.int16
    assert torch.equal(out.view(bits), (x.float() * 2).to(target).view(bits))


def test_division_roots_and_powers(card: str) -> None:
    n = 200
    x, y = floats(n), floats(n, seed=1)
    out = torch.zeros(3, n)
    kernels.quotients[(1,)](x, y, out, n, BLOCK=256, num_warps=2)
    assert torch.equal(out[0], x / y)
    assert np.array_equal(out[1].numpy(), np.sqrt(np.abs(x.numpy())))  # numpy rounds correctly, torch does not
    assert torch.equal(out[2], torch.exp2(y.double()).float())  # the simulator rounds correctly


def test_the_size_of_the_grid(card: str) -> None:
    out = torch.zeros(24, dtype=torch.int32)
    kernels.programs[(4, 3, 2)](out, num_warps=1)
    assert out.tolist() == [40302] * 24


def test_what_threads_exchange_through_memory_takes_a_barrier(card: str) -> None:
    x = integers(256, 0, 1000)
    scratch, out = torch.zeros_like(x), torch.zeros_like(x)
    kernels.exchanged[(1,)](x, scratch, out, BLOCK=256, ORDERED=True, num_warps=2)
    assert torch.equal(out, (x + 1).flip(0))
    with pytest.raises(Race, match=r"small_kernels\.py:\d+"):
        kernels.exchanged[(1,)](x, scratch, out, BLOCK=256, ORDERED=False, num_warps=2)


@pytest.mark.parametrize("lanes", [128, 1 << 14])
def test_what_programs_exchange_takes_an_acquire(card: str, lanes: int) -> None:
    n = 1000
    x = integers(n, 0, 1000)
    for sem in ("acq_rel", "relaxed"):
        parts, arrived = torch.zeros(8, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
        out = torch.zeros(1, dtype=torch.int32)
        with driver.simulated(card, Options(lanes=lanes)):
            launch = kernels.last_arriver[(8,)]
            if sem == "relaxed":
                with pytest.raises(Race, match="load"):
                    launch(x, parts, arrived, out, n, BLOCK=128, SEM=sem, num_warps=2)
                continue
            launch(x, parts, arrived, out, n, BLOCK=128, SEM=sem, num_warps=2)
        assert out.item() == x.sum()


def test_a_forgotten_mask(card: str) -> None:
    x, out = torch.zeros(300), torch.zeros(300)
    with pytest.raises(OutOfBounds, match="a float32 tensor of shape"):
        kernels.beyond[(3,)](x, out, 300, BLOCK=128, num_warps=1)


def test_memory_that_nobody_wrote(card: str) -> None:
    n = 256
    out = torch.zeros(n)
    x = torch.empty(n)
    with pytest.raises(Uninitialised, match="what is stored depends"):
        kernels.converted[(2,)](x, out, n, BLOCK=128, num_warps=1)
    x[:n] = 2.0
    kernels.converted[(2,)](x, out, n, BLOCK=128, num_warps=1)
    fresh = torch.empty(n)
    kernels.converted[(2,)](x, fresh, n, BLOCK=128, num_warps=1)  # a kernel's stores make it known
    kernels.converted[(2,)](fresh, out, n, BLOCK=128, num_warps=1)
    assert torch.equal(out, torch.full((n,), 8.0))


@pytest.mark.parametrize("order", range(4))
def test_the_answer_does_not_depend_on_the_order_of_programs(order: int) -> None:
    x = integers(2000, 0, 1000)
    for lanes in (64, 1 << 14):
        with driver.simulated("gfx950", Options(seed=order, lanes=lanes)):
            bins = torch.zeros(32, dtype=torch.int32)
            kernels.counted[(16,)](x, bins, 2000, BLOCK=128, num_warps=2)
            assert np.array_equal(bins.numpy(), np.bincount(x.numpy() & 31, minlength=32))


class TestLaunches:
    """What a launch on a card would refuse, or take."""

    def launch(self, **more: Any) -> torch.Tensor:
        x = floats(512)
        out = torch.zeros(512)
        kernels.converted[(1,)](x, out, 512, BLOCK=512, **more)
        return out

    def test_more_than_1024_threads(self) -> None:
        from triton.runtime.errors import OutOfResources

        with driver.simulated("gfx950"), pytest.raises((OutOfResources, LaunchFault), match="1024"):
            self.launch(num_warps=32)
        with driver.simulated("gfx1100"):
            self.launch(num_warps=32)

    def test_the_driver_that_was_there_comes_back(self) -> None:
        from triton.runtime import driver as triton_driver

        before = triton_driver._active
        with driver.simulated("gfx942"):
            assert triton_driver.active.get_current_target().arch == "gfx942"
        assert triton_driver._active is before

    def test_an_architecture_that_is_not_simulated(self) -> None:
        with (
            pytest.raises(LaunchFault, match="expected one of gfx942, gfx950, gfx1100, gfx1201"),
            driver.simulated("gfx90a"),
        ):
            pass

    def test_views_share_the_memory_of_their_tensor(self) -> None:
        whole = torch.zeros(1000)
        x = floats(100)
        with driver.simulated("gfx1201"):
            kernels.converted[(1,)](x, whole[300:400], 100, BLOCK=128, num_warps=1)
        assert torch.equal(whole[300:400], x * 2)
        assert whole.count_nonzero() == x.count_nonzero()
