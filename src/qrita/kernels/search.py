"""The pivot search on ordered integer keys: the paper's quaternary search, exact and without an iteration cap.

Count and mass are one search with two measures: a token counts 1, or its weight. The bracket [low, high) always holds
the answer: the measure of the keys >= low reaches the goal, that of the keys >= high does not.

        low ------ pivot 1 ------ pivot 2 ------ pivot 3 ------ high
         |  a quarter of the span of integers  |
        reaches      reaches       does not       does not         -> the next bracket is [pivot 1, pivot 2)

Beside the measures at three pivots a round counts the keys inside the bracket: where there is one, that is the answer,
whatever the span. This is the paper's early stop; it costs no reduction.

Everything here works on a tile of keys in registers; `stream` brings a whole row down to one.
"""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.order import HIGHEST, INELIGIBLE
from qrita.kernels.weight import weights_of


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
    eligible = keys > INELIGIBLE
    top, flipped = tl.split(tl.max(tl.join(keys, ~tl.where(eligible, keys, HIGHEST)), 0))  # ~ turns the order around
    return ~flipped, top, tl.sum(eligible.to(tl.int32), 0)


@triton.jit
def four_sums(a, b, c, d):
    """The sums of four tiles in one reduction, so that the warps of a program meet once and not four times.

    Joined along a new axis, which a thread holds whole: no layout changes, and no register is needed twice.
    """
    ab, cd = tl.split(tl.sum(tl.join(tl.join(a, b), tl.join(c, d)), 0))
    sum_a, sum_b = tl.split(ab)
    sum_c, sum_d = tl.split(cd)
    return sum_a, sum_b, sum_c, sum_d


@triton.jit
def span_of(low, high):
    """uint32, which holds how many keys there are in any [low, high)."""
    return high.to(tl.uint32, bitcast=True) - low.to(tl.uint32, bitcast=True)


@triton.jit
def pivots_in(low, high):
    """Three keys that quarter [low, high)."""
    span = span_of(low, high)
    quarter = (span >> 2).to(tl.int32, bitcast=True)
    half = (span >> 1).to(tl.int32, bitcast=True)
    return low + quarter, low + half, low + half + quarter


@triton.jit
def closed_in(keys, amounts, low, high, goal):
    """(key, above): `search` for any amounts; those above `key` in the type of `goal`.

    A round leaves a quarter of the bracket, so there are 17 at most, and most often far fewer. A bracket of one key
    settles whatever the tallies say: where another stream changes the logits under a running kernel, the answer is
    lost, but the kernel ends.
    """
    above = goal * 0
    settled = span_of(low, high) <= 1
    while not settled:
        first, second, third = pivots_in(low, high)
        inside = (keys >= low) & (keys < high)
        held, at_first, at_second, at_third = four_sums(
            inside.to(amounts.dtype),
            tl.where(keys >= first, amounts, 0),
            tl.where(keys >= second, amounts, 0),
            tl.where(keys >= third, amounts, 0),
        )
        if at_first < goal:
            high, above = first, at_first.to(goal.dtype)
        elif at_second < goal:
            low, high, above = first, second, at_second.to(goal.dtype)
        elif at_third < goal:
            low, high, above = second, third, at_third.to(goal.dtype)
        else:
            low = third
        settled = (held <= 1) | (span_of(low, high) <= 1)
    return tl.max(tl.where(keys < high, keys, INELIGIBLE), 0), above


@triton.jit
def lightened(amounts, goal, heaviest):
    """int32 amounts and goal, in units of which a tile of tokens no heavier than `heaviest` has at most 2**30."""
    binade = ((heaviest.to(tl.float32) * amounts.shape[0]).to(tl.int32, bitcast=True) >> 23) - 127
    shift = tl.maximum(binade - 29, 0).to(tl.int64)
    half = (goal * 0 + 1 << shift) >> 1
    light_goal = tl.minimum(tl.maximum(goal + half >> shift, 1), 2**31 - 1)
    return (amounts + half >> shift).to(tl.int32), light_goal.to(tl.int32)


@triton.jit
def search(keys, top, low, high, goal, MASS: tl.constexpr):
    """(key, above): the greatest key whose measure at or above it reaches `goal`, and int64, the measure above it.

    No key of the tile is at or above `high`. Masses are looked for in units of some 2**-20 of a token first, in words
    that a warp adds up in one instruction where 64 bits take some twenty, and what is found is tested exactly; where it
    is wrong, as where tokens weigh next to nothing beside others, exact masses are searched.
    """
    low = low.to(tl.int32)
    high = high.to(tl.int32)
    amounts = measure(keys, top, MASS)
    if MASS:
        light, light_goal = lightened(amounts, goal, weights_of(high - 1, top))
        key, _ = closed_in(keys, light, low, high, light_goal)
        above, reached = tl.split(
            tl.sum(tl.join(tl.where(keys > key, amounts, 0), tl.where(keys >= key, amounts, 0)), 0)
        )
        if (above >= goal) | (reached < goal):
            key, above = closed_in(keys, amounts, low, high, goal)
    else:
        key, count = closed_in(keys, amounts, low, high, goal.to(tl.int32))
        above = count.to(tl.int64)
    return key, above


@triton.jit
def nth(keys, index, key, quota):
    """int32, the index of the quota-th token with `key` of a tile in token order; of the last, where they are fewer.

    The paper's duplicate handling: a prefix sum over the tokens equal to the cut.
    """
    ties = (keys == key).to(tl.int32)
    places = tl.cumsum(ties, 0)
    return tl.max(tl.where((ties != 0) & (places <= quota), index, -1), 0)
