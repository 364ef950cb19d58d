"""Emission: what the caller sees, read off the cuts. Pointwise, so it may be split over programs in any way."""

from __future__ import annotations

import triton.language as tl

from qrita.kernels.bits import MOST_TILES, TOGETHER, lowest_bit, packed, places_from, reserve, token_of
from qrita.kernels.entry import entry, in_turn
from qrita.kernels.order import HIGHEST, index_of, places_of, rank_under, ranks_of
from qrita.kernels.rows import bound, element, load_keys, row_start
from qrita.kernels.select import CUT_COUNT, CUT_INDEX, CUT_KEY, CUT_STATE, EMITTED, kept_by
from qrita.kernels.truncate import minus_infinity, tiles_of


@entry
def mask_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64,
    out, out_row_stride: tl.int64, out_column_stride: tl.int64,
    cuts, rows: tl.int64, vocab, splits, fill,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, EARLY: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One program a (row, split): kept words are copied, -inf stays, the rest becomes `fill`. In place or not."""
    in_turn(EARLY, splits)
    row = (tl.program_id(0) // splits).to(tl.int64)
    split = tl.program_id(0) % splits
    if tl.load(cuts + rows * CUT_STATE + row) != EMITTED:
        key = tl.load(cuts + rows * CUT_KEY + row)
        last = tl.load(cuts + rows * CUT_INDEX + row)
        under_next, under = rank_under(tl.minimum(key, HIGHEST - 1) + 1), rank_under(key)
        first, end = tiles_of(split, splits, vocab, TILE)
        for tile in tl.range(first, end):
            index = tile * TILE + tl.arange(0, TILE)
            inside = index < bound(vocab, ALIGNED)
            raw = tl.load(
                element(row_start(logits, row, row_stride, ALIGNED), index, column_stride, ALIGNED),
                mask=inside,
                other=-1,
            )
            ranks = ranks_of(raw, FORMAT)
            kept = (ranks > under_next) | ((ranks > under) & (index <= last)) | (raw == minus_infinity(FORMAT))
            target = element(row_start(out, row, out_row_stride, ALIGNED), index, out_column_stride, ALIGNED)
            tl.store(target, tl.where(kept, raw, fill), mask=inside)


@entry
def kept_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64, cuts, held, listing, rows: tl.int64, vocab, splits, slots,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, EARLY: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One program a (row, split): the tokens up to the cut into listing [rows, slots] of place, in no order.

    `held` [rows] is 0 before, their number afterwards.
    """
    in_turn(EARLY, splits)
    row = (tl.program_id(0) // splits).to(tl.int64)
    split = tl.program_id(0) % splits
    key = tl.load(cuts + rows * CUT_KEY + row)
    last = tl.load(cuts + rows * CUT_INDEX + row)
    base = row_start(logits, row, row_stride, ALIGNED)
    lane = tl.arange(0, TILE)
    first, end = tiles_of(split, splits, vocab, TILE)
    for batch in tl.range(first, end, MOST_TILES):
        found = tl.zeros([TILE], tl.int32)
        for tile in tl.range(batch, tl.minimum(batch + MOST_TILES, end)):
            index = tile * TILE + lane
            keys = load_keys(base, index, column_stride, vocab, FORMAT, ALIGNED)
            found |= tl.where(kept_by(keys, index, key, last), 1 << (tile - batch), 0)
        place, number = reserve(found, held + row)
        listed = tl.where(number > 0, end, batch)
        for tile in tl.range(batch, tl.minimum(batch + MOST_TILES, listed), TOGETHER):
            words = packed(found, tile - batch, ALIGNED)
            most, slot, place = places_from(place, words)
            for _ in tl.range(0, most):
                bit, which = lowest_bit(words)
                at = tile * TILE + token_of(which, ALIGNED, TILE)
                keys_at = load_keys(base, tl.where(words != 0, at, vocab), column_stride, vocab, FORMAT, ALIGNED)
                tl.store(listing + row * slots + slot, places_of(keys_at, at), mask=(words != 0) & (slot < slots))
                words ^= bit
                slot += 1


@entry
def list_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64, cuts, listing, listing_stride: tl.int64, indices, values,
    rows: tl.int64, vocab, slots, blocks, ordered,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, EARLY: tl.constexpr, BLOCK: tl.constexpr, OTHERS: tl.constexpr,
):  # fmt: skip
    """One program a (row, block of slots): listed tokens into their places, indices and values [rows, slots].

    A token's slot is the number of listed tokens that come before it, counted block against block, unless the listing
    is `ordered`. Past the listed ones stand -1 and -inf.
    """
    in_turn(EARLY, blocks)
    row = (tl.program_id(0) // blocks).to(tl.int64)
    block = tl.program_id(0) % blocks
    base = row_start(logits, row, row_stride, ALIGNED)
    listing += row * listing_stride
    count = tl.minimum(tl.load(cuts + rows * CUT_COUNT + row), slots)
    slot = block * BLOCK + tl.arange(0, BLOCK)
    own = tl.load(listing + slot, mask=slot < count, other=0)
    # Added up by the threads: a sum in every step, over warps, took more than half of its instructions.
    seen = tl.zeros([BLOCK, OTHERS], tl.int32)
    end = tl.where((block * BLOCK < count) & (ordered == 0), count, 0)
    for start in tl.range(0, end, OTHERS):
        other_slot = start + tl.arange(0, OTHERS)
        others = tl.load(listing + other_slot, mask=other_slot < count, other=-(2**63))
        seen += (others[None, :] > own[:, None]).to(tl.int32)
    before = tl.where(ordered != 0, slot, tl.sum(seen, 1))
    index = index_of(own)
    raw = tl.load(element(base, index, column_stride, ALIGNED), mask=slot < count, other=-1)
    tl.store(indices + row * slots + before, index, mask=slot < count)
    tl.store(values + row * slots + before, raw, mask=slot < count)
    past = (slot >= count) & (slot < slots)
    tl.store(indices + row * slots + slot, tl.full([BLOCK], -1, tl.int32), mask=past)
    blank = tl.full([BLOCK], minus_infinity(FORMAT), tl.int32).to(raw.dtype)
    tl.store(values + row * slots + slot, blank, mask=past)
