"""Passes over a whole row in memory, in tiles, and the search that is made of them.

A pass costs a read of the row; the search makes a few, until what is left in its bracket fits a tile in registers.
A row is (base, column_stride, vocab). Lanes keep their own tallies through a pass and meet once, at its end.
"""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.order import HIGHEST, INELIGIBLE
from qrita.kernels.rows import load_keys
from qrita.kernels.search import bounds, closed_in, measure
from qrita.kernels.tally import IN_THREAD

PIVOTS = tl.constexpr(4)
"""What a pass tallies at once: a search of a tile has three and counts what is left beside them."""

DEPTH = tl.constexpr(4)
"""Keys of the bracket that each lane of a tile may collect."""

STAGES = tl.constexpr(4)
"""Tiles on their way at a time: a row is read by one program, whose pace is set by how much it waits for."""

SHARE = tl.constexpr(4)
"""A tile's part that all of them may fill. Of 2048 lanes with 512 keys among them, one holds more than 4 in 1 % of
cases."""


@triton.jit
def row_bounds(base, column_stride, vocab, FORMAT: tl.constexpr, ALIGNED: tl.constexpr, TILE: tl.constexpr):
    """`search.bounds` of a row."""
    lows = tl.full([TILE], HIGHEST, tl.int32)
    tops = tl.full([TILE], INELIGIBLE, tl.int32)
    ones = tl.zeros([TILE], tl.int32)
    for start in tl.range(0, vocab, TILE, num_stages=STAGES):
        keys = load_keys(base, start + tl.arange(0, TILE), column_stride, vocab, FORMAT, ALIGNED)
        lows = tl.minimum(lows, tl.where(keys > INELIGIBLE, keys, HIGHEST))
        tops = tl.maximum(tops, keys)
        ones += (keys > INELIGIBLE).to(tl.int32)
    return tl.min(lows, 0), tl.max(tops, 0), tl.sum(ones, 0)


@triton.jit
def row_mass_above(
    base, column_stride, vocab, top, key, FORMAT: tl.constexpr, ALIGNED: tl.constexpr, TILE: tl.constexpr
):  # fmt: skip
    """int64, the mass of a row's keys above `key`."""
    masses = tl.zeros([TILE], tl.int64)
    for start in tl.range(0, vocab, TILE, num_stages=STAGES):
        keys = load_keys(base, start + tl.arange(0, TILE), column_stride, vocab, FORMAT, ALIGNED)
        masses += tl.where(keys > key, measure(keys, top, True), 0)
    return tl.sum(masses, 0)


@triton.jit
def by_thread(x, TILE: tl.constexpr):
    """[PIVOTS, TILE // IN_THREAD], sums of neighbours, which one thread holds: fewer registers to add up in."""
    return tl.sum(tl.reshape(x, [PIVOTS, TILE // IN_THREAD, IN_THREAD]), 2)


@triton.jit
def row_tally(
    base, column_stride, vocab, top, pivots, MASS: tl.constexpr, FORMAT: tl.constexpr, ALIGNED: tl.constexpr,
    TILE: tl.constexpr
):  # fmt: skip
    """int64 measures and counts of the keys at or above each pivot. Pivots are above INELIGIBLE."""
    counts = tl.zeros([PIVOTS, TILE // IN_THREAD], tl.int32)
    amounts = tl.zeros([PIVOTS, TILE // IN_THREAD], tl.int64 if MASS else tl.int32)
    for start in tl.range(0, vocab, TILE, num_stages=STAGES):
        keys = load_keys(base, start + tl.arange(0, TILE), column_stride, vocab, FORMAT, ALIGNED)
        reach = keys[None, :] >= pivots[:, None]
        counts += by_thread(reach.to(tl.int32), TILE)
        if MASS:
            amounts += by_thread(tl.where(reach, measure(keys, top, True)[None, :], 0), TILE)
    count = tl.sum(counts, 1).to(tl.int64)
    if MASS:
        return tl.sum(amounts, 1), count
    else:
        return count, count


@triton.jit
def row_collect(
    base, column_stride, vocab, low, high, scratch, FORMAT: tl.constexpr, ALIGNED: tl.constexpr, TILE: tl.constexpr
):  # fmt: skip
    """(keys, fits): a row's keys in [low, high) as a tile of TILE // SHARE, the rest of it INELIGIBLE, in no order.

    Each lane appends to a column of its own, so that no scan and no barrier stands in the pass; then the columns close
    up. Where a lane meets more than DEPTH keys, or all of them too many, they do not fit, and the tile means nothing.
    `scratch` is TILE * (DEPTH + 1) words of this row's own.
    """
    lane = tl.arange(0, TILE)
    found = tl.zeros([TILE], tl.int32)
    tl.debug_barrier()  # whoever still reads what was collected before is done by now
    for start in tl.range(0, vocab, TILE, num_stages=STAGES):
        keys = load_keys(base, start + lane, column_stride, vocab, FORMAT, ALIGNED)
        inside = (keys >= low) & (keys < high)
        tl.store(scratch + found * TILE + lane, keys, mask=inside & (found < DEPTH))
        found += inside.to(tl.int32)
    ends = tl.cumsum(found, 0)
    held = tl.sum(found, 0)
    fits = (tl.max(found, 0) <= DEPTH) & (held <= TILE // SHARE)
    closed = scratch + TILE * DEPTH
    tl.debug_barrier()
    for depth in tl.static_range(DEPTH):
        has = (depth < found) & fits
        tl.store(closed + ends - found + depth, tl.load(scratch + depth * TILE + lane, mask=has), mask=has)
    tl.debug_barrier()
    slot = tl.arange(0, TILE // SHARE)
    return tl.load(closed + slot, mask=(slot < held) & fits, other=INELIGIBLE), fits


@triton.jit
def guess_bracket(
    base, column_stride, vocab, top, low, high, measured, goal, MASS: tl.constexpr, FORMAT: tl.constexpr,
    ALIGNED: tl.constexpr, TILE: tl.constexpr
):  # fmt: skip
    """int64 [PIVOTS] within [low, high]: where a sample of the row says that the answer lies, evenly spaced.

    `measured` is the measure of the keys at or above `low`. The sample is spread over the row. Its share of the goal,
    give or take a sixteenth, is found in it exactly; the float ratio decides nothing but where to look first.
    """
    SAMPLE: tl.constexpr = TILE // 2
    step = tl.maximum(vocab // SAMPLE, 1)
    keys = load_keys(base, tl.arange(0, SAMPLE) * step, column_stride, vocab, FORMAT, ALIGNED)
    keys = tl.where(keys >= low, keys, INELIGIBLE)
    amounts = measure(keys, top, MASS)
    all_of_it = tl.sum(amounts, 0).to(tl.int64)
    near = low
    far = high
    if all_of_it > 0:
        share = (goal.to(tl.float32) / measured.to(tl.float32)) * all_of_it.to(tl.float32)
        least, _, _ = bounds(keys)
        more = tl.minimum(tl.maximum((share * 1.0625).to(tl.int64) + 1, 1), all_of_it)
        less = tl.minimum(tl.maximum((share * 0.9375).to(tl.int64), 1), all_of_it)
        first, _ = closed_in(keys, amounts, least, top + 1, more)
        last, _ = closed_in(keys, amounts, least, top + 1, less)
        near = tl.maximum(first.to(tl.int64), low)
        far = tl.minimum(last.to(tl.int64) + 1, high)
    return near + (far - near) * tl.arange(0, PIVOTS) // (PIVOTS - 1)


@triton.jit
def row_search(
    base, column_stride, vocab, top, low, high, reached, measured, goal, aimed, scratch, MASS: tl.constexpr,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, TILE: tl.constexpr
):  # fmt: skip
    """(key, above, count): `search.search` of a row, and how many keys are above `key`.

    `reached` and `measured` are the number and the measure of the keys at or above `low`. The first pivots lie around
    `aimed`, (first, end) of the keys where the answer should be, or come from a sample where that is empty. A vector of
    pivots has four lanes and all are put to use here: a later round leaves a fifth of the bracket, until its population
    fits a tile, or it holds one key.
    """
    low = low.to(tl.int64)
    high = high.to(tl.int64)
    key = INELIGIBLE
    above, count = goal * 0, goal * 0
    fits_at = goal * 0 + TILE // SHARE
    pivots = low + (high - low) * (tl.arange(0, PIVOTS) + 1) // (PIVOTS + 1)
    first, end = aimed
    if first < end:
        width = end.to(tl.int64) - first
        pivots = tl.minimum(tl.maximum(first + width * (tl.arange(0, PIVOTS) - 1), low), high)
    elif reached > fits_at:
        pivots = guess_bracket(base, column_stride, vocab, top, low, high, measured, goal, MASS, FORMAT, ALIGNED, TILE)
    settled = False
    while not settled:
        if reached - count <= fits_at:
            keys, fits = row_collect(base, column_stride, vocab, low, high, scratch, FORMAT, ALIGNED, TILE)
            if fits:
                amounts = measure(keys, top, MASS)
                key, more = closed_in(keys, amounts, low.to(tl.int32), high.to(tl.int32), goal - above)
                above += more
                count += tl.sum((keys > key).to(tl.int32), 0)
            fits_at = tl.where(fits, fits_at, fits_at // 4)
            settled = fits
        else:
            amount, at = row_tally(base, column_stride, vocab, top, pivots.to(tl.int32), MASS, FORMAT, ALIGNED, TILE)
            reaches = amount >= goal
            reached = tl.min(tl.where(reaches, at, reached), 0)
            above = tl.max(tl.where(reaches, above, amount), 0)
            count = tl.max(tl.where(reaches, count, at), 0)
            low = tl.max(tl.where(reaches, pivots, low), 0)
            high = tl.min(tl.where(reaches, high, pivots), 0)
            key = low.to(tl.int32)
            settled = high - low <= 1
            pivots = low + (high - low) * (tl.arange(0, PIVOTS) + 1) // (PIVOTS + 1)
    return key, above, count


@triton.jit
def row_nth(
    base, column_stride, vocab, key, quota, FORMAT: tl.constexpr, ALIGNED: tl.constexpr, TILE: tl.constexpr
):  # fmt: skip
    """`search.nth` of a row: only tiles that hold such a token are scanned."""
    seen, last = quota * 0, -1
    for start in tl.range(0, vocab, TILE, num_stages=STAGES):
        offsets = start + tl.arange(0, TILE)
        ties = (load_keys(base, offsets, column_stride, vocab, FORMAT, ALIGNED) == key).to(tl.int32)
        more = tl.sum(ties, 0)
        if (more > 0) & (seen < quota):
            places = tl.cumsum(ties, 0) + seen
            last = tl.max(tl.where((ties != 0) & (places <= quota), offsets, last), 0)
        seen += more
    return last
