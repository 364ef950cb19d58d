"""Selection from whole rows, as `kernels.select_rows` does it, with the paper's search in place of the package's.

The bracket starts as all of the row, not as what a sample says, and a pass leaves a quarter of it (THREE_PIVOTS) or a
half (ONE_PIVOT). What is left is gathered into registers as in the package. Without DUPLICATES all tokens that equal
the last kept one are kept: not exact, and only here. Top-k is always on.
"""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.bench.ablation.searches import row_searched
from qrita.kernels.entry import entry, in_turn
from qrita.kernels.rows import ONE, row_start, target_mass, top_k, top_p
from qrita.kernels.select import CUT_STATE, MISSED, SELECTED, store_cut, tokens_for
from qrita.kernels.stream import row_bounds, row_mass_above, row_nth
from qrita.kernels.weight import weights_of


@triton.jit
def cut_of_row(
    base, column_stride, vocab, k, p, scratch, SEARCH: tl.constexpr, DUPLICATES: tl.constexpr,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, TILE: tl.constexpr
):  # fmt: skip
    """(key, index, count, mass, total) of one row; without DUPLICATES as in `tile_kernels.cut_by_search`."""
    low, top, eligible = row_bounds(base, column_stride, vocab, FORMAT, ALIGNED, TILE)
    end = top.to(tl.int64) + 1
    reached = eligible.to(tl.int64)
    key = low - 1
    above = reached
    quota = above * 0
    if k < eligible:
        key, _, above = row_searched(
            base, column_stride, vocab, top, low, end, reached, k.to(tl.int64), scratch, False, SEARCH, FORMAT, ALIGNED,
            TILE,
        )  # fmt: skip
        quota = k - above
    mass = above * 0
    total = above * 0
    if (eligible > 0) & (p != ONE):
        mass_above = row_mass_above(base, column_stride, vocab, top, key, FORMAT, ALIGNED, TILE)
        each = tl.where(quota > 0, weights_of(key, top), 0)
        total = mass_above + quota * each
        target = target_mass(p, total)
        if mass_above >= target:
            key, mass_above, above = row_searched(
                base, column_stride, vocab, top, key + 1, end, above, target, scratch, True, SEARCH, FORMAT, ALIGNED,
                TILE,
            )  # fmt: skip
            each = weights_of(key, top)
        quota = tokens_for(target - mass_above, each)
        mass = mass_above + quota * each
    if quota == 0:
        key = low
        above = reached * 0
        quota = reached
    last = vocab
    if DUPLICATES:
        last = row_nth(base, column_stride, vocab, key, quota, FORMAT, ALIGNED, TILE)
    return key, last, above + quota, mass, total


@entry
def select_rows_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64,
    k_words, k_stride: tl.int64, k_kind, k_scalar, p_words, p_halves, p_stride: tl.int64, p_kind, p_scalar,
    cuts, masses, scratch, scratch_stride: tl.int64, rows: tl.int64, vocab, truncated,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, EARLY: tl.constexpr,
    TILE: tl.constexpr, SEARCH: tl.constexpr, DUPLICATES: tl.constexpr,
):  # fmt: skip
    """`select_rows.select_rows_kernel` for masks with top-k."""
    in_turn(EARLY, 1)
    row = tl.program_id(0).to(tl.int64)
    scratch += row * scratch_stride
    while row < rows:
        state = MISSED
        if truncated:
            state = tl.load(cuts + CUT_STATE * rows + row)
        if state == MISSED:
            k = top_k(k_words, k_stride, k_kind, k_scalar, row, vocab)
            p = top_p(p_words, p_halves, p_stride, p_kind, p_scalar, row)
            base = row_start(logits, row, row_stride, ALIGNED)
            key, last, count, mass, total = cut_of_row(
                base, column_stride, vocab, k, p, scratch, SEARCH, DUPLICATES, FORMAT, ALIGNED, TILE
            )
            store_cut(cuts, masses, rows, row, key, last, count, mass, total, SELECTED)
        row += tl.num_programs(0)
