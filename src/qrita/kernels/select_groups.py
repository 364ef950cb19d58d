"""From group maxima to survivors: the groups that can hold the answer, and of their tokens the first few."""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.bits import WORD, store_numbers
from qrita.kernels.choose import first_of, reach_of
from qrita.kernels.entry import entry, in_turn
from qrita.kernels.order import INELIGIBLE
from qrita.kernels.probe import amounts_of
from qrita.kernels.rows import ONE, bound, load_keys, row_start, top_k, top_p
from qrita.kernels.select import CUT_STATE, HOLD_IT, MAY_HOLD, MISSED, NOT_HELD
from qrita.kernels.tally import goal_of, pivots_of, tallies_of

HOLDS = tl.constexpr(1.001)
"""Groups hold the answer of top-p if by floats their mass is that much of its goal. Floats err by some 1e-5."""


@triton.jit
def choose_groups(
    maxima, chosen, groups, k, KEEP: tl.constexpr, GROUPS: tl.constexpr
):  # fmt: skip
    """(picked, floor, complete): the groups to gather, [KEEP] in token order, the least key they hold for sure.

    With t the k-th greatest maximum or a little less, every token at or above t is in a group whose maximum reaches t.
    Where more than KEEP groups reach t, those above it and the first of those that equal it are enough for top-k: any
    token left out equals t, and at least as many of its equals as top-k can still want come before it. `complete`: the
    groups picked hold every eligible token of the row. `chosen` is scratch, KEEP words, the row's own.
    """
    g = tl.arange(0, GROUPS)
    peaks = tl.load(maxima + g, mask=g < bound(groups, True), other=INELIGIBLE)
    key, reached, eligible = reach_of(peaks, tl.where(k > 0, k, KEEP - KEEP // 8), KEEP)
    complete = eligible <= KEEP
    store_numbers(chosen, first_of(peaks, key, reached, KEEP, WORD), tl.arange(0, GROUPS // WORD) * WORD)
    tl.debug_barrier()
    slot = tl.arange(0, KEEP)
    picked = tl.load(chosen + slot, mask=slot < tl.minimum(reached, KEEP), other=groups)
    floor = tl.where((reached > KEEP) & (k == 0), key + 1, key)
    return picked, tl.where(complete, INELIGIBLE + 1, floor), complete


@triton.jit
def keys_of_groups(
    picked, base, column_stride, vocab, FORMAT: tl.constexpr, ALIGNED: tl.constexpr, GROUP: tl.constexpr
):  # fmt: skip
    """int32 [KEEP * GROUP], the keys of the tokens of groups, in token order."""
    SIZE: tl.constexpr = picked.shape[0] * GROUP
    index = picked[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    return tl.reshape(load_keys(base, index, column_stride, vocab, FORMAT, ALIGNED), [SIZE])


@triton.jit
def first_tokens(picked, GROUP: tl.constexpr, BITS: tl.constexpr):
    """The tokens of bit 0 in each word of a bitmap of the tokens of groups."""
    WORDS: tl.constexpr = picked.shape[0] * GROUP // BITS
    return tl.reshape(picked[:, None] * GROUP + tl.arange(0, GROUP // BITS)[None, :] * BITS, [WORDS])


@entry
def gather_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64,
    k_words, k_stride: tl.int64, k_kind, k_scalar, p_words, p_halves, p_stride: tl.int64, p_kind, p_scalar,
    maxima, probes, marks, tallies, chosen, survivors, heads, cuts,
    rows: tl.int64, vocab, groups, splits, probed,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, EARLY: tl.constexpr,
    GROUP: tl.constexpr, GROUPS: tl.constexpr, KEEP: tl.constexpr, SLOTS: tl.constexpr, SPLITS: tl.constexpr,
):  # fmt: skip
    """A persistent grid over rows: the first tokens of each, up to SLOTS, in token order, for `settle_kernel`.

    Where rows were `probed`, those of which groups do not hold the answer are left to brackets: at once, unless they
    are marked or what is above their pivots has mass enough, and if what was gathered turns out to be too little.
    """
    in_turn(EARLY, 1)
    BITS: tl.constexpr = GROUP if GROUP < WORD else WORD
    row = tl.program_id(0).to(tl.int64)
    while row < rows:
        tl.store(cuts + CUT_STATE * rows + row, MISSED)
        k = top_k(k_words, k_stride, k_kind, k_scalar, row, vocab)
        likely = (k <= KEEP) | (vocab <= KEEP * GROUP)
        goal, top_value = 0.0, 0.0
        if probed:
            p = top_p(p_words, p_halves, p_stride, p_kind, p_scalar, row)
            _, _, at_high, total = tallies_of(tallies, row, splits, SPLITS)
            _, _, _, top_value = pivots_of(probes, row)
            goal = goal_of(k, p, total)
            mark = tl.load(marks + row)
            likely = (mark == HOLD_IT) | ((mark == MAY_HOLD) & (k == 0) & (p != ONE) & (at_high >= goal))
        head = NOT_HELD
        if likely:
            picked, floor, complete = choose_groups(
                row_start(maxima, row, groups.to(tl.int64), True), chosen + row * KEEP, groups, k, KEEP, GROUPS
            )
            base = row_start(logits, row, row_stride, ALIGNED)
            keys = keys_of_groups(picked, base, column_stride, vocab, FORMAT, ALIGNED, GROUP)
            keys = tl.where(keys >= floor, keys, INELIGIBLE)
            # Of more than SLOTS tokens the first in the order are enough for top-k; by mass, those above some key.
            key, reached, eligible = reach_of(keys, tl.minimum(tl.where(k > 0, k, SLOTS // 2), SLOTS), SLOTS)
            if (reached > SLOTS) & (k == 0):
                key += 1
                reached = tl.sum((keys >= key).to(tl.int32), 0)
            complete = complete & (eligible <= SLOTS)
            holds = complete | (k > 0) | (probed == 0)
            if (probed != 0) & (k == 0):
                mass = tl.sum(tl.where(keys >= key, amounts_of(keys, top_value, k), 0.0), 0)
                holds = holds | (mass >= goal * HOLDS)
            words = first_of(keys, key, reached, SLOTS, BITS)
            store_numbers(survivors + row * SLOTS, words, first_tokens(picked, GROUP, BITS))
            head = tl.where(holds, tl.minimum(reached, SLOTS) * 2 + complete.to(tl.int32), NOT_HELD)
        tl.store(heads + row, head)
        row += tl.num_programs(0)
