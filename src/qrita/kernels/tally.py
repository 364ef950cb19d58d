"""Tallies: about how much of a row lies at or above each pivot of its probe. Floats, which only steer."""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.order import value_of
from qrita.kernels.probe import LOG2_E, PIVOTS, TIES

TALLIES = tl.constexpr(4)
"""Measures that a split leaves: of its tokens at or above each of the three pivots, and of all."""

IN_THREAD = tl.constexpr(4)
"""Tokens of a tile that a thread holds at least, and adds by itself, without a word to others."""

LIGHTEST = tl.constexpr(-160.0)
"""2 to that power is 0 in fp32."""


@triton.jit
def pivots_of(probes, row):
    """(low, middle, high) keys, and fp32, the value of the greatest key of the sample."""
    probes += row * PIVOTS
    return tl.load(probes), tl.load(probes + 1), tl.load(probes + 2), value_of(tl.load(probes + 3))


@triton.jit
def ties_of(probes, row):
    """fp32, about how many tokens of the row have one and the same key near the cut; few are told from none."""
    return tl.load(probes + row * PIVOTS + TIES).to(tl.float32)


@triton.jit
def folded(amounts, ALIGNED: tl.constexpr, TILE: tl.constexpr):
    """[TILE // IN_THREAD], sums of what one thread holds: neighbours where accesses are wide.

    Otherwise it holds every 128th token, say: of unaligned rows the sums of neighbours took up to 10 shuffles a token.
    """
    if ALIGNED:
        return tl.sum(tl.reshape(amounts, [TILE // IN_THREAD, IN_THREAD]), 1)
    else:
        return tl.sum(tl.reshape(amounts, [IN_THREAD, TILE // IN_THREAD]), 0)


@triton.jit
def amounts_at(values, top_value, k):
    """`probe.amounts_of` logits; what is too light for floats weighs nothing, as NaN does."""
    if k == 0:
        exponents = (values - top_value) * LOG2_E
        amounts = tl.exp2(tl.where(exponents > LIGHTEST, exponents, LIGHTEST))
    else:
        amounts = (values > float("-inf")).to(tl.float32)
    return amounts


@triton.jit
def added(tallies, values, pivots, top_value, k, ALIGNED: tl.constexpr, TILE: tl.constexpr):
    """Tallies (at low, at middle, at high, of all; each [TILE // IN_THREAD]) with those of a tile of logits.

    `pivots`: `order.value_from` of each.
    """
    at_low, at_middle, at_high, total = tallies
    low, middle, high = pivots
    amounts = amounts_at(values, top_value, k)
    at_low += folded(amounts * (values >= low).to(tl.float32), ALIGNED, TILE)
    at_middle += folded(amounts * (values >= middle).to(tl.float32), ALIGNED, TILE)
    at_high += folded(amounts * (values >= high).to(tl.float32), ALIGNED, TILE)
    return at_low, at_middle, at_high, total + folded(amounts, ALIGNED, TILE)


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
