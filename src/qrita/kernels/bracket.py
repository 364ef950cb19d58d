"""Truncation by a bracket: for cuts that lie deep in a row, where no small set of greatest tokens holds them.

    probe    a sample gives three pivots around the cut
    tally    while the row is read for its maximum, the measure at or above each pivot (floats: a guess)
    retally  the same once more with closer pivots, in rows whose pivots have too much between them
    narrow   between two of them the measure is nearly linear: a bracket of some hundred tokens around the cut
    collect  one more pass: exactly, the count and mass above the bracket and of the row, and the tokens inside it
    select   tests, exactly, that the cut lies inside, and finds it
    again    collect and select once more where it lies beside: by how much is known

A miss costs time only: selection from whole rows comes after.
"""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.bits import MOST_TILES, TOGETHER, lowest_bit, packed, places_from, reserve, token_of
from qrita.kernels.entry import entry, in_turn
from qrita.kernels.order import (
    HIGHEST,
    INELIGIBLE,
    INFINITE,
    keys_of,
    rank_under,
    ranks_of,
    value_from,
    value_of,
    values_of,
)
from qrita.kernels.probe import PIVOTS, TIES
from qrita.kernels.rows import ONE, load_words, row_start, tile_words, top_k, top_p
from qrita.kernels.select import NOT_HELD
from qrita.kernels.steer import alone, closer, narrowed
from qrita.kernels.tally import (
    IN_THREAD,
    added,
    folded,
    goal_of,
    no_tallies,
    pivots_of,
    store_tallies,
    tallies_of,
    ties_of,
)
from qrita.kernels.truncate import tiles_of
from qrita.kernels.weight import OF_GREATEST, weight

UNTOLD = tl.constexpr(-(2**31))
"""The end of a bracket that only a second tally tells."""

# Where the brackets come from that `collect_kernel` looks into.
NOWHERE = tl.constexpr(0)
TALLIED = tl.constexpr(1)
AIMED_AGAIN = tl.constexpr(2)


@triton.jit
def store_pivots(new_probes, row, low, middle, high, probes):
    """The pivots of the second tally, and beside them what the first probe says."""
    lane = tl.arange(0, PIVOTS)
    pivots = tl.load(probes + row * PIVOTS + lane, mask=lane <= TIES, other=0)
    words = tl.where(lane == 0, low, tl.where(lane == 1, middle, tl.where(lane == 2, high, pivots)))
    tl.store(new_probes + row * PIVOTS + lane, words)


@entry
def retally_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64,
    k_words, k_stride: tl.int64, k_kind, k_scalar, p_words, p_halves, p_stride: tl.int64, p_kind, p_scalar,
    heads, peaks, probes, tallies, new_probes, new_tallies, brackets, vocab, splits, shares,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, EARLY: tl.constexpr,
    SPLITS: tl.constexpr, HOLD: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One program a (row, share): brackets [rows, 2], or closer pivots and their tallies [rows, shares, TALLIES].

    Where those are wanted, the bracket is UNTOLD. Mostly they are not, but to see that takes 3 us, or 28 for 1,024 rows
    with eight programs each.
    """
    in_turn(EARLY, shares)
    row = (tl.program_id(0) // shares).to(tl.int64)
    share = tl.program_id(0) % shares
    k = top_k(k_words, k_stride, k_kind, k_scalar, row, vocab)
    p = top_p(p_words, p_halves, p_stride, p_kind, p_scalar, row)
    low, middle, high, top_value = pivots_of(probes, row)
    at_low, at_middle, at_high, total = tallies_of(tallies, row, splits, SPLITS)
    s = tl.arange(0, SPLITS)
    peak = tl.max(tl.load(peaks + row * splits + s, mask=s < splits, other=INELIGIBLE), 0)
    goal = goal_of(k, p, total)
    few = (tl.load(heads + row) != NOT_HELD) | alone(peak, top_value, goal, k)
    wanted, near, between, far = closer(
        low, middle, high, at_low, at_middle, at_high, total, goal, peak, few, top_value, k
    )
    if wanted:
        base = row_start(logits, row, row_stride, ALIGNED)
        first, end = tiles_of(share, shares, vocab, TILE)
        amounts = no_tallies(TILE)
        pivots = value_from(near), value_from(between), value_from(far)
        raw = tile_words(base, first, end, column_stride, vocab, ALIGNED, TILE)
        for tile in tl.range(first, end):
            following = tile_words(base, tile + 1, end, column_stride, vocab, ALIGNED, TILE)
            amounts = added(amounts, values_of(raw, FORMAT), pivots, top_value, k, ALIGNED, TILE)
            raw = following
        store_tallies(new_tallies, row * shares + share, amounts)
        if share == 0:
            store_pivots(new_probes, row, near, between, far, probes)
            tl.store(brackets + row * 2 + 1, UNTOLD)
    elif share == 0:
        near, far = narrowed(
            low, middle, high, at_low, at_middle, at_high, total, goal, ties_of(probes, row), peak, top_value, k, HOLD
        )
        tl.store(brackets + row * 2, near)
        tl.store(brackets + row * 2 + 1, far)


@triton.jit
def survey(
    base, column_stride, vocab, first, end, top_value, under_low, under_end, weighs, held, inside,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, HOLD: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """(count, mass, whole): of the tokens above a bracket in tiles of a row, and of all; appends those inside it.

    Where accesses are wide, a tile is loaded into registers while the one before is weighed, which needs no barrier;
    elsewhere that takes too many, and tiles are staged in shared memory.
    """
    lane = tl.arange(0, TILE)
    mass = tl.zeros([TILE // IN_THREAD], tl.int64)
    mass_above = tl.zeros([TILE // IN_THREAD], tl.int64)
    count_above = tl.zeros([TILE // IN_THREAD], tl.int32)
    if ALIGNED:
        ahead = tile_words(base, first, end, column_stride, vocab, ALIGNED, TILE)
    for batch in tl.range(first, end, MOST_TILES):
        found = tl.zeros([TILE], tl.int32)
        for tile in tl.range(batch, tl.minimum(batch + MOST_TILES, end), num_stages=1 if ALIGNED else 2):
            if ALIGNED:
                raw = ahead
                ahead = tile_words(base, tile + 1, end, column_stride, vocab, ALIGNED, TILE)
            else:
                raw = load_words(base, tile * TILE + lane, column_stride, vocab, ALIGNED)
            ranks = ranks_of(raw, FORMAT)
            above = ranks > under_end
            if weighs:
                amounts = weight(values_of(raw, FORMAT) - top_value)
                mass += folded(amounts, ALIGNED, TILE)
                mass_above += folded(tl.where(above, amounts, 0), ALIGNED, TILE)
            count_above += folded(above.to(tl.int32), ALIGNED, TILE)
            found |= tl.where((ranks > under_low) & (above == 0), 1 << (tile - batch), 0)
        place, number = reserve(found, held)
        listed = tl.where((number > 0) & (place < HOLD), end, batch)
        for tile in tl.range(batch, tl.minimum(batch + MOST_TILES, listed), TOGETHER):
            words = packed(found, tile - batch, ALIGNED)
            most, at, place = places_from(place, words)
            for _ in tl.range(0, most):
                bit, which = lowest_bit(words)
                token = tile * TILE + token_of(which, ALIGNED, TILE)
                tl.store(inside + at, token, mask=(words != 0) & (at < HOLD))
                words ^= bit
                at += 1
    return tl.sum(count_above, 0), tl.sum(mass_above, 0), tl.sum(mass, 0)


@triton.jit
def weigh(
    base, column_stride, vocab, first, end, top_value, FORMAT: tl.constexpr, ALIGNED: tl.constexpr, TILE: tl.constexpr
):  # fmt: skip
    """int64, the mass of tiles of a row."""
    mass = tl.zeros([TILE // IN_THREAD], tl.int64)
    raw = tile_words(base, first, end, column_stride, vocab, ALIGNED, TILE)
    for tile in tl.range(first, end):
        following = tile_words(base, tile + 1, end, column_stride, vocab, ALIGNED, TILE)
        mass += folded(weight(values_of(raw, FORMAT) - top_value), ALIGNED, TILE)
        raw = following
    return tl.sum(mass, 0)


@triton.jit
def weigh_infinite(
    base, column_stride, vocab, first, end, FORMAT: tl.constexpr, ALIGNED: tl.constexpr, TILE: tl.constexpr
):  # fmt: skip
    """`weigh` where the greatest logit is +inf: its equals weigh what it weighs, and the others nothing."""
    equals = tl.zeros([TILE], tl.int32)
    for tile in tl.range(first, end):
        raw = tile_words(base, tile, end, column_stride, vocab, ALIGNED, TILE)
        equals += (keys_of(raw, FORMAT) == INFINITE).to(tl.int32)
    return tl.sum(equals, 0).to(tl.int64) * OF_GREATEST


@entry
def collect_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64,
    k_words, k_stride: tl.int64, k_kind, k_scalar, p_words, p_halves, p_stride: tl.int64, p_kind, p_scalar,
    heads, peaks, probes, tallies, told, brackets, held, inside, counts, masses, row_masses,
    vocab, splits, shares, parts, wants_mass, source,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, EARLY: tl.constexpr,
    SPLITS: tl.constexpr, HOLD: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One program a (row, part): what its part of the row holds above the row's bracket and inside it, exactly.

    Writes brackets [rows, 2]; counts and masses [rows, parts] of the tokens above the bracket; the mass of all of the
    part into row_masses [rows, parts], where top-k is off; the indices of tokens in the bracket into inside
    [rows, HOLD], in no order, their number into held [rows] (more than HOLD are a miss). Where there is no bracket, the
    mass alone. `brackets` are written where they are TALLIED, as `told` or by the second tally; read where they are
    AIMED_AGAIN: the second time, only rows that have one are looked at, and what they weigh as a whole is known.
    """
    in_turn(EARLY, parts)
    # Backwards through the rows: what the pass before has read last is in the cache, and so it is for the pass after.
    program = tl.num_programs(0) - 1 - tl.program_id(0)
    row = (program // parts).to(tl.int64)
    part = program % parts
    k = top_k(k_words, k_stride, k_kind, k_scalar, row, vocab)
    p = top_p(p_words, p_halves, p_stride, p_kind, p_scalar, row)
    weighs = (p != ONE) | (wants_mass != 0)
    s = tl.arange(0, SPLITS)
    top = tl.max(tl.load(peaks + row * splits + s, mask=s < splits, other=INELIGIBLE), 0)
    top_value = value_of(top)
    infinite = weighs & (top == INFINITE)
    low = HIGHEST
    high = HIGHEST
    if source == AIMED_AGAIN:
        low = tl.load(brackets + row * 2)
        high = tl.load(brackets + row * 2 + 1)
    if source == TALLIED:
        if (tl.load(heads + row) == NOT_HELD) & (infinite == 0):
            low = tl.load(told + row * 2)
            high = tl.load(told + row * 2 + 1)
            if high == UNTOLD:  # by every program of the row from the same words, so they agree
                first, middle, end, sampled = pivots_of(probes, row)
                at_low, at_middle, at_high, total = tallies_of(tallies, row, shares, SPLITS)
                low, high = narrowed(
                    first, middle, end, at_low, at_middle, at_high, total, goal_of(k, p, total),
                    ties_of(probes, row), top, sampled, k, HOLD,
                )  # fmt: skip
        if part == 0:
            tl.store(brackets + row * 2, low)
            tl.store(brackets + row * 2 + 1, high)
    base = row_start(logits, row, row_stride, ALIGNED)
    first, end = tiles_of(part, parts, vocab, TILE)
    place = row * parts + part
    if low < high:
        count, mass, whole = survey(
            base, column_stride, vocab, first, end, top_value, rank_under(low), rank_under(high), weighs,
            held + row, inside + row * HOLD, FORMAT, ALIGNED, HOLD, TILE,
        )  # fmt: skip
        tl.store(counts + place, count)
        tl.store(masses + place, mass)
        if source != AIMED_AGAIN:
            tl.store(row_masses + place, whole)
    elif weighs & (k == 0) & (source != AIMED_AGAIN):
        whole = tl.zeros([], tl.int64)
        if infinite:
            whole = weigh_infinite(base, column_stride, vocab, first, end, FORMAT, ALIGNED, TILE)
        else:
            whole = weigh(base, column_stride, vocab, first, end, top_value, FORMAT, ALIGNED, TILE)
        tl.store(row_masses + place, whole)
