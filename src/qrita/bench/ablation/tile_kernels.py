"""Selection from the tokens above sigma's threshold, as `kernels.sigma` does it, with one part exchanged.

SEARCH is what finds the cut: THREE_PIVOTS (the package's search), ONE_PIVOT, or SORT. Without DUPLICATES all tokens
that are equal to the last kept one are kept: not exact, and only here. Top-k is always on.
"""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.bench.ablation.searches import SORT, searched
from qrita.kernels.entry import entry, in_turn
from qrita.kernels.order import HIGHEST, INELIGIBLE
from qrita.kernels.rows import ONE, element, load_keys, row_start, target_mass, top_k, top_p
from qrita.kernels.search import bounds, measure, nth
from qrita.kernels.select import CUT_STATE, EMITTED, MISSED, kept_by, store_cut, tokens_for
from qrita.kernels.weight import weights_of


@triton.jit
def cut_by_search(keys, index, vocab, k, p, SEARCH: tl.constexpr, DUPLICATES: tl.constexpr):
    """(key, index, count, mass, total): `cut.cut_of` of a tile that holds at least k tokens.

    Without DUPLICATES the index is past the row's end, and count and mass are those of the exact cut.
    """
    low, top, eligible = bounds(keys)
    end = top.to(tl.int64) + 1
    key = low - 1
    above = eligible.to(tl.int64)
    quota = above * 0
    if k < eligible:
        key, above = searched(keys, top, low, end, k.to(tl.int64), False, SEARCH)
        quota = k - above
    mass = above * 0
    total = above * 0
    if p != ONE:
        mass_above = tl.sum(tl.where(keys > key, measure(keys, top, True), 0), 0)
        each = tl.where(quota > 0, weights_of(key, top), 0)
        total = mass_above + quota * each
        target = target_mass(p, total)
        if mass_above >= target:
            key, mass_above = searched(keys, top, key + 1, end, target, True, SEARCH)
            above = tl.sum((keys > key).to(tl.int32), 0).to(tl.int64)
            each = weights_of(key, top)
        quota = tokens_for(target - mass_above, each)
        mass = mass_above + quota * each
    if quota == 0:
        key = low
        above = tl.sum((keys > low).to(tl.int32), 0).to(tl.int64)
        quota = eligible - above
    last = vocab
    if DUPLICATES:
        last = nth(keys, index, key, quota)
    return key, last, above + quota, mass, total


@triton.jit
def cut_by_sort(keys, index, k, p):
    """The same from the tile sorted by key and index, which settles duplicates by itself."""
    slot = tl.arange(0, keys.shape[0])
    order = tl.sort((keys.to(tl.int64) << 32) | (index ^ HIGHEST).to(tl.int64), descending=True)
    keys = (order >> 32).to(tl.int32)
    weights = tl.where(slot < k, measure(keys, tl.max(keys, 0), True), 0)
    total = tl.sum(weights, 0)
    prefix = tl.cumsum(weights, 0)
    count = k
    if p != ONE:
        count = tl.sum(((prefix < target_mass(p, total)) & (slot < k)).to(tl.int32), 0) + 1
    last = slot == count - 1
    chosen = tl.sum(tl.where(last, order, 0), 0)
    mass = tl.sum(tl.where(last, prefix, 0), 0)
    return (chosen >> 32).to(tl.int32), (chosen & HIGHEST).to(tl.int32) ^ HIGHEST, count, mass, total


@entry
def select_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64,
    out, out_row_stride: tl.int64, out_column_stride: tl.int64,
    k_words, k_stride: tl.int64, k_kind, k_scalar, p_words, p_halves, p_stride: tl.int64, p_kind, p_scalar,
    above, found, floors, cuts, masses, rows: tl.int64, vocab, splits,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, EARLY: tl.constexpr,
    HOLD: tl.constexpr, SPLITS: tl.constexpr, SEARCH: tl.constexpr, DUPLICATES: tl.constexpr,
):  # fmt: skip
    """`sigma.select_sigma_kernel` for masks with top-k: a persistent grid over rows, which writes those that hit."""
    in_turn(EARLY, 1)
    row = tl.program_id(0).to(tl.int64)
    while row < rows:
        k = top_k(k_words, k_stride, k_kind, k_scalar, row, vocab)
        p = top_p(p_words, p_halves, p_stride, p_kind, p_scalar, row)
        base = row_start(logits, row, row_stride, ALIGNED)
        split = tl.arange(0, SPLITS)
        counts = tl.load(found + row * splits + split, mask=split < splits, other=0)
        floor = tl.max(tl.load(floors + row * splits + split, mask=split < splits, other=INELIGIBLE), 0)
        segment = HOLD // splits
        slot = tl.arange(0, HOLD)
        owner = tl.minimum(slot // segment, splits - 1)
        held = (slot - owner * segment) < tl.load(found + row * splits + owner)
        held = held & (slot < segment * splits) & (tl.max(counts, 0) <= segment)
        index = tl.load(above + row * splits * segment + slot, mask=held, other=vocab)
        keys = load_keys(base, index, column_stride, vocab, FORMAT, ALIGNED)
        keys = tl.where(keys >= floor, keys, INELIGIBLE)
        if k <= tl.sum((keys > INELIGIBLE).to(tl.int32), 0):
            if SEARCH == SORT:
                key, last, count, mass, total = cut_by_sort(keys, index, k, p)
            else:
                key, last, count, mass, total = cut_by_search(keys, index, vocab, k, p, SEARCH, DUPLICATES)
            kept = kept_by(keys, index, key, last)
            raw = tl.load(element(base, index, column_stride, ALIGNED), mask=kept, other=0)
            target = row_start(out, row, out_row_stride, ALIGNED)
            tl.store(element(target, index, out_column_stride, ALIGNED), raw, mask=kept)
            store_cut(cuts, masses, rows, row, key, last, count, mass, total, EMITTED)
        else:
            tl.store(cuts + CUT_STATE * rows + row, MISSED)
        row += tl.num_programs(0)
