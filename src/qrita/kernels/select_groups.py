"""Selection from group maxima: pick the groups that can hold the answer, gather them into registers, cut."""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.entry import entry
from qrita.kernels.order import INELIGIBLE
from qrita.kernels.rows import load_keys, row_start, top_k, top_p
from qrita.kernels.search import bounds, search
from qrita.kernels.select import CUT_STATE, MISSED
from qrita.kernels.settle import settle
from qrita.kernels.truncate import total_of


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
    peaks = tl.load(maxima + g, mask=g < groups, other=INELIGIBLE)
    low, top, valid = bounds(peaks)
    key = low
    complete = valid <= KEEP
    if valid > KEEP:
        goal = tl.where(k > 0, k, KEEP // 2).to(tl.int64)
        key, _ = search(peaks, top, low, top.to(tl.int64) + 1, goal, KEEP, False)
    above = tl.sum((peaks > key).to(tl.int32), 0)
    reached = tl.sum(((peaks >= key) & (peaks > INELIGIBLE)).to(tl.int32), 0)
    quota = KEEP - above

    # One scan for both counts: groups above t in the low half of a word, groups equal to it in the high half.
    tie = (peaks == key) & (peaks > INELIGIBLE)
    counts = tl.cumsum((peaks > key).to(tl.int32) + (tie.to(tl.int32) << 16), 0)
    ties = counts >> 16
    place = (counts & 0xFFFF) + tl.minimum(ties, quota) - 1
    tl.store(chosen + place, g, mask=(peaks > key) | (tie & (ties <= quota)))
    tl.debug_barrier()
    slot = tl.arange(0, KEEP)
    picked = tl.load(chosen + slot, mask=slot < tl.minimum(reached, KEEP), other=groups)
    floor = tl.where((reached > KEEP) & (k == 0), key + 1, key)
    return picked, tl.where(complete, INELIGIBLE + 1, floor), complete


@entry
def select_groups_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64,
    out, out_row_stride: tl.int64, out_column_stride: tl.int64,
    k_words, k_stride: tl.int64, k_kind, k_scalar, p_words, p_halves, p_stride: tl.int64, p_kind, p_scalar,
    maxima, row_masses, chosen, cuts, masses, listing,
    rows: tl.int64, vocab, groups, splits, slots, wants, bracketed,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, GROUP: tl.constexpr, GROUPS: tl.constexpr, KEEP: tl.constexpr,
    SPLITS: tl.constexpr,
):  # fmt: skip
    """A persistent grid over rows: the records, and what else the call wants, of those that the groups settle.

    Where rows were `bracketed` before, those that are settled are left alone.
    """
    row = tl.program_id(0).to(tl.int64)
    while row < rows:
        state = MISSED
        if bracketed:
            state = tl.load(cuts + CUT_STATE * rows + row)
        k = top_k(k_words, k_stride, k_kind, k_scalar, row, vocab)
        p = top_p(p_words, p_halves, p_stride, p_kind, p_scalar, row)
        hit = (state == MISSED) & ((k <= KEEP) | (groups <= KEEP))
        if hit:
            picked, floor, complete = choose_groups(maxima + row * groups, chosen + row * KEEP, groups, k, KEEP, GROUPS)
            base = row_start(logits, row, row_stride, ALIGNED)
            index = picked[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
            keys = load_keys(base, index, column_stride, vocab, FORMAT, ALIGNED)
            keys = tl.reshape(tl.where(keys >= floor, keys, INELIGIBLE), [KEEP * GROUP])
            index = tl.reshape(index, [KEEP * GROUP])
            hit = settle(
                base, column_stride, row_start(out, row, out_row_stride, ALIGNED), out_column_stride, keys, index, k, p,
                total_of(row_masses, row, splits, SPLITS), complete, cuts, masses, listing, rows, row, slots, wants,
                ALIGNED,
            )  # fmt: skip
        if (state == MISSED) & (hit == 0):
            tl.store(cuts + CUT_STATE * rows + row, MISSED)
        row += tl.num_programs(0)
