"""The pivot search on ordered integer keys: the paper's quaternary search, exact and without an iteration cap.

Count and mass are one search with two measures: a token counts 1, or its weight. The bracket [low, high) always holds
the answer: the measure of the keys >= low reaches the goal, that of the keys >= high does not.

        low ------ pivot 1 ------ pivot 2 ------ pivot 3 ------ high
         |  a quarter of the span of integers  |
        reaches      reaches       does not       does not         -> the next bracket is [pivot 1, pivot 2)

Slot 0 of the pivots is `low` itself, which costs a lane of a 4-wide reduction that is there anyhow and brings the early
stop: where a pivot reaches the goal and would not without its smallest survivors, those are the cut.

Everything here works on a tile of keys in registers; `stream` brings a whole row down to one.
"""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.order import HIGHEST, INELIGIBLE
from qrita.kernels.weight import weights_of

PIVOTS = tl.constexpr(4)


@triton.jit
def measure(keys, top, MASS: tl.constexpr):
    """What each token of a tile counts: int64 weights, or int32 ones; nothing where it is ineligible."""
    if MASS:
        return tl.where(keys > INELIGIBLE, weights_of(keys, top), 0)
    else:
        return (keys > INELIGIBLE).to(tl.int32)


@triton.jit
def bounds(keys):
    """(low, top, eligible): the least and greatest eligible keys (HIGHEST, INELIGIBLE if none), how many there are."""
    low = tl.min(tl.where(keys > INELIGIBLE, keys, HIGHEST), 0)
    return low, tl.max(keys, 0), tl.sum((keys > INELIGIBLE).to(tl.int32), 0)


@triton.jit
def tally(keys, amounts, pivots):
    """For each pivot: the measure of the keys at or above it, the least such key, and the measure of that key alone."""
    reach = keys[None, :] >= pivots[:, None]
    least = tl.min(tl.where(reach, keys[None, :], HIGHEST), 1)
    same = tl.sum(tl.where(keys[None, :] == least[:, None], amounts[None, :], 0), 1)
    return tl.sum(tl.where(reach, amounts[None, :], 0), 1), least, same


@triton.jit
def search(keys, top, low, high, goal, enough, MASS: tl.constexpr):
    """(key, above): the greatest key whose measure at or above it reaches `goal`, and int64, the measure above it.

    It stops early where a pivot reaches the goal with a measure of at most `enough` (0: only the exact answer will do);
    then `key` is the least key at or above that pivot. A round leaves a quarter of the bracket, so there are 17 at
    most, and most often far fewer. A bracket of one key settles whatever the tallies say: where another stream changes
    the logits under a running kernel, the answer is lost, but the kernel ends.
    """
    amounts = measure(keys, top, MASS)
    settled = 0
    key = INELIGIBLE
    above = goal * 0
    low = low.to(tl.int64)
    high = high.to(tl.int64)
    while settled == 0:
        narrowest = high - low <= 1
        pivots = (low + ((high - low) * tl.arange(0, PIVOTS) >> 2)).to(tl.int32)
        amount, least, same = tally(keys, amounts, pivots)
        reaches = amount >= goal
        settles = reaches & ((amount - same < goal) | (amount <= enough))
        settled = tl.maximum(tl.max(settles.to(tl.int32), 0), narrowest.to(tl.int32))
        key = tl.max(tl.where(settles, least, INELIGIBLE), 0)
        above = tl.max(tl.where(settles & (least == key), amount - same, 0).to(tl.int64), 0)
        low = tl.max(tl.where(reaches, pivots, INELIGIBLE).to(tl.int64), 0)
        high = tl.minimum(high, tl.min(tl.where(reaches, HIGHEST, pivots).to(tl.int64), 0))
    return key, above


@triton.jit
def nth(keys, index, key, quota):
    """int32, the index of the quota-th token with `key` of a tile in token order; of the last, where they are fewer.

    The paper's duplicate handling: a prefix sum over the tokens equal to the cut.
    """
    ties = (keys == key).to(tl.int32)
    places = tl.cumsum(ties, 0)
    return tl.max(tl.where((ties != 0) & (places <= quota), index, -1), 0)
