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

from qrita.kernels.bits import MOST_TILES, lowest_bit, reserve
from qrita.kernels.entry import entry
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
from qrita.kernels.probe import LOG2_E, PIVOTS, key_of_value
from qrita.kernels.rows import ONE, bound, element, load_words, row_start, top_k, top_p
from qrita.kernels.select import NOT_HELD
from qrita.kernels.tally import (
    IN_THREAD,
    TALLIES,
    added,
    folded,
    goal_of,
    no_tallies,
    pivots_of,
    store_tallies,
    tallies_of,
)
from qrita.kernels.truncate import tiles_of
from qrita.kernels.weight import OF_GREATEST, weight

# Where the brackets come from that `collect_kernel` looks into.
NOWHERE = tl.constexpr(0)
TALLIED = tl.constexpr(1)
AIMED_AGAIN = tl.constexpr(2)

REACH = tl.constexpr(320.0)
"""Tokens on either side of the place that a bracket holds at least. Of 440 normal rows of 128,256 tokens, cut by k from
200 to 120,000 or p from 0.5 to 0.999, the place was off by 183 at most, with 18,000 between the pivots: chance, not the
parabola."""

DOUBT = tl.constexpr(0.4)
"""Of the tokens by which the parabola moved the secant's place, the part that is added: where it bends much, it is not
a parabola that is followed. In rows twice as wide as normal ones, at p = 0.9, it moved by 800 and was off by 340."""

FARTHEST = tl.constexpr(448.0)
"""Tokens on either side that fit, with what is wrong with the density."""

WIDE = tl.constexpr(32768.0)
"""Tokens between two pivots beyond which a parabola is not trusted: a second tally follows."""

CLOSER = tl.constexpr(4096.0)
"""Tokens that the second tally's pivots are apart."""

LEAST_SLOPE = tl.constexpr(1e-30)
"""Divisors are not less: where there is no slope, the place that comes out is tested like any other."""


@triton.jit
def odds_of(at, total):
    """fp32, log2 of a measure against the rest: nearly straight where rows are normal, also far out in their tails."""
    least = total * 1e-7
    return tl.log2(tl.maximum(at, least) / tl.maximum(total - at, least))


@triton.jit
def place_of(low, middle, high, at_low, at_middle, at_high, total, goal, top_value, k):
    """(found, upper, place, each, moved): where between the pivots the measure should reach the goal, as a logit.

    The secant's root between two neighbouring pivots a and b, corrected by the parabola through all three. `upper`: the
    two are the middle and the high one. `each`: the logits that a token takes up there. `moved`: by how many tokens the
    parabola corrected the secant.
    """
    found = (at_low >= goal) & (at_high < goal)
    upper = at_middle >= goal
    wanted = odds_of(goal, total)
    odds_low = odds_of(at_low, total)
    odds_middle = odds_of(at_middle, total)
    # Where the sample saw nothing higher, less than a token lies above; none at all would bend the parabola too much.
    one_high = tl.where(k > 0, 1.0, tl.exp2((value_of(high) - top_value) * LOG2_E))
    odds_high = odds_of(tl.maximum(at_high, one_high * 0.5), total)
    a = value_of(tl.where(upper, middle, low))
    b = value_of(tl.where(upper, high, middle))
    odds_a = tl.where(upper, odds_middle, odds_low)
    slope = tl.maximum((odds_a - tl.where(upper, odds_high, odds_middle)) / (b - a), LEAST_SLOPE)
    straight = a + (odds_a - wanted) / slope
    left = (odds_low - odds_middle) / (value_of(middle) - value_of(low))
    right = (odds_middle - odds_high) / (value_of(high) - value_of(middle))
    bend = (left - right) / (value_of(high) - value_of(low))
    bent = straight + bend * (straight - a) * (straight - b) / slope
    place = tl.where((bent >= a) & (bent <= b), bent, straight)
    one = tl.where(k > 0, 1.0, tl.exp2((place - top_value) * LOG2_E))
    # d(odds) = d(measure) * total / (measure * (total - measure) * ln 2)
    each = one * total * LOG2_E / tl.maximum(slope * goal * (total - goal), LEAST_SLOPE)
    return found, upper, place, each, tl.abs(place - straight) / tl.maximum(each, LEAST_SLOPE)


@triton.jit
def store_pivots(new_probes, row, wanted, low, middle, high, probes):
    """The pivots of the second tally, or those that there were."""
    lane = tl.arange(0, PIVOTS)
    pivots = tl.load(probes + row * PIVOTS + lane)
    closer = tl.where(lane == 0, low, tl.where(lane == 1, middle, tl.where(lane == 2, high, pivots)))
    tl.store(new_probes + row * PIVOTS + lane, tl.where(wanted, closer, pivots))


@triton.jit
def narrowed(probes, tallies, row, shares, k, p, SPLITS: tl.constexpr, HOLD: tl.constexpr):
    """int32 (low, high): the row's bracket, [low, high) of keys; empty, at HIGHEST, if there is none.

    Where few enough tokens lie above a pivot that the cut is not above, it is all of those; where few enough are
    eligible at all, it is every key, as in rows that a grammar has masked.
    """
    low, middle, high, top_value = pivots_of(probes, row)
    at_low, at_middle, at_high, total = tallies_of(tallies, row, shares, SPLITS)
    goal = goal_of(k, p, total)
    found, upper, place, each, moved = place_of(
        low, middle, high, at_low, at_middle, at_high, total, goal, top_value, k
    )
    first = tl.where(upper, middle, low)
    end = tl.where(upper, high, middle)
    reach = each * tl.minimum(moved * DOUBT + REACH, FARTHEST)
    near = key_of_value(place - reach)  # INELIGIBLE if there is no such number
    far = key_of_value(place + reach)
    found = found & (near > INELIGIBLE) & (far > INELIGIBLE)
    near = tl.minimum(tl.maximum(near, first), end - 1)
    far = tl.maximum(tl.minimum(far, end - 1), near) + 1
    few = (k > 0) & (at_low >= goal) & (tl.where(upper, at_middle, at_low) <= HOLD)
    near = tl.where(few, first, tl.where(found, near, HIGHEST))
    near = tl.where((k > 0) & (total <= HOLD), INELIGIBLE, near)
    return near, tl.where(few | (found == 0) | (near == INELIGIBLE), HIGHEST, far)


@triton.jit
def closer(low, middle, high, at_low, at_middle, at_high, total, goal, peak, few, top_value, k):
    """(wanted, low, middle, high): the pivots of a second tally, where the cut is far from the first or beyond them.

    `few`: groups hold the answer.
    """
    found, upper, place, each, _ = place_of(low, middle, high, at_low, at_middle, at_high, total, goal, top_value, k)
    apart = value_of(tl.where(upper, high, middle)) - value_of(tl.where(upper, middle, low))
    near = key_of_value(place - each * CLOSER)
    far = key_of_value(place + each * CLOSER)
    wide = found & (apart > each * WIDE) & (near > INELIGIBLE) & (far > INELIGIBLE)
    near = tl.maximum(near, low)
    far = tl.minimum(far, high - 1) + 1
    between = tl.minimum(tl.maximum(key_of_value(place), near), far)
    # The sample can have missed much of what lies above it.
    beyond = (at_high >= goal) & (peak > high)
    above = key_of_value(0.5 * value_of(high) + 0.5 * value_of(peak))
    # Or it has too much of what lies above: of rows cut at k = 1000, one in some thousands.
    span = value_of(high) - value_of(low)
    deep = key_of_value(value_of(low) - 4.0 * span)
    below = (low < HIGHEST) & (at_low < goal) & (goal <= total) & (deep > INELIGIBLE) & (deep < low)
    between = tl.where(below, key_of_value(value_of(low) - span), between)
    return (
        (few == 0) & ((wide & (near < far)) | beyond | below),
        tl.where(beyond, high, tl.where(below, deep, near)),
        tl.where(beyond, tl.maximum(above, high), between),
        tl.where(beyond, peak + 1, tl.where(below, low, far)),
    )


@entry
def retally_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64,
    k_words, k_stride: tl.int64, k_kind, k_scalar, p_words, p_halves, p_stride: tl.int64, p_kind, p_scalar,
    heads, peaks, probes, tallies, new_probes, new_tallies, vocab, splits, shares,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, SPLITS: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One program a (row, share): pivots and tallies [rows, shares, TALLIES] as they were, or closer ones.

    Mostly there is nothing to do, but to see that takes 3 us, or 28 for 1,024 rows with eight programs each.
    """
    row = (tl.program_id(0) // shares).to(tl.int64)
    share = tl.program_id(0) % shares
    k = top_k(k_words, k_stride, k_kind, k_scalar, row, vocab)
    p = top_p(p_words, p_halves, p_stride, p_kind, p_scalar, row)
    low, middle, high, top_value = pivots_of(probes, row)
    at_low, at_middle, at_high, total = tallies_of(tallies, row, splits, SPLITS)
    s = tl.arange(0, SPLITS)
    peak = tl.max(tl.load(peaks + row * splits + s, mask=s < splits, other=INELIGIBLE), 0)
    goal = goal_of(k, p, total)
    few = tl.load(heads + row) != NOT_HELD
    wanted, low, middle, high = closer(
        low, middle, high, at_low, at_middle, at_high, total, goal, peak, few, top_value, k
    )
    place = row * shares + share
    if wanted:
        base = row_start(logits, row, row_stride, ALIGNED)
        first, end = tiles_of(share, shares, vocab, TILE)
        amounts = no_tallies(TILE)
        pivots = value_from(low), value_from(middle), value_from(high)
        for tile in tl.range(first, end):
            raw = load_words(base, tile * TILE + tl.arange(0, TILE), column_stride, vocab, ALIGNED)
            amounts = added(amounts, values_of(raw, FORMAT), pivots, top_value, k, ALIGNED, TILE)
        store_tallies(new_tallies, place, amounts)
    else:
        first_share = share == 0
        new_tallies += place * TALLIES
        tl.store(new_tallies, tl.where(first_share, at_low, 0.0))
        tl.store(new_tallies + 1, tl.where(first_share, at_middle, 0.0))
        tl.store(new_tallies + 2, tl.where(first_share, at_high, 0.0))
        tl.store(new_tallies + 3, tl.where(first_share, total, 0.0))
    if share == 0:
        store_pivots(new_probes, row, wanted, low, middle, high, probes)


@triton.jit
def tile_words(base, tile, end, column_stride, vocab, ALIGNED: tl.constexpr, TILE: tl.constexpr):
    """Raw words of one of a row's tiles before `end`; past it those of NaN, without a read."""
    offsets = tile * TILE + tl.arange(0, TILE)
    inside = (offsets < bound(vocab, ALIGNED)) & (tile < end)
    return tl.load(element(base, offsets, column_stride, ALIGNED), mask=inside, other=-1)


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
        most, place = reserve(found, held)
        for _ in tl.range(0, most):
            bit, of_tile = lowest_bit(found)
            tl.store(inside + place, (batch + of_tile) * TILE + lane, mask=(found != 0) & (place < HOLD))
            found ^= bit
            place += 1
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
    heads, peaks, probes, tallies, brackets, held, inside, counts, masses, row_masses,
    vocab, splits, shares, parts, wants_mass, source,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, SPLITS: tl.constexpr, HOLD: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One program a (row, part): what its part of the row holds above the row's bracket and inside it, exactly.

    Writes brackets [rows, 2]; counts and masses [rows, parts] of the tokens above the bracket; the mass of all of the
    part into row_masses [rows, parts], where top-k is off; the indices of tokens in the bracket into inside
    [rows, HOLD], in no order, their number into held [rows] (more than HOLD are a miss). Where there is no bracket, the
    mass alone. `brackets` are written where they are TALLIED, read where they are AIMED_AGAIN: the second time, only
    rows that have one are looked at, and what they weigh as a whole is known.
    """
    row = (tl.program_id(0) // parts).to(tl.int64)
    part = tl.program_id(0) % parts
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
            # By every program of the row from the same words, so they agree; one of them writes it down for selection.
            low, high = narrowed(probes, tallies, row, shares, k, p, SPLITS, HOLD)
        if part == 0:
            tl.store(brackets + row * 2, low)
            tl.store(brackets + row * 2 + 1, high)
    base = row_start(logits, row, row_stride, ALIGNED)
    first, end = tiles_of(part, parts, vocab, TILE)
    place = tl.program_id(0)
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
