"""What selection leaves behind: the record of a row's cut. Everything downstream reads that and nothing else.

Selection itself takes the same steps from candidates (`select_groups`) and from whole rows (`select_rows`): the k cut,
the mass of what it left, the p cut, and the one token that ends the kept set among equals.
"""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.order import INELIGIBLE

# The records of all rows: cuts [CUT_FIELDS, rows] int32, and masses [2, rows] int64, kept and total.
CUT_KEY = tl.constexpr(0)
CUT_INDEX = tl.constexpr(1)
CUT_COUNT = tl.constexpr(2)
CUT_STATE = tl.constexpr(3)
CUT_FIELDS = tl.constexpr(4)

# Where a row stands: its candidates did not contain the answer; its cut is known; its output is written as well; of its
# cut the index is not known, in whose place stands how many tokens of the cut's key are kept.
MISSED = tl.constexpr(0)
SELECTED = tl.constexpr(1)
EMITTED = tl.constexpr(2)
TIED = tl.constexpr(3)

# What a call wants beside the cut, as bits.
WANT_MASS = tl.constexpr(1)
WANT_LIST = tl.constexpr(2)

NOT_HELD = tl.constexpr(-1)
"""The head of a row of which there are no survivors to settle; other heads are their number, and complete or not:

    31      1 0
    | number | complete |
"""

# The rows of the output that are filled while the logits are read, and into which settling writes what is kept.
NO_ROW = tl.constexpr(0)
EVERY_ROW = tl.constexpr(1)
MARKED_ROWS = tl.constexpr(2)


# What the sample of a row says of its groups. They may hold the answer. They are likely to: the output is filled while
# the row is read, in vain where they do not. Or they cannot, or hardly: they are not looked at.
MAY_HOLD = tl.constexpr(0)
HOLD_IT = tl.constexpr(1)
EVEN = tl.constexpr(2)


@triton.jit
def is_filled(filled, marks, row):
    """Whether a row is one of those."""
    yes = filled == EVERY_ROW
    if filled == MARKED_ROWS:
        yes = tl.load(marks + row) == HOLD_IT
    return yes


@triton.jit
def tokens_for(short, each):
    """How many tokens of weight `each` bring a mass to its target, of which it is `short`: a ceiling division.

    Of a weight of 0, whose tokens bring nothing, it means nothing; nobody uses it then, but it is worked out.
    """
    return (short + each - 1) // tl.maximum(each, 1)


@triton.jit
def one_or_more(short, each):
    """`tokens_for`, which mostly is one: a division of 64 bits takes some hundred instructions, one after the other."""
    tokens = short * 0 + 1
    if short > each:
        tokens = tokens_for(short, each)
    return tokens


@triton.jit
def kept_by(keys, index, cut_key, cut_index):
    """Whether tokens come no later than the cut in the order."""
    return (keys > cut_key) | ((keys == cut_key) & (index <= cut_index) & (keys > INELIGIBLE))


@triton.jit
def store_cut(cuts, masses, rows, row, key, index, count, mass, total, state):
    """Write the record of one row."""
    tl.store(cuts + CUT_KEY * rows + row, key)
    tl.store(cuts + CUT_INDEX * rows + row, index)
    tl.store(cuts + CUT_COUNT * rows + row, count)
    tl.store(cuts + CUT_STATE * rows + row, state)
    tl.store(masses + row, mass)
    tl.store(masses + rows + row, total)
