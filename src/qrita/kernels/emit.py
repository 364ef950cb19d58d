"""Emission: what the caller sees, read off the cuts. Pointwise, so it may be split over programs in any way."""

from __future__ import annotations

import triton.language as tl

from qrita.kernels.entry import entry
from qrita.kernels.order import keys_of
from qrita.kernels.rows import bound, element, load_keys, row_start
from qrita.kernels.select import CUT_COUNT, CUT_INDEX, CUT_KEY, CUT_STATE, EMITTED, kept_by
from qrita.kernels.truncate import minus_infinity, tiles_of


@entry
def mask_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64,
    out, out_row_stride: tl.int64, out_column_stride: tl.int64,
    cuts, rows: tl.int64, vocab, splits, fill,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One program a (row, split): kept words are copied, -inf stays, the rest becomes `fill`. In place or not."""
    row = (tl.program_id(0) // splits).to(tl.int64)
    split = tl.program_id(0) % splits
    if tl.load(cuts + rows * CUT_STATE + row) != EMITTED:
        key = tl.load(cuts + rows * CUT_KEY + row)
        last = tl.load(cuts + rows * CUT_INDEX + row)
        first, end = tiles_of(split, splits, vocab, TILE)
        for tile in tl.range(first, end):
            index = tile * TILE + tl.arange(0, TILE)
            inside = index < bound(vocab, ALIGNED)
            raw = tl.load(
                element(row_start(logits, row, row_stride, ALIGNED), index, column_stride, ALIGNED),
                mask=inside,
                other=-1,
            )
            keys = keys_of(raw, FORMAT)
            kept = kept_by(keys, index, key, last) | (raw == minus_infinity(FORMAT))
            target = element(row_start(out, row, out_row_stride, ALIGNED), index, out_column_stride, ALIGNED)
            tl.store(target, tl.where(kept, raw, fill), mask=inside)


@entry
def list_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64, cuts, listing, indices, values, rows: tl.int64, vocab, slots,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One program a row: the listed tokens into their places, indices and values [rows, slots]; -1 and -inf past them.

    A token's place is the number of listed tokens that come before it in the order, counted block against block.
    """
    row = tl.program_id(0).to(tl.int64)
    base = row_start(logits, row, row_stride, ALIGNED)
    listing += row * slots
    count = tl.minimum(tl.load(cuts + rows * CUT_COUNT + row), slots)
    for start in tl.range(0, slots, BLOCK):
        slot = start + tl.arange(0, BLOCK)
        index = tl.load(listing + slot, mask=slot < count, other=vocab)
        raw = tl.load(element(base, index, column_stride, ALIGNED), mask=slot < count, other=-1)
        keys = keys_of(raw, FORMAT)
        place = tl.zeros([BLOCK], tl.int32)
        for other_start in tl.range(0, count, BLOCK):
            other_slot = other_start + tl.arange(0, BLOCK)
            other = tl.load(listing + other_slot, mask=other_slot < count, other=vocab)
            other_keys = load_keys(base, other, column_stride, vocab, FORMAT, ALIGNED)
            before = (other_keys[None, :] > keys[:, None]) | (
                (other_keys[None, :] == keys[:, None]) & (other[None, :] < index[:, None])
            )
            place += tl.sum(before.to(tl.int32), 1)
        tl.store(indices + row * slots + place, index, mask=slot < count)
        tl.store(values + row * slots + place, raw, mask=slot < count)
        past = (slot >= count) & (slot < slots)
        tl.store(indices + row * slots + slot, tl.full([BLOCK], -1, tl.int32), mask=past)
        blank = tl.full([BLOCK], minus_infinity(FORMAT), tl.int32).to(raw.dtype)
        tl.store(values + row * slots + slot, blank, mask=past)
