"""The first few of a tile's keys in the order: a search that may stop early, and a bitmap of those that it finds."""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.bits import bitmap, first_bits
from qrita.kernels.order import INELIGIBLE
from qrita.kernels.search import bounds, pivots_in, span_of


@triton.jit
def counts_at(keys, first, second, third):
    """(at_first, at_second, at_third): how many of a tile's keys, fewer than 2**15, reach each of three pivots.

    In one reduction of two words, since warps add up words of 32 bits in one instruction on some cards:

    31         16 15          0    31          0
    | >= second  | >= first   |    | >= third  |
    """
    both = tl.where(keys >= first, 1, 0) + tl.where(keys >= second, 1 << 16, 0)
    both, third = tl.split(tl.sum(tl.join(both, tl.where(keys >= third, 1, 0)), 0))
    return both & 0xFFFF, both >> 16, third


@triton.jit
def reach_of(keys, goal, enough):
    """(key, reached, eligible): a key that at least `goal` keys reach, how many do, and how many keys are eligible.

    They are at most `enough`, unless it takes the equals of `key` to come to the goal. Where not more than `enough` are
    eligible, all of them reach it; else at least `goal` have to be, and `goal` at most `enough`.
    """
    eligible = tl.sum((keys > INELIGIBLE).to(tl.int32), 0)
    reached = eligible
    start = eligible * 0 + INELIGIBLE + 1
    end = start
    if eligible > enough:
        start, top, _ = bounds(keys)
        end = top + 1
    first, second, third = pivots_in(start, end)
    # A round leaves a quarter, so there are 17 at most, also where another stream changes the logits meanwhile.
    while (reached > enough) & (span_of(start, end) > 1):
        at_first, at_second, at_third = counts_at(keys, first, second, third)
        end = tl.where(at_third < goal, third, end)
        end = tl.where(at_second < goal, second, end)
        end = tl.where(at_first < goal, first, end)
        start = tl.where(at_first >= goal, first, start)
        start = tl.where(at_second >= goal, second, start)
        start = tl.where(at_third >= goal, third, start)
        reached = tl.where(at_first >= goal, at_first, reached)
        reached = tl.where(at_second >= goal, at_second, reached)
        reached = tl.where(at_third >= goal, at_third, reached)
        first, second, third = pivots_in(start, end)
    return start, reached, eligible


@triton.jit
def first_of(keys, key, reached, room, BITS: tl.constexpr):
    """A bitmap, BITS to a word, of the keys that reach `key`; if they exceed `room`, without the last equals."""
    if reached <= room:
        words = bitmap(keys >= key, BITS)
    else:
        quota = room - tl.sum((keys > key).to(tl.int32), 0)
        words = bitmap(keys > key, BITS) | first_bits(bitmap(keys == key, BITS), quota)
    return words
