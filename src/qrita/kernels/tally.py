"""Tallies: about how much of a row lies at or above each pivot of its probe. Floats, which only steer."""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.order import FIRST, value_of
from qrita.kernels.probe import LOG2_E, PIVOTS

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
def amounts_at(values, ranks, top_value, k):
    """`probe.amounts_of` logits and their ranks."""
    amounts = tl.where(ranks >= FIRST, 1.0, 0.0)
    if k == 0:
        amounts = tl.where(ranks >= FIRST, tl.exp2((values - top_value) * LOG2_E), 0.0)
    return amounts


@triton.jit
def added(tallies, values, ranks, under, top_value, k, TILE: tl.constexpr):
    """Tallies (at low, at middle, at high, of all; each [TILE // IN_THREAD]) with those of a tile.

    `under`: for each pivot the greatest rank that does not reach it.
    """
    at_low, at_middle, at_high, total = tallies
    under_low, under_middle, under_high = under
    amounts = amounts_at(values, ranks, top_value, k)
    at_low += folded(tl.where(ranks > under_low, amounts, 0.0), TILE)
    at_middle += folded(tl.where(ranks > under_middle, amounts, 0.0), TILE)
    at_high += folded(tl.where(ranks > under_high, amounts, 0.0), TILE)
    return at_low, at_middle, at_high, total + folded(amounts, TILE)


@triton.jit
def no_tallies(TILE: tl.constexpr):
    """Tallies of nothing."""
    none = tl.zeros([TILE // IN_THREAD], tl.float32)
    return none, none, none, none


@triton.jit
def store_tallies(target, place, tallies):
    """The tallies of one split."""
    target += place * TALLIES
    for i in tl.static_range(TALLIES):
        tl.store(target + i, tl.sum(tallies[i], 0))


@triton.jit
def tallies_of(tallies, row, splits, SPLITS: tl.constexpr):
    """(at_low, at_middle, at_high, total) of a row: the sums over its splits, or shares."""
    s = tl.arange(0, SPLITS)
    places = tallies + (row * splits + s) * TALLIES
    at_low = tl.sum(tl.load(places, mask=s < splits, other=0.0), 0)
    at_middle = tl.sum(tl.load(places + 1, mask=s < splits, other=0.0), 0)
    at_high = tl.sum(tl.load(places + 2, mask=s < splits, other=0.0), 0)
    return at_low, at_middle, at_high, tl.sum(tl.load(places + 3, mask=s < splits, other=0.0), 0)


@triton.jit
def goal_of(k, p, total):
    """fp32, about the measure that the kept tokens have to reach."""
    return tl.where(k > 0, k.to(tl.float32), p.to(tl.float32, bitcast=True) * total)
