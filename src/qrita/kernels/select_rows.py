"""Selection from whole rows: the exact fallback of every truncation, and the only way where there is none."""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.entry import entry, in_turn
from qrita.kernels.order import INELIGIBLE
from qrita.kernels.rows import ONE, row_start, target_mass, top_k, top_p
from qrita.kernels.select import CUT_INDEX, CUT_KEY, CUT_STATE, MISSED, SELECTED, TIED, WANT_MASS, store_cut, tokens_for
from qrita.kernels.stream import row_bounds, row_mass_above, row_nth, row_search
from qrita.kernels.truncate import total_of
from qrita.kernels.weight import weights_of


@triton.jit
def cut_of_row(
    base, column_stride, vocab, k, p, known_total, aimed, wants, scratch,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """(key, index, count, mass, total) of one row: `cut.cut_of` with passes for reductions.

    `known_total` is the mass of the whole row where truncation has measured it, else 0; `aimed`, as `row_search` takes
    it, is where truncation would have looked next, for what it has missed.
    """
    low, top, eligible = row_bounds(base, column_stride, vocab, FORMAT, ALIGNED, TILE)
    end = top.to(tl.int64) + 1
    reached = eligible.to(tl.int64)

    # Survivors of top-k: the `above` tokens above `key`, and the first `quota` of those that have it.
    key = low - 1
    above = reached
    quota = above * 0
    if (k > 0) & (k < eligible):
        key, _, above = row_search(
            base, column_stride, vocab, top, low, end, reached, reached, k.to(tl.int64), aimed, scratch, False,
            FORMAT, ALIGNED, TILE,
        )  # fmt: skip
        quota = k - above

    mass = above * 0
    total = above * 0
    if (eligible > 0) & ((p != ONE) | ((wants & WANT_MASS) != 0)):
        mass_above = known_total
        if (known_total == 0) | (k > 0):
            mass_above = row_mass_above(base, column_stride, vocab, top, key, FORMAT, ALIGNED, TILE)
        each = tl.where(quota > 0, weights_of(key, top), 0)
        total = mass_above + quota * each
        mass = total
        if p != ONE:
            target = target_mass(p, total)
            if mass_above >= target:
                key, mass_above, above = row_search(
                    base, column_stride, vocab, top, key + 1, end, above, mass_above, target, aimed, scratch, True,
                    FORMAT, ALIGNED, TILE,
                )  # fmt: skip
                each = weights_of(key, top)
            quota = tokens_for(target - mass_above, each)
            mass = mass_above + quota * each
    if quota == 0:  # all survive: the cut is the last token of the least key
        key = low
        above = reached * 0
        quota = reached
    last = row_nth(base, column_stride, vocab, key, quota, FORMAT, ALIGNED, TILE)
    return key, last, above + quota, mass, total


@entry
def select_rows_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64,
    k_words, k_stride: tl.int64, k_kind, k_scalar, p_words, p_halves, p_stride: tl.int64, p_kind, p_scalar,
    row_masses, cuts, masses, brackets, scratch, scratch_stride: tl.int64,
    rows: tl.int64, vocab, splits, wants, truncated, aims,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, EARLY: tl.constexpr, SPLITS: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """A persistent grid over rows: writes the records.

    Where a truncation ran before, rows that it settled are left alone, and those that it left TIED are read once, for
    the place of the last token kept. Where truncation `aims`, brackets [rows, 2] say where it would have looked next.
    `scratch` belongs to a program, not to a row.
    """
    in_turn(EARLY, 1)
    row = tl.program_id(0).to(tl.int64)
    scratch += row * scratch_stride
    while row < rows:
        state = MISSED
        if truncated:
            state = tl.load(cuts + CUT_STATE * rows + row)
        base = row_start(logits, row, row_stride, ALIGNED)
        if state == TIED:
            key = tl.load(cuts + CUT_KEY * rows + row)
            quota = tl.load(cuts + CUT_INDEX * rows + row)
            tl.store(
                cuts + CUT_INDEX * rows + row,
                row_nth(base, column_stride, vocab, key, quota, FORMAT, ALIGNED, TILE),
            )
            tl.store(cuts + CUT_STATE * rows + row, SELECTED)
        if state == MISSED:
            k = top_k(k_words, k_stride, k_kind, k_scalar, row, vocab)
            p = top_p(p_words, p_halves, p_stride, p_kind, p_scalar, row)
            known_total = row * 0
            first, end = INELIGIBLE, INELIGIBLE
            if (aims != 0) & ((k == 0) | (p == ONE)):  # else it is not known which of two searches it would be for
                first = tl.load(brackets + row * 2)
                end = tl.load(brackets + row * 2 + 1)
            if (truncated != 0) & (k == 0) & (p != ONE):
                known_total = total_of(row_masses, row, splits, SPLITS)
            key, last, count, mass, total = cut_of_row(
                base, column_stride, vocab, k, p, known_total, (first, end), wants, scratch, FORMAT, ALIGNED, TILE
            )
            store_cut(cuts, masses, rows, row, key, last, count, mass, total, SELECTED)
        row += tl.num_programs(0)
