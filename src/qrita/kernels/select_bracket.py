"""Selection from a bracket: the tokens inside it are few, and what lies above it is counted and weighed."""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.entry import entry, in_turn
from qrita.kernels.order import HIGHEST, INELIGIBLE, value_of
from qrita.kernels.probe import LOG2_E, key_of_value
from qrita.kernels.rows import ONE, load_keys, row_start, target_mass, top_k, top_p
from qrita.kernels.search import bounds, measure, search
from qrita.kernels.select import CUT_STATE, MISSED, SELECTED, TIED, one_or_more, store_cut
from qrita.kernels.steer import FARTHEST, LEAST_SLOPE, down
from qrita.kernels.truncate import total_of
from qrita.kernels.weight import weights_of

UNSURE = tl.constexpr(0.15)
"""Of the tokens by which a bracket misses the cut, the part by which the next one may be off. Of real rows that are
flattened, one in four was off by more than 0.1, hardly one by more than 0.2."""

NEAREST = tl.constexpr(150.0)
"""Tokens on either side of its place that a next bracket holds at least, beside that part."""

ROOMY = tl.constexpr(0.85)
"""Of FARTHEST, what a next bracket takes at most: it may be denser there than was thought, and there is no third."""

GROWING = tl.constexpr(0.6)
"""Of the rate at which the tokens above grow in number further down, what the density grows by: all of it where tails
are exponential, nothing of it in the middle of a normal row, whose places were all too high with 0.85."""

TIES_BESIDE = tl.constexpr(200.0)
"""Equals of the bracket's last token that are taken to be in the next value's place as well, at most."""

LIKELY = tl.constexpr(4.0)
"""Standard deviations by which a sum over tokens at hand may be off."""

CLOSEST = tl.constexpr(48.0)
"""Tokens on either side beside those. With half of a full bracket instead, rows whose tokens have few values, 200 of
each, were cut down from 1,127 tokens to the same 1,127."""


@triton.jit
def cut_in_bracket(keys, top, k, p, count_above, mass_above, total, complete, wants_mass):
    """(hit, key, above, quota, mass, total): the cut of a row whose tile holds every token of a bracket, in any order.

    The kept tokens are the `above` tokens above `key`, and the first `quota` of those that have it. `count_above` and
    `mass_above` are those of the tokens above the bracket, `total` the mass of the whole row where top-k is off.
    `complete`: the bracket is every key, so that k may exceed what it holds.
    """
    low, greatest, inside = bounds(keys)
    end = greatest.to(tl.int64) + 1
    weighs = (p != ONE) | (wants_mass != 0)
    hit = inside > 0
    key = low - 1
    above = count_above
    quota = above * 0
    mass = mass_above
    if k > 0:
        goal = k - count_above
        goal = tl.where(complete, tl.minimum(goal, inside), goal)
        hit = (goal >= 1) & (goal <= inside)
        if hit:
            key, more = search(keys, top, low, end, goal, False)
            above = count_above + more
            quota = goal - more
    if hit & weighs:
        reached = tl.sum(tl.where(keys > key, measure(keys, top, True), 0), 0)
        mass = mass_above + reached + tl.where(k > 0, quota * weights_of(key, top), 0)
        total = tl.where(k > 0, mass, total)
        if p != ONE:
            target = target_mass(p, total)
            goal = target - mass_above
            hit = (goal >= 1) & (target <= mass)
            if hit & (goal <= reached):
                key, more = search(keys, top, key + 1, end, goal, True)
                above = count_above + tl.sum((keys > key).to(tl.int32), 0)
                reached = more
            if hit:
                quota = one_or_more(goal - reached, weights_of(key, top))
                mass = mass_above + reached + quota * weights_of(key, top)
    return hit, key, above, quota, mass, total


@triton.jit
def cut_at_key(key, found, top, k, p, count_above, mass_above, total):
    """`cut_in_bracket` where all `found` tokens of the bracket have one key."""
    each = weights_of(key, top)
    quota = tl.where(k > 0, k - count_above, found.to(tl.int64))
    hit = (quota >= 1) & (quota <= found)
    mass = mass_above + quota * each
    total = tl.where(k > 0, mass, total)
    if p != ONE:
        goal = target_mass(p, total) - mass_above
        hit = hit & (goal >= 1) & (goal <= quota * each)
        quota = tl.where(hit, one_or_more(goal, each), quota)
        mass = mass_above + quota * each
    return hit, key, count_above, quota, mass, total


@triton.jit
def nth_by_index(keys, index, key, quota):
    """int32, the quota-th smallest index of the tokens with `key` of a tile in any order: a search of its own."""
    last = tl.max(tl.where(keys == key, index, -1), 0)
    if quota < tl.sum((keys == key).to(tl.int32), 0):
        ranks = tl.where(keys == key, HIGHEST - 1 - index, INELIGIBLE)
        low, high, _ = bounds(ranks)
        rank, _ = search(ranks, high, low, high.to(tl.int64) + 1, quota, False)
        last = HIGHEST - 1 - rank
    return last


@triton.jit
def beside(keys, top, low, end, share, k, short, over, count_above, found):
    """(low, end): where the cut of a row must lie that is not in its bracket [low, end); empty if nobody knows.

    By how much the bracket misses its goal is known: it is `short` of it, or what lies above reaches it by `over`. How
    many tokens lie above its edge is known as well, and above a turn inside it. From their logarithms comes how dense
    it is at the edge, and how it goes on. The tile holds one in `share` of the bracket's tokens, of which there are
    `found`.

        goal ......... | edge    turn        end |            short: the cut lies below
                       | low        turn    edge | .... goal  over: it lies above

    Edge and turn are put onto tokens: of a dozen values, as bf16 has in a bracket, one more or less is much.
    """
    under = short > 0
    least, greatest, _ = bounds(keys)
    edge = tl.where(under, least, greatest)
    amount = tl.where(k > 0, 1.0, weights_of(edge, top).to(tl.float32))
    missing = tl.where(under, short, over).to(tl.float32) / tl.maximum(amount, 1.0)
    # Where a bracket holds most of what lies above its lower end, it is the half beside the cut that tells.
    part = tl.where(count_above > found, 1.0, 0.5)
    span = (value_of(greatest) - value_of(least)) * part
    turn = key_of_value(value_of(edge) + tl.where(under, span, -span))
    below_turn = tl.max(tl.where(keys <= turn, keys, least), 0)
    above_turn = tl.min(tl.where(keys >= turn, keys, greatest), 0)
    turn = tl.where(under, below_turn, above_turn)
    passes = (keys > INELIGIBLE) & tl.where(under, keys < turn, keys > turn)
    dense = tl.sum(passes.to(tl.int32), 0).to(tl.float32) * share
    apart = tl.abs(value_of(edge) - value_of(turn))
    if turn == edge:  # one value is all that it holds
        dense = found.to(tl.float32)
        apart = value_of(tl.minimum(end - 1, top)) - value_of(low)
    at_edge = (count_above + tl.where(under, found, 0)).to(tl.float32)
    at_turn = tl.maximum(at_edge + tl.where(under, -dense, dense), 1.0)
    at_edge = tl.maximum(at_edge, 1.0)
    falls = tl.maximum(tl.abs(tl.log2(at_edge / at_turn)), LEAST_SLOPE) / tl.maximum(apart * LOG2_E, LEAST_SLOPE)
    each = 1.0 / tl.maximum(falls * at_edge, LEAST_SLOPE)
    growth = falls * GROWING
    away = down(tl.where(under, missing, -missing), each, growth - tl.where(k > 0, 0.0, 1.0))
    place = value_of(edge) - away
    each *= tl.exp2(-tl.minimum(tl.maximum(growth * away * LOG2_E, -20.0), 20.0))
    # Of equals, all come where the first comes, or all where the last does.
    ties = tl.minimum(tl.sum((keys == edge).to(tl.int32), 0).to(tl.float32) * share, TIES_BESIDE)
    reach = tl.minimum(missing * UNSURE + NEAREST, FARTHEST * ROOMY)
    lowest = tl.where(under, tl.minimum(place, value_of(low)), place)
    highest = tl.where(under, place, tl.maximum(place, value_of(tl.minimum(end - 1, top))))
    near = key_of_value(lowest - down(reach + tl.where(under, ties, 0.0), each, growth))
    far = key_of_value(highest - down(-reach - tl.where(under, 0.0, ties), each, growth))
    known = (near > INELIGIBLE) & (far > near)
    near = tl.where(under, near, tl.maximum(near, end))
    far = tl.where(under, tl.minimum(far, low), far)
    known = known & (near < far)
    return tl.where(known, near, HIGHEST), tl.where(known, far, HIGHEST)


@triton.jit
def thinned(keys, top, low, end, share, goal, at_hand, HOLD: tl.constexpr):
    """(low, end): where the cut of a row must lie whose bracket [low, end) holds more tokens than fit.

    Those at hand, one in `share`, weigh `at_hand`; the cut is near the place where they reach their share of the goal,
    the nearer the more of them are at hand. Where few values are too many tokens, it is that one key.
    """
    least, greatest, all_of_them = bounds(keys)
    end_of_search = greatest.to(tl.int64) + 1
    wanted = tl.maximum(tl.minimum((goal.to(tl.float32) / share).to(tl.int64), at_hand), 1)
    middle, _ = search(keys, top, least, end_of_search, wanted, True)
    reached = tl.sum((keys >= middle).to(tl.int32), 0)
    # A token is at hand or not, so that each adds (share - 1) / share times its square to the variance of their sum.
    heavier = tl.where(keys >= middle, weights_of(keys, top), 0).to(tl.float32)
    heavier /= tl.maximum(weights_of(middle, top).to(tl.float32), 1.0)
    deviation = tl.sqrt(tl.sum(heavier * heavier, 0) * (share - 1.0) / share)
    slack = tl.minimum(deviation * LIKELY + 1.0 / share * CLOSEST, 1.0 / share * (FARTHEST * ROOMY))
    slack = tl.maximum(slack, 1.0).to(tl.int32)
    near, far = low, end
    for step in tl.range(0, 2):  # so many further down, and up
        rank = tl.where(step == 0, reached + slack, reached - slack)
        inside = (rank > 0) & (rank < all_of_them)
        key, _above = search(keys, top, least, end_of_search, tl.where(inside, rank, 1).to(tl.int64), False)
        near = tl.where((step == 0) & inside, key, near)
        far = tl.where((step == 1) & inside, key + 1, far)
    held = tl.sum(((keys >= near) & (keys < far)).to(tl.int32), 0).to(tl.float32) * share
    fits = held <= HOLD - HOLD // 32
    return tl.where(fits, near, middle), tl.where(fits, far, middle + 1)


@triton.jit
def aimed_again(keys, top, low, end, found, k, p, count_above, mass_above, total, HOLD: tl.constexpr):
    """(low, end): where to look next for the cut of a row that was not found in its bracket [low, end)."""
    goal = tl.where(k > 0, k.to(tl.int64), target_mass(p, total)) - tl.where(k > 0, count_above, mass_above)
    at_hand = tl.where(k > 0, tl.minimum(found, HOLD).to(tl.int64), tl.sum(measure(keys, top, True), 0))
    share = tl.maximum(found, HOLD).to(tl.float32) / HOLD
    inside = tl.where(found > HOLD, (at_hand.to(tl.float32) * share).to(tl.int64), at_hand)
    near, far = beside(keys, top, low, end, share, k, goal - inside, -goal, count_above, found)
    if (k == 0) & (found > HOLD) & (goal > 0) & (goal <= inside):
        near, far = thinned(keys, top, low, end, share, goal, at_hand, HOLD)
    # Few tokens above that reach the goal: they are the next bracket, as where some weigh more than all of a flat row.
    few = (goal <= 0) & (count_above <= HOLD)
    return tl.where(few, end, near), tl.where(few, HIGHEST, far)


@entry
def select_bracket_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64,
    k_words, k_stride: tl.int64, k_kind, k_scalar, p_words, p_halves, p_stride: tl.int64, p_kind, p_scalar,
    peaks, brackets, held, inside, counts, above_masses, row_masses, next_brackets, next_held, cuts, masses,
    rows: tl.int64, vocab, splits, parts, wants_mass, again,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, EARLY: tl.constexpr, SPLITS: tl.constexpr, HOLD: tl.constexpr,
):  # fmt: skip
    """A persistent grid over rows: the records of those whose cut lies in their bracket; MISSED for the others.

    Where a bracket of one key holds more tokens than fit, the key is the cut, and the row is left TIED. For a row that
    is missed, next_brackets [rows, 2] says where to look `again`, and next_held [rows] is 0; the second time, rows that
    are settled are left alone, and a search of the whole row is what comes next.
    """
    in_turn(EARLY, 1)
    row = tl.program_id(0).to(tl.int64)
    while row < rows:
        low = tl.load(brackets + row * 2)
        end = tl.load(brackets + row * 2 + 1)
        found = tl.load(held + row)
        next_low, next_end = HIGHEST, HIGHEST
        alone = (end.to(tl.int64) - low == 1) & (found > HOLD)
        hit = low < end
        if hit:
            k = top_k(k_words, k_stride, k_kind, k_scalar, row, vocab)
            p = top_p(p_words, p_halves, p_stride, p_kind, p_scalar, row)
            base = row_start(logits, row, row_stride, ALIGNED)
            s = tl.arange(0, SPLITS)
            top = tl.max(tl.load(peaks + row * splits + s, mask=s < splits, other=INELIGIBLE), 0)
            slot = tl.arange(0, HOLD)
            index = tl.load(inside + row * HOLD + slot, mask=slot < tl.minimum(found, HOLD), other=vocab)
            keys = load_keys(base, index, column_stride, vocab, FORMAT, ALIGNED)
            keys = tl.where(keys >= low, keys, INELIGIBLE)
            count_above = total_of(counts, row, parts, SPLITS).to(tl.int64)
            mass_above = total_of(above_masses, row, parts, SPLITS)
            total = total_of(row_masses, row, splits, SPLITS)
            if alone:
                hit, key, above, quota, mass, total = cut_at_key(low, found, top, k, p, count_above, mass_above, total)
            else:
                hit, key, above, quota, mass, total = cut_in_bracket(
                    keys, top, k, p, count_above, mass_above, total, low == INELIGIBLE, wants_mass
                )
                hit = hit & (found <= HOLD)
            if hit:
                last = quota.to(tl.int32)
                if not alone:
                    last = nth_by_index(keys, index, key, quota)
                state = tl.where(alone, TIED, SELECTED)
                store_cut(cuts, masses, rows, row, key, last, above + quota, mass, total, state)
            elif (alone == 0) & ((k == 0) | (p == ONE)):
                next_low, next_end = aimed_again(keys, top, low, end, found, k, p, count_above, mass_above, total, HOLD)
        tl.store(next_brackets + row * 2, next_low)
        tl.store(next_brackets + row * 2 + 1, next_end)
        if again == 0:
            tl.store(next_held + row, 0)
            if not hit:
                tl.store(cuts + CUT_STATE * rows + row, MISSED)
        row += tl.num_programs(0)
