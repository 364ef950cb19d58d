"""A look at a sample of every row: where the cut may lie, for the passes over whole rows that follow.

Float arithmetic here decides nothing: what it finds is tested exactly later, and a miss costs time only.
"""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.entry import entry, in_turn
from qrita.kernels.order import HIGHEST, INELIGIBLE, keys_of, value_of
from qrita.kernels.rows import ONE, load_keys, row_start, top_k, top_p
from qrita.kernels.select import EVEN, HOLD_IT, MAY_HOLD, NOT_HELD

RUN = tl.constexpr(32)
"""Consecutive tokens in each piece of a sample, for whole sectors of memory."""

PIVOTS = tl.constexpr(8)
"""Words that a probe has for a row: three ascending keys, the greatest of the sample, TIES, and what nobody reads."""

TIES = tl.constexpr(4)
"""Where it says about how many tokens of the row have the key of the lowest pivot, or 0 where one of the sample has."""

DEVIATIONS = tl.constexpr(5.0)
"""Half the width of the bracket, in standard deviations of a sample's share. With 4, one normal row in 230 was outside
at p = 0.3, where few and heavy tokens make a share skewed; with 5 one in 6,000."""

LEAST = tl.constexpr(0.125)
"""Of what lies on either side of the cut, the part that a bracket leaves there at least."""

ENDS = tl.constexpr(4)
"""Pivots for each end of the bracket in a round of the search."""

PART = tl.constexpr(1.0 / 5.0)
"""What a round leaves."""

KEY_ROUNDS = tl.constexpr(3)
"""Rounds of a search by keys. Of 2**32 they leave three binades, wherever a row's logits are."""

VALUE_ROUNDS = tl.constexpr(2)
"""Rounds by logits, after those. Of a normal row they leave a percent of the tokens, while the ends of the bracket are
some five percent from the cut. Eight rounds of keys found the cut no better."""

PEAKED = tl.constexpr(8)
"""A row is peaked where top-p keeps at most one in so many of a sample. Of the row itself it keeps far fewer then: the
sample has not seen the heaviest tokens."""

FEW = tl.constexpr(3)
"""Tokens of a sample that stand for so few of a row that groups hold them: of rows that are nearly all masked."""

SHARED = tl.constexpr(2)
"""A row is even where top-p keeps one in so many of a sample at least, as of normal rows at p = 0.9. That tokens which
the sample has not seen weigh enough to make up for so many would be a surprise, and cost a second tally."""

ROUNDED = tl.constexpr(256.0)
"""Keys that one in fp32 may be off by."""

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def spread(vocab, SAMPLE: tl.constexpr):
    """int32 [SAMPLE], offsets in a row, in pieces spread evenly over it; past its end where it is shorter."""
    i = tl.arange(0, SAMPLE)
    piece = tl.maximum(vocab // (SAMPLE // RUN), RUN)
    return (i // RUN) * piece + i % RUN


@triton.jit
def key_of_value(value):
    """int32, the key of an fp32 number; INELIGIBLE of NaN and -inf."""
    return keys_of(value.to(tl.int32, bitcast=True), "fp32")


@triton.jit
def amounts_of(keys, top_value, k):
    """fp32, about what tokens measure: 1, or e**(logit - top_value) where top-k is off; 0 where ineligible."""
    amounts = tl.exp2((value_of(keys) - top_value) * LOG2_E)
    return tl.where(keys > INELIGIBLE, tl.where(k > 0, 1.0, amounts), 0.0)


@triton.jit
def value_at(key):
    """fp32, the logit of a key in fp32, or the nearest that there is."""
    return value_of(tl.minimum(tl.maximum(key, -0x7F800000), 0x7F800000).to(tl.int32))


@triton.jit
def part_of(first, end, number):
    """(first, end) of one of the parts that a bracket is cut into by the pivots of a round."""
    span = end - first
    return first + span * (number * PART), tl.where(number < ENDS, first + span * ((number + 1) * PART), end)


@triton.jit
def closed_in(x, amounts, goal, ends, ROUNDS: tl.constexpr):
    """The ends (near, near_end, far, far_end) of two brackets of `x`, after some more rounds.

    Both are searched at once, half of the lanes of the pivots for the lower one, half for the upper. A round leaves a
    fifth, in which the amounts of x at or above come down to a lane's goal:

        near ----- pivot 1 ----- pivot 2 ----- pivot 3 ----- pivot 4 ----- near_end
    """
    near, near_end, far, far_end = ends
    lane = tl.arange(0, 2 * ENDS)
    lower = lane < ENDS
    for _ in range(ROUNDS):
        first = tl.where(lower, near, far)
        span = tl.where(lower, near_end, far_end) - first
        pivots = first + span * ((lane % ENDS + 1) * PART)
        reach = (x[None, :] >= pivots[:, None]).to(tl.float32)
        reaches = tl.sum(reach * amounts[None, :], 1) >= goal
        reached = tl.sum(tl.where(reaches, tl.where(lower, 1, 1 << 8), 0), 0)
        below, above = reached & 0xFF, reached >> 8
        near, near_end = part_of(near, near_end, below)
        far, far_end = part_of(far, far_end, above)
    return near, near_end, far, far_end


@triton.jit
def bracket_of(keys, top, k, p, vocab):
    """(low, high): keys of a sample between which the row's cut should lie, by count or by mass.

    A sample's share varies as sqrt(share * (1 - share) / n), n being its effective size, (sum w)**2 / sum w**2.
    """
    amounts = amounts_of(keys, value_of(top), k)
    total = tl.maximum(tl.sum(amounts, 0), 1e-30)
    share = tl.where(k > 0, k.to(tl.float32) / vocab.to(tl.float32), p.to(tl.float32, bitcast=True))
    width = tl.sqrt(share * (1.0 - share) * tl.sum(amounts * amounts, 0)) / total * DEVIATIONS
    more = tl.minimum(share + width, 1.0 - (1.0 - share) * LEAST)
    less = tl.maximum(share - width, share * LEAST)
    goal = tl.where(tl.arange(0, 2 * ENDS) < ENDS, more, less) * total
    least = tl.min(tl.where(keys > INELIGIBLE, keys, HIGHEST), 0)
    first, end = least.to(tl.float32), top.to(tl.float32)
    near, near_end, far, far_end = closed_in(keys.to(tl.float32), amounts, goal, (first, end, first, end), KEY_ROUNDS)
    ends = value_at(near - ROUNDED), value_at(near_end + ROUNDED), value_at(far - ROUNDED), value_at(far_end + ROUNDED)
    values = value_of(keys)
    near, _, far, _ = closed_in(values, amounts, goal, ends, VALUE_ROUNDS)
    # The ends are put onto tokens of the sample, so that a run of equal ones is a bracket of one key.
    low = tl.min(tl.where(values >= near, keys, HIGHEST), 0)
    high = tl.min(tl.where(values >= far, keys, HIGHEST), 0)
    return tl.minimum(low, top), tl.minimum(tl.maximum(low, high), top)


@entry
def probe_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64,
    k_words, k_stride: tl.int64, k_kind, k_scalar, p_words, p_halves, p_stride: tl.int64, p_kind, p_scalar,
    probes, marks, heads, held, vocab, keep,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, EARLY: tl.constexpr, SAMPLE: tl.constexpr,
):  # fmt: skip
    """One program a row: probes [rows, PIVOTS], marks [rows], NOT_HELD into heads [rows] and 0 into held [rows].

    Pivots are HIGHEST where there is nothing to look for. A row is marked HOLD_IT where groups, `keep` of them, are
    likely to hold the answer, EVEN where k or its sample says that they cannot or hardly, and MAY_HOLD otherwise.
    """
    in_turn(EARLY, 1)
    row = tl.program_id(0).to(tl.int64)
    k = top_k(k_words, k_stride, k_kind, k_scalar, row, vocab)
    p = top_p(p_words, p_halves, p_stride, p_kind, p_scalar, row)
    none = (row * 0).to(tl.int32) + HIGHEST
    low, high, top = none, none, none
    ties = none * 0
    likely = (k > 0) & (k <= keep)
    even = k > keep
    if (k > 0) | (p != ONE):
        base = row_start(logits, row, row_stride, ALIGNED)
        keys = load_keys(base, spread(vocab, SAMPLE), column_stride, vocab, FORMAT, ALIGNED)
        top = tl.max(keys, 0)
        if top > INELIGIBLE:
            low, high = bracket_of(keys, top, k, p, vocab)
            # Three counts in one sum, of at most 2**14 tokens each.
            both = tl.where(keys >= low, 1 << 16, 0) + (keys > INELIGIBLE).to(tl.int32)
            both, ties = tl.split(tl.sum(tl.join(both, (keys == low).to(tl.int32)), 0))
            reached, eligible = both >> 16, both & 0xFFFF
            likely = likely | ((k == 0) & ((reached <= FEW) | (reached * PEAKED <= eligible)))
            even = even | ((k == 0) & (reached > FEW) & (reached * SHARED >= eligible))
        else:
            likely = likely | (k == 0)
    middle = key_of_value(0.5 * value_of(low) + 0.5 * value_of(high))
    tl.store(probes + row * PIVOTS, low)
    tl.store(probes + row * PIVOTS + 1, tl.minimum(tl.maximum(middle, low), high))
    tl.store(probes + row * PIVOTS + 2, tl.minimum(high, HIGHEST - 1) + 1)
    tl.store(probes + row * PIVOTS + 3, top)
    tl.store(probes + row * PIVOTS + TIES, tl.where(ties > 1, ties * (vocab // SAMPLE), 0))
    tl.store(marks + row, tl.where(likely, HOLD_IT, tl.where(even, EVEN, MAY_HOLD)))
    tl.store(heads + row, NOT_HELD)
    tl.store(held + row, 0)
