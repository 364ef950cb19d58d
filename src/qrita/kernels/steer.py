"""Where a bracket should lie, from what lies at and above three pivots: a curve through them, and how dense tokens are.

Floats, which only steer: where they lead astray, selection says so, and by how much.
"""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.order import HIGHEST, INELIGIBLE, value_of
from qrita.kernels.probe import LOG2_E, key_of_value

REACH = tl.constexpr(320.0)
"""Tokens on either side of the place that a bracket holds at least. Of 440 normal rows of 128,256 tokens, cut by k from
200 to 120,000 or p from 0.5 to 0.999, the place was off by 183 at most, with 18,000 between the pivots: chance, not the
parabola."""

BESIDE_TIES = tl.constexpr(200.0)
"""Tokens on either side, beside half of those that have one and the same key, where counts are asked for: those have no
second look. Of 24 rows of a model at k = 20,000, with 430 of each value, one or two were missed by 33 tokens."""

DOUBT = tl.constexpr(0.4)
"""Of the tokens by which the parabola moved the secant's place, the part that is added: where it bends much, it is not
a parabola that is followed. In rows twice as wide as normal ones, at p = 0.9, it moved by 800 and was off by 340."""

FARTHEST = tl.constexpr(448.0)
"""Tokens on either side that fit, with what is wrong with the density."""

WIDE = tl.constexpr(40960.0)
"""Tokens between two pivots beyond which a parabola is not trusted: a second tally follows. Normal rows of 128,256 have
17,000 there at p = 0.9, those three times as wide 26,000, and an exponential tail 100,000."""

BENT = tl.constexpr(1000.0)
"""Tokens by which a parabola may correct the secant and be trusted. In rows twice as wide as normal ones, at p = 0.9,
it corrects by 860 at most, and is right; in rows of a model at temperature 2 by 1,000 to 2,000, and was 2,800 off."""

CLOSER = tl.constexpr(4096.0)
"""Tokens that the second tally's pivots are apart, at least. Where the first are far apart or their parabola bends
much, so do these have to be: of an exponential tail the first place was 5,000 to 25,000 off."""

BLIND = tl.constexpr(8.0)
"""Logits below one token that the middle pivot is put where nothing else is known: 1 / 3,000 of its weight."""

FLATTEST = tl.constexpr(0.125)
"""Of the secant's slope, the part that a parabola's slope is at least: one that rises again has its root elsewhere."""

FURTHER = tl.constexpr(8.0)
"""Beyond the pivots, how many times as far as two of them are apart the parabola is followed."""

EMPTIEST = tl.constexpr(0.05)
"""How dense it gets at least, of here, where tokens are counted upwards past the last."""

STRAIGHT = tl.constexpr(1e-3)
"""Growth over a stretch that is not told from none."""

LEAST_SLOPE = tl.constexpr(1e-30)
"""Divisors are not less: where there is no slope, the place that comes out is tested like any other."""


@triton.jit
def odds_of(at, total):
    """fp32, log2 of a measure against the rest: nearly straight where rows are normal, also far out in their tails."""
    least = tl.maximum(total * 1e-7, LEAST_SLOPE)
    return tl.log2(tl.maximum(at, least) / tl.maximum(total - at, least))


@triton.jit
def place_of(low, middle, high, at_low, at_middle, at_high, total, goal, top_value, k):
    """(found, upper, place, each, growth, moved): where between the pivots the measure should reach the goal, a logit.

    The root of the parabola through all three pivots, between two neighbours of them, a and b, or beyond where the goal
    is not `found` between the outer ones. `upper`: the two are the middle and the high one. `each`: the logits that a
    token takes up there; a logit further down, tokens are e**growth times as dense. `moved`: by how many tokens the
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
    span = tl.maximum(b - a, LEAST_SLOPE)
    slope = tl.maximum((odds_a - tl.where(upper, odds_high, odds_middle)) / span, LEAST_SLOPE)
    straight = a + (odds_a - wanted) / slope
    left = (odds_low - odds_middle) / tl.maximum(value_of(middle) - value_of(low), LEAST_SLOPE)
    right = (odds_middle - odds_high) / tl.maximum(value_of(high) - value_of(middle), LEAST_SLOPE)
    bend = (left - right) / tl.maximum(value_of(high) - value_of(low), LEAST_SLOPE)
    # No more than leaves the curve falling all the way from a to b; none where two pivots are one.
    most_bend = slope * (1.0 - FLATTEST) / span
    bend = tl.where((low < middle) & (middle < high), tl.minimum(tl.maximum(bend, -most_bend), most_bend), 0.0)
    bent = straight
    steep = slope
    for _ in tl.static_range(2):
        steep = tl.maximum(slope - bend * (2.0 * bent - a - b), slope * FLATTEST)
        bent += (odds_a - wanted - slope * (bent - a) + bend * (bent - a) * (bent - b)) / steep
    further = (b - a) * FURTHER
    least = tl.where(at_low < goal, a - further, a)
    most = tl.where(at_high >= goal, b + further, b)
    inside = (bent >= least) & (bent <= most)
    place = tl.where(inside, bent, straight)
    steep = tl.where(inside, steep, slope)
    one = tl.where(k > 0, 1.0, tl.exp2((place - top_value) * LOG2_E))
    # d(odds) = d(measure) * total / (measure * (total - measure) * ln 2)
    each = one * total * LOG2_E / tl.maximum(steep * goal * (total - goal), LEAST_SLOPE)
    # d(log of that density) / d(place): of the odds' curve, and by 1 more where tokens weigh ever less further down.
    growth = steep * (1.0 - 2.0 * goal / tl.maximum(total, LEAST_SLOPE)) / LOG2_E + tl.where(k > 0, 0.0, 1.0)
    growth += tl.where(inside, 2.0 * bend / steep, 0.0)
    return found, upper, place, each, growth, tl.abs(place - straight) / tl.maximum(each, LEAST_SLOPE)


@triton.jit
def down(tokens, each, growth):
    """fp32, how many logits further down so many tokens are passed, or further up, both negative.

    A token takes up `each` logits here; down there they are e**growth times as dense a logit.
    """
    more = tokens * each * growth
    curved = tl.log2(tl.maximum(1.0 + more, EMPTIEST)) / (LOG2_E * growth)
    return tl.where(tl.abs(more) < STRAIGHT, tokens * each, curved)


@triton.jit
def passed(logits, each, growth):
    """fp32, how many tokens are passed so many logits further down, or further up, both negative: undoes `down`."""
    bent = logits * growth
    curved = (tl.exp2(tl.minimum(bent * LOG2_E, 60.0)) - 1.0) / growth
    return tl.where(tl.abs(bent) < STRAIGHT, logits, curved) / tl.maximum(each, LEAST_SLOPE)


@triton.jit
def alone(peak, top_value, goal, k):
    """Whether one token of the row's greatest key is enough for top-p by itself: one that the sample has not seen."""
    return (k == 0) & (tl.exp2((value_of(peak) - top_value) * LOG2_E) >= goal)


@triton.jit
def narrowed(
    low, middle, high, at_low, at_middle, at_high, total, goal, ties, peak, top_value, k, HOLD: tl.constexpr
):  # fmt: skip
    """int32 (low, high): the row's bracket, [low, high) of keys; empty, at HIGHEST, if there is none.

    Where few enough tokens lie above a pivot that the cut is not above, it is all of those; where few enough are
    eligible at all, it is every key, as in rows that a grammar has masked. Where many tokens have one and the same key,
    as in bf16, it is wide enough for one such key at least.
    """
    found, upper, place, each, growth, moved = place_of(
        low, middle, high, at_low, at_middle, at_high, total, goal, top_value, k
    )
    above = at_high >= goal
    first = tl.where(above, high, tl.where(upper, middle, low))
    end = tl.where(upper, high, middle)
    reach = tl.minimum(moved * DOUBT + REACH, FARTHEST)
    # Ties were counted at the low pivot. They are as many here as it is dense.
    denser = tl.minimum(tl.maximum((value_of(low) - place) * growth * LOG2_E, -6.0), 1.0)
    ties *= tl.where(k > 0, tl.minimum(goal / tl.maximum(at_low, 1.0), 1.0), tl.exp2(denser))
    some = tl.where(k > 0, tl.maximum(reach, ties * 0.5 + BESIDE_TIES), reach)
    reach = tl.where(ties > HOLD // 2, ties * tl.where(k > 0, 0.5, 0.75), some)
    # What one side has no room for, the other is given.
    room_below = tl.where(at_low >= goal, passed(place - value_of(first), each, growth), reach)
    room_above = tl.where(above, reach, passed(value_of(end) - place, each, -growth))
    below = reach + tl.maximum(reach - room_above, 0.0)
    near = key_of_value(place - down(below, each, growth))  # INELIGIBLE if there is no such number
    far = key_of_value(place - down(-reach - tl.maximum(reach - room_below, 0.0), each, growth))
    found = (near > INELIGIBLE) & (far > INELIGIBLE) & (low < HIGHEST)
    near = tl.where(at_low >= goal, tl.maximum(near, first), near)
    near = tl.where(above, near, tl.minimum(near, end - 1))
    far = tl.maximum(tl.where(above, far, tl.minimum(far, end - 1)), near) + 1
    few = (k > 0) & (at_low >= goal) & (tl.where(above, at_high, tl.where(upper, at_middle, at_low)) <= HOLD)
    near = tl.where(few, first, tl.where(found, near, HIGHEST))
    near = tl.where((k > 0) & (total <= HOLD), INELIGIBLE, near)
    far = tl.where(few | (found == 0) | (near == INELIGIBLE), HIGHEST, far)
    one = alone(peak, top_value, goal, k)
    return tl.where(one, peak, near), tl.where(one, peak + 1, far)


@triton.jit
def closer(low, middle, high, at_low, at_middle, at_high, total, goal, peak, few, top_value, k):
    """(wanted, low, middle, high): the pivots of a second tally, where the cut is far from the first or beyond them.

    They lie around the place where the first say that the cut is; `narrowed` goes on from there where they miss it.
    `few`: groups hold the answer, or one key does.
    """
    found, upper, place, each, growth, moved = place_of(
        low, middle, high, at_low, at_middle, at_high, total, goal, top_value, k
    )
    a = value_of(tl.where(upper, middle, low))
    b = value_of(tl.where(upper, high, middle))
    between_them = passed(place - a, each, growth) - passed(place - b, each, growth)
    wide = found & ((between_them > WIDE) | (moved > BENT))
    spread = tl.maximum(each * tl.maximum(CLOSER, moved * 3.0), (b - a) * 0.16)
    # The sample can have missed much of what lies above it. Top-k of few tokens more needs no bracket around the cut.
    beyond = (at_high >= goal) & (peak > high) & ((k == 0) | (at_high > FARTHEST * 2.0))
    # Or it has too much of what lies above: of rows cut at k = 1000, one in some thousands.
    below = (low < HIGHEST) & (at_low < goal) & (goal <= total)
    away = tl.where(beyond, place - value_of(high), value_of(low) - place)
    spread = tl.where(beyond | below, tl.maximum(away, each * FARTHEST), spread)
    # A token of the sample that weighs more than all others leaves pivots that are one key, from which nothing goes on.
    blind = (beyond | below) & (middle == low)
    half_way = 0.5 * value_of(high) + 0.5 * value_of(peak)
    place = tl.where(blind, tl.where(beyond, half_way, value_of(low) - BLIND), place)
    spread = tl.where(blind, tl.where(beyond, value_of(peak) - half_way, BLIND), spread)
    near = key_of_value(place - spread)
    far = key_of_value(place + spread)
    near = tl.maximum(near, tl.where(below, near, low))
    far = tl.where(beyond, tl.minimum(far, peak), tl.minimum(far, high - 1)) + 1
    between = tl.minimum(tl.maximum(key_of_value(place), near), far)
    return (few == 0) & (wide | beyond | below) & (near > INELIGIBLE) & (near < far), near, between, far
