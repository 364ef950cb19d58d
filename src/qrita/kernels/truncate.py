"""Truncation by groups, and what every truncation shares.

A truncation reads the row once and leaves a small set that provably contains the answer. Here that is the greatest key
of every group of GROUP consecutive tokens: the k-th greatest of those bounds the k-th greatest key of the row from
below, so the answer lies in the groups that reach it: no guess, and no miss while k is at most the groups kept.
"""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.entry import entry, in_turn
from qrita.kernels.order import INELIGIBLE, keys_of_ranks, ranks_of, value_from, values_of
from qrita.kernels.rows import bound, element, load_words, row_start, top_k
from qrita.kernels.select import EVEN, MAY_HOLD, is_filled
from qrita.kernels.tally import added, no_tallies, pivots_of, store_tallies


@triton.jit
def minus_infinity(FORMAT: tl.constexpr):
    """The raw word of -inf, as a signed integer."""
    if FORMAT == "fp32":
        return -0x800000
    elif FORMAT == "bf16":
        return -0x80
    else:
        return -0x400


@triton.jit
def blank(target, offsets, column_stride, inside, raw, fill, FORMAT: tl.constexpr, ALIGNED: tl.constexpr):
    """Write `fill` over a tile of an output; -inf stays -inf."""
    words = tl.where(raw == minus_infinity(FORMAT), raw, fill)
    tl.store(element(target, offsets, column_stride, ALIGNED), words, mask=inside)


@triton.jit
def total_of(parts, row, splits, SPLITS: tl.constexpr):
    """The sum of what each split of a row left in parts [rows, splits]."""
    split = tl.arange(0, SPLITS)
    return tl.sum(tl.load(parts + row * splits + split, mask=split < splits, other=0), 0)


@triton.jit
def tiles_of(split, splits, vocab, TILE: tl.constexpr):
    """(first, end): the tiles of a row that fall to one of the programs that share it."""
    tiles = tl.cdiv(vocab, TILE)
    share = tl.cdiv(tiles, splits)
    return split * share, tl.minimum((split + 1) * share, tiles)


@triton.jit
def greatest_of_groups(
    base, column_stride, target, target_column_stride, fills, fill, maxima, vocab, groups, first, end, tallies, pivots,
    top_value, k, probed, FORMAT: tl.constexpr, ALIGNED: tl.constexpr, GROUP: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """(rank, tallies): the greatest rank in tiles of a row, and what they tally; writes the maxima of their groups."""
    within = tl.arange(0, TILE // GROUP)[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    seen = tl.full([TILE // GROUP], INELIGIBLE, tl.int32)
    offsets = first * TILE + within
    inside = (offsets < bound(vocab, ALIGNED)) & (first < end)
    raw = tl.load(element(base, offsets, column_stride, ALIGNED), mask=inside, other=-1)
    for tile in tl.range(first, end):
        offsets = tile * TILE + within
        inside = offsets < bound(vocab, ALIGNED)
        following = offsets + TILE
        ahead = (following < bound(vocab, ALIGNED)) & (tile + 1 < end)
        next_raw = tl.load(element(base, following, column_stride, ALIGNED), mask=ahead, other=-1)
        if fills:
            blank(target, offsets, target_column_stride, inside, raw, fill, FORMAT, ALIGNED)
        ranks = ranks_of(raw, FORMAT)
        greatest = tl.max(ranks, 1)
        group = tile * (TILE // GROUP) + tl.arange(0, TILE // GROUP)
        tl.store(maxima + group, keys_of_ranks(greatest), mask=group < bound(groups, True))
        seen = tl.maximum(seen, greatest)
        if probed:
            tallies = added(tallies, values_of(raw, FORMAT), pivots, top_value, k, ALIGNED, TILE)
        raw = next_raw
    return tl.max(seen, 0), tallies


@triton.jit
def greatest_of_all(
    base, column_stride, vocab, first, end, tallies, pivots, top_value, k,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """`greatest_of_groups` where those are not looked at, without a word between threads."""
    seen = tl.full([TILE], INELIGIBLE, tl.int32)
    for tile in tl.range(first, end):
        raw = load_words(base, tile * TILE + tl.arange(0, TILE), column_stride, vocab, ALIGNED)
        seen = tl.maximum(seen, ranks_of(raw, FORMAT))
        tallies = added(tallies, values_of(raw, FORMAT), pivots, top_value, k, ALIGNED, TILE)
    return tl.max(seen, 0), tallies


@entry
def group_maxima_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64,
    out, out_row_stride: tl.int64, out_column_stride: tl.int64,
    k_words, k_stride: tl.int64, k_kind, k_scalar,
    probes, marks, tallies, maxima, peaks, vocab, groups, splits, fill, filled, probed,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, EARLY: tl.constexpr, GROUP: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One program a (row, split): maxima [rows, groups] and peaks [rows, splits] of keys.

    Where the rows were `probed` also tallies [rows, splits, TALLIES], and no maxima of those marked EVEN. Of `filled`
    rows it also writes `fill` (raw words) over the same part of `out`, which saves a pass over the output; -inf stays
    -inf.
    """
    in_turn(EARLY, splits)
    row = (tl.program_id(0) // splits).to(tl.int64)
    split = tl.program_id(0) % splits
    base = row_start(logits, row, row_stride, ALIGNED)
    first, end = tiles_of(split, splits, vocab, TILE)
    k = 0
    low, middle, high, top_value = INELIGIBLE, INELIGIBLE, INELIGIBLE, 0.0
    mark = MAY_HOLD
    if probed:
        k = top_k(k_words, k_stride, k_kind, k_scalar, row, vocab)
        low, middle, high, top_value = pivots_of(probes, row)
        mark = tl.load(marks + row)
    pivots = value_from(low), value_from(middle), value_from(high)
    amounts = no_tallies(TILE)
    if mark == EVEN:
        peak, amounts = greatest_of_all(
            base, column_stride, vocab, first, end, amounts, pivots, top_value, k, FORMAT, ALIGNED, TILE
        )
    else:
        peak, amounts = greatest_of_groups(
            base, column_stride, row_start(out, row, out_row_stride, ALIGNED), out_column_stride,
            is_filled(filled, marks, row), fill, row_start(maxima, row, groups.to(tl.int64), True), vocab, groups,
            first, end, amounts, pivots, top_value, k, probed, FORMAT, ALIGNED, GROUP, TILE,
        )  # fmt: skip
    tl.store(peaks + row * splits + split, keys_of_ranks(peak))
    if probed:
        store_tallies(tallies, row * splits + split, amounts)
