"""The weight W, rules 9 to 11 of docs/semantics.md: both implementations, their table, its error."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cache

import mpmath
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from qrita import reference, torch_engine

SHA256 = "3e8aa13b7024693a54370e618215379005db33abde1aa699fb5c84631c8c110d"
STEPS = 1 << 23
INF = np.float32(np.inf)

Weight = Callable[[NDArray[np.float32]], NDArray[np.int64]]


def by_torch(d: NDArray[np.float32]) -> NDArray[np.int64]:
    return torch_engine.weight(torch.from_numpy(d)).numpy()


weights = pytest.mark.parametrize("weight", [by_torch, reference.weights], ids=["torch", "numpy"])


@cache
def table(implementation: str) -> NDArray[np.int64]:
    """y * 2**24 for every fraction of a binade."""
    steps = np.arange(STEPS, dtype=np.int32)
    if implementation == "torch":
        return torch_engine.weight_fraction(torch.from_numpy(steps)).numpy()
    return reference.mantissas(steps)


tables = pytest.mark.parametrize("implementation", ["torch", "numpy"])


def float32(patterns: NDArray[np.uint32] | list[int]) -> NDArray[np.float32]:
    return np.asarray(patterns, dtype=np.uint32).view(np.float32)


def every_kind_of_d(count: int, seed: int) -> NDArray[np.float32]:
    """d <= 0 over all exponents, and as many between -30 and 0; -inf, both zeros and the subnormals' ends."""
    random = np.random.default_rng(seed)
    patterns = random.integers(0x80000000, 0xFF800000, count, dtype=np.uint32, endpoint=True).view(np.float32)
    ends = float32([0, 0x80000000, 0x80000001, 0x807FFFFF, 0x80800000, 0xFF7FFFFF, 0xFF800000])
    return np.concatenate([patterns, (-30 * random.random(count)).astype(np.float32), ends])


# --- the program: rule 9 ----------------------------------------------------------------------------------------


@tables
def test_checksum_of_the_table(implementation: str) -> None:
    assert hashlib.sha256(table(implementation).astype("<i4").tobytes()).hexdigest() == SHA256


@tables
def test_the_table_is_a_function_of_the_fraction_alone(implementation: str) -> None:
    """Whole binades do not reach it; they become the shift."""
    steps = np.arange(0, STEPS, 997, dtype=np.int32)
    far = steps + np.int32(40 * STEPS)
    of = (
        torch_engine.weight_fraction(torch.from_numpy(far)).numpy()
        if implementation == "torch"
        else reference.mantissas(far)
    )
    assert np.array_equal(of, table(implementation)[steps])


def test_fused_multiply_add_would_show_in_the_table() -> None:
    """A fused step rounds once, as float64 does here for products of 24-bit numbers; 1.8 million entries change."""
    f = (np.arange(STEPS) * 2.0**-23).astype(np.float32)
    q = np.full(STEPS, float.fromhex("-0x1.ef66d2p-11"), np.float32)
    for c in ("0x1.2da7d6p-7", "-0x1.c4fef8p-5", "0x1.ebe392p-3", "-0x1.62e3bcp-1", "1.0"):
        q = (q.astype(np.float64) * f + float.fromhex(c)).astype(np.float32)
    fused = (q * np.float32(2**24)).astype(np.int64)
    assert np.count_nonzero(fused != table("numpy")) > 1_800_000


def test_torch_equals_numpy_on_millions_of_d() -> None:
    for seed in range(4):
        d = every_kind_of_d(1 << 19, seed)
        assert np.array_equal(by_torch(d), reference.weights(d))


def test_torch_equals_numpy_at_the_ends_of_binades() -> None:
    """Where T crosses a multiple of 2**23, and around the clamp at -28."""
    crossings = np.array([-n * STEPS / 12102203.0 for n in range(1, 41)] + [-28.0], np.float32)
    offsets = np.arange(-300, 301, dtype=np.int64)
    d = float32((crossings.view(np.uint32).astype(np.int64)[:, None] + offsets).astype(np.uint32).ravel())
    assert np.array_equal(by_torch(d), reference.weights(d))


# --- its shape: rule 10 -----------------------------------------------------------------------------------------


@weights
def test_weight_of_the_maximum(weight: Weight) -> None:
    assert weight(float32([0])).tolist() == [2**40]


@weights
@pytest.mark.parametrize("d", [-28.0, -28.5, -100.0, -3.4e38, -np.inf])
def test_far_below_the_maximum_weighs_nothing(weight: Weight, d: float) -> None:
    assert weight(np.array([d], np.float32)).tolist() == [0]


@tables
def test_the_table_never_rises(implementation: str) -> None:
    assert (np.diff(table(implementation)) <= 0).all()
    assert (table(implementation)[0], table(implementation)[-1]) == (2**24, 2**23)


@weights
def test_never_rises_as_d_falls(weight: Weight) -> None:
    d = np.sort(every_kind_of_d(1 << 19, seed=9))[::-1].copy()
    assert (np.diff(weight(d)) <= 0).all()


@weights
def test_never_rises_between_neighbours(weight: Weight) -> None:
    """Runs of adjacent floats, 2**12 of them from each of 256 places."""
    starts = np.random.default_rng(0).integers(0xB2000000, 0xC1F00000, 256, dtype=np.uint32)
    d = float32((starts[:, None] + np.arange(1 << 12, dtype=np.uint32)).ravel())
    assert (np.diff(weight(d).reshape(256, -1), axis=1) <= 0).all()


@weights
def test_constant_just_below_the_maximum(weight: Weight) -> None:
    """-2**-26 < d <= 0, all subnormals included: whether a device flushes them cannot be seen."""
    largest = int(np.float32(2.0**-26).view(np.uint32)) - 1
    sample = np.random.default_rng(0).integers(0, largest, 1 << 18, dtype=np.uint32, endpoint=True)
    magnitudes = np.concatenate([sample, np.arange(1 << 12, dtype=np.uint32), np.array([0x7FFFFF, largest], np.uint32)])
    assert set(weight(float32(magnitudes | np.uint32(0x80000000))).tolist()) == {2**40}


def test_the_greatest_sum_fits() -> None:
    """2**22 weights of the maximum are 2**62, and m * Z of the target stays below 2**63: see test_reference.py."""
    assert 2**22 * int(reference.weights(float32([0]))[0]) == 2**62


# --- its error: rule 11 -----------------------------------------------------------------------------------------

BOUND = 2.5e-6
MEASURED = 1.754e-6
"""The worst over every fp32 d in [-28, 0] and both ends of what rounds to it; without that rounding 9.34e-7."""
WORST_D, WORST_EXACT = -22.39801025390625, -22.39801025390625 + 2.0**-20


def relative_error(weight: int, exact: mpmath.mpf) -> float:
    """What of |W - 2**40 * exp(exact)| exceeds 1, relative to the latter."""
    true = mpmath.exp(exact) * 2**40
    return float((abs(weight - true) - 1) / true)


@pytest.fixture
def precise() -> Iterator[None]:
    with mpmath.workprec(120):
        yield


@pytest.mark.usefixtures("precise")
@weights
def test_error_on_a_grid_and_at_random(weight: Weight) -> None:
    random = np.random.default_rng(0)
    d = np.concatenate(
        [-np.arange(0, 28, 1 / 128), -28 * random.random(4000), -(2.0 ** random.uniform(-26, 4.8, 4000))]
    )
    d = d.astype(np.float32)
    half_ulp = np.spacing(np.abs(d)).astype(np.float64) / 2
    for w, at, half in zip(weight(d).tolist(), d.tolist(), half_ulp.tolist(), strict=True):
        assert max(relative_error(w, mpmath.mpf(at) + side * half) for side in (-1, 0, 1)) <= MEASURED


@pytest.mark.usefixtures("precise")
@weights
def test_the_measured_error_is_reached(weight: Weight) -> None:
    """By logits whose difference is WORST_EXACT and rounds to WORST_D."""
    logit, maximum = np.float32(WORST_D), np.float32(-(2.0**-20))
    assert mpmath.mpf(float(logit)) - mpmath.mpf(float(maximum)) == WORST_EXACT
    assert logit - maximum == np.float32(WORST_D)
    error = relative_error(int(weight(np.array([WORST_D], np.float32))[0]), mpmath.mpf(WORST_EXACT))
    assert MEASURED - 1e-9 < error <= MEASURED < BOUND


def test_error_of_the_table() -> None:
    """Against 2**-f in float64, exact enough: 2.51e-7 at most, over every entry."""
    exact = np.exp2(-np.arange(STEPS) * 2.0**-23)
    assert np.abs(table("numpy") * 2.0**-24 / exact - 1).max() < 2.51e-7
