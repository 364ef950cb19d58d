"""Tallies: about how much of a row lies at or above each pivot of its probe. Floats, which only steer."""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.order import value_of
from qrita.kernels.probe import PIVOTS

TALLIES = tl.constexpr(4)
"""Measures that a split leaves: of its tokens at or above each of the three pivots, and of all."""

IN_THREAD = tl.constexpr(4)
"""Neighbours that a thread holds and adds by itself, without a word to others."""


@triton.jit
def pivots_of(probes, row):
    """(low, middle, high) keys, and fp32, the value of the greatest key of the sample."""
    probes += row * PIVOTS
    return tl.load(probes), tl.load(probes + 1), tl.load(probes + 2), value_of(tl.load(probes + 3))


@triton.jit
def folded(amounts, TILE: tl.constexpr):
    """[TILE // IN_THREAD], sums of neighbours."""
    return tl.sum(tl.reshape(amounts, [TILE // IN_THREAD, IN_THREAD]), 1)


@triton.jit
def store_tallies(tallies, place, at_low, at_middle, at_high, total):
    """The tallies of one split."""
    tallies += place * TALLIES
    tl.store(tallies, tl.sum(at_low, 0))
    tl.store(tallies + 1, tl.sum(at_middle, 0))
    tl.store(tallies + 2, tl.sum(at_high, 0))
    tl.store(tallies + 3, tl.sum(total, 0))
