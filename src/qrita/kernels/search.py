"""The pivot search on ordered integer keys: the paper's quaternary search, exact and without an iteration cap.

Count and mass are one search with two measures: a token counts 1, or its weight. The bracket [low, high) always holds
the answer: the measure of the keys >= low reaches the goal, that of the keys >= high does not.

        low ------ pivot 1 ------ pivot 2 ------ pivot 3 ------ high
         |  a quarter of the span of integers  |
        reaches      reaches       does not       does not         -> the next bracket is [pivot 1, pivot 2)

Slot 0 of the pivots would be `low` itself, of which the answer is known. It counts the keys inside the bracket instead:
where there is one, that is the answer, whatever the span. This is the paper's early stop; it costs no reduction.

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
def search(keys, top, low, high, goal, MASS: tl.constexpr):
    """(key, above): the greatest key whose measure at or above it reaches `goal`, and int64, the measure above it.

    No key of the tile is at or above `high`. A round leaves a quarter of the bracket, so there are 17 at most, and most
    often far fewer. A bracket of one key settles whatever the tallies say: where another stream changes the logits
    under a running kernel, the answer is lost, but the kernel ends.
    """
    amounts = measure(keys, top, MASS)
    lane = tl.arange(0, PIVOTS)
    above = goal * 0
    low = low.to(tl.int64)
    high = high.to(tl.int64)
    settled = high - low <= 1
    while not settled:
        pivots = (low + ((high - low) * lane >> 2)).to(tl.int32)
        inside = (keys >= low.to(tl.int32)) & (keys < high.to(tl.int32))
        reach = keys[None, :] >= pivots[:, None]
        found = tl.sum(
            tl.where(lane[:, None] == 0, inside[None, :].to(amounts.dtype), tl.where(reach, amounts[None, :], 0)), 1
        ).to(tl.int64)
        reaches = (lane == 0) | (found >= goal)
        alone = tl.max(tl.where(lane == 0, found, 0), 0) <= 1
        above = tl.max(tl.where(reaches, above, found), 0)
        low = tl.max(tl.where(reaches, pivots, INELIGIBLE), 0).to(tl.int64)
        high = tl.minimum(high, tl.min(tl.where(reaches, HIGHEST, pivots), 0).to(tl.int64))
        settled = alone | (high - low <= 1)
    return tl.max(tl.where(keys < high.to(tl.int32), keys, INELIGIBLE), 0), above


@triton.jit
def nth(keys, index, key, quota):
    """int32, the index of the quota-th token with `key` of a tile in token order; of the last, where they are fewer.

    The paper's duplicate handling: a prefix sum over the tokens equal to the cut.
    """
    ties = (keys == key).to(tl.int32)
    places = tl.cumsum(ties, 0)
    return tl.max(tl.where((ties != 0) & (places <= quota), index, -1), 0)
