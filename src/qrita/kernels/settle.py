"""What selection does with a tile of candidates, wherever it came from: cut it, write what the call wants."""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.cut import cut_of, list_cut_of
from qrita.kernels.entry import entry, in_turn
from qrita.kernels.order import places_of
from qrita.kernels.rows import element, load_keys, row_start, top_k, top_p
from qrita.kernels.select import EMITTED, NOT_HELD, SELECTED, WANT_LIST, is_filled, kept_by, store_cut
from qrita.kernels.truncate import total_of


@triton.jit
def settle(
    base, column_stride, target, target_column_stride, keys, index, k, p, row_total, complete, writes, cuts, masses,
    rows, row, wants, ALIGNED: tl.constexpr,
):  # fmt: skip
    """(hit, key, last, count): whether the tile holds the row's answer, and its cut; then its record is written.

    Where the call `writes` also the kept logits, into `target`, the row of an output that was filled before.
    """
    hit, key, last, count, mass, total = cut_of(keys, index, k, p, row_total, complete, wants)
    if hit:
        state = SELECTED
        if writes:
            state = EMITTED
            kept = kept_by(keys, index, key, last)
            raw = tl.load(element(base, index, column_stride, ALIGNED), mask=kept, other=0)
            tl.store(element(target, index, target_column_stride, ALIGNED), raw, mask=kept)
        store_cut(cuts, masses, rows, row, key, last, count, mass, total, state)
    return hit, key, last, count


@entry
def settle_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64,
    out, out_row_stride: tl.int64, out_column_stride: tl.int64,
    k_words, k_stride: tl.int64, k_kind, k_scalar, p_words, p_halves, p_stride: tl.int64, p_kind, p_scalar,
    survivors, heads, row_masses, marks, cuts, masses, listing, rows: tl.int64, vocab, splits, slots, wants, filled,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, EARLY: tl.constexpr, SLOTS: tl.constexpr, SPLITS: tl.constexpr,
):  # fmt: skip
    """One program a row: settles those that have survivors [rows, SLOTS] of index, as their heads say.

    Where the call wants them also the row's kept tokens in token order, listing [rows, slots] of place. What is still
    MISSED afterwards was before.
    """
    in_turn(EARLY, 1)
    row = tl.program_id(0).to(tl.int64)
    slot = tl.arange(0, SLOTS)
    head = tl.load(heads + row)
    listed = tl.load(row_start(survivors, row, SLOTS, True) + slot)  # all of them: a mask would wait for the head
    if head != NOT_HELD:
        k = top_k(k_words, k_stride, k_kind, k_scalar, row, vocab)
        p = top_p(p_words, p_halves, p_stride, p_kind, p_scalar, row)
        base = row_start(logits, row, row_stride, ALIGNED)
        index = tl.where(slot < head >> 1, listed, vocab)
        keys = load_keys(base, index, column_stride, vocab, FORMAT, ALIGNED)
        hit, key, last, count = settle(
            base, column_stride,
            row_start(out, row, out_row_stride, ALIGNED), out_column_stride, keys, index, k, p,
            total_of(row_masses, row, splits, SPLITS), (head & 1) != 0, is_filled(filled, marks, row), cuts, masses,
            rows, row, wants, ALIGNED,
        )  # fmt: skip
        if hit & ((wants & WANT_LIST) != 0):
            list_key, list_last = list_cut_of(keys, index, key, last, count, slots)
            listed_here = kept_by(keys, index, list_key, list_last)
            place = tl.cumsum(listed_here.to(tl.int32), 0) - 1
            tl.store(listing + row * slots + place, places_of(keys, index), mask=listed_here)
