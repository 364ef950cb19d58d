"""The package's searches with one part exchanged: in a tile of registers, and over whole rows."""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.order import HIGHEST, INELIGIBLE
from qrita.kernels.rows import load_keys
from qrita.kernels.search import measure, search
from qrita.kernels.stream import PIVOTS, SHARE, row_collect, row_tally

THREE_PIVOTS = tl.constexpr(0)
ONE_PIVOT = tl.constexpr(1)
SORT = tl.constexpr(2)


@triton.jit
def search_by_one(keys, top, low, high, goal, MASS: tl.constexpr):
    """`search.search` with one pivot a round: two lanes, of which the first counts what is left in the bracket."""
    amounts = measure(keys, top, MASS)
    lane = tl.arange(0, 2)
    above = goal * 0
    low = low.to(tl.int64)
    high = high.to(tl.int64)
    settled = high - low <= 1
    while not settled:
        pivots = (low + ((high - low) * lane >> 1)).to(tl.int32)
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
def searched(keys, top, low, high, goal, MASS: tl.constexpr, SEARCH: tl.constexpr):
    """(key, above) by one of the two searches."""
    if SEARCH == ONE_PIVOT:
        return search_by_one(keys, top, low, high, goal, MASS)
    else:
        return search(keys, top, low, high, goal, MASS)


@triton.jit
def tally_by_one(
    base, column_stride, vocab, top, pivot, MASS: tl.constexpr, FORMAT: tl.constexpr, ALIGNED: tl.constexpr,
    TILE: tl.constexpr
):  # fmt: skip
    """`stream.row_tally` of one pivot."""
    counts = tl.zeros([TILE], tl.int32)
    amounts = tl.zeros([TILE], tl.int64 if MASS else tl.int32)
    for start in tl.range(0, vocab, TILE, num_stages=2):
        keys = load_keys(base, start + tl.arange(0, TILE), column_stride, vocab, FORMAT, ALIGNED)
        reach = keys >= pivot
        counts += reach.to(tl.int32)
        if MASS:
            amounts += tl.where(reach, measure(keys, top, True), 0)
    count = tl.sum(counts, 0).to(tl.int64)
    if MASS:
        return tl.sum(amounts, 0), count
    else:
        return count, count


@triton.jit
def row_searched(
    base, column_stride, vocab, top, low, high, reached, goal, scratch, MASS: tl.constexpr, SEARCH: tl.constexpr,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, TILE: tl.constexpr
):  # fmt: skip
    """(key, above, count): `stream.row_search` without its sample."""
    low = low.to(tl.int64)
    high = high.to(tl.int64)
    key = INELIGIBLE
    above, count = goal * 0, goal * 0
    fits_at = goal * 0 + TILE // SHARE
    settled = False
    while not settled:
        if reached - count <= fits_at:
            keys, fits = row_collect(base, column_stride, vocab, low, high, scratch, FORMAT, ALIGNED, TILE)
            if fits:
                key, more = searched(keys, top, low, high, goal - above, MASS, SEARCH)
                above += more
                count += tl.sum((keys > key).to(tl.int32), 0)
            fits_at = tl.where(fits, fits_at, fits_at // 4)
            settled = fits
        else:
            if SEARCH == ONE_PIVOT:
                pivot = low + (high - low >> 1)
                amount, at = tally_by_one(
                    base, column_stride, vocab, top, pivot.to(tl.int32), MASS, FORMAT, ALIGNED, TILE
                )
                reaches = amount >= goal
                reached = tl.where(reaches, at, reached)
                above = tl.where(reaches, above, amount)
                count = tl.where(reaches, count, at)
                low = tl.where(reaches, pivot, low)
                high = tl.where(reaches, high, pivot)
            else:  # the first of the four lanes tallies the bracket's lower end, of which the answer is known
                pivots = low + ((high - low) * tl.arange(0, PIVOTS) >> 2)
                amounts, ats = row_tally(
                    base, column_stride, vocab, top, pivots.to(tl.int32), MASS, FORMAT, ALIGNED, TILE
                )
                reaching = amounts >= goal
                reached = tl.min(tl.where(reaching, ats, reached), 0)
                above = tl.max(tl.where(reaching, above, amounts), 0)
                count = tl.max(tl.where(reaching, count, ats), 0)
                low = tl.max(tl.where(reaching, pivots, low), 0)
                high = tl.min(tl.where(reaching, high, pivots), 0)
            key = low.to(tl.int32)
            settled = high - low <= 1
    return key, above, count
