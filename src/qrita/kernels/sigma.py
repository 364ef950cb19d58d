"""Truncation by sigma, the paper's way: a threshold guessed from a sample of the row, and what lies above it.

Whether the guess was right is tested by selection, and a miss costs time only. The sample is spread over the row, and
its statistics leave out what is not finite; they are float sums, and decide nothing but where to look.
"""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.entry import entry, in_turn
from qrita.kernels.order import INELIGIBLE, keys_of, value_of
from qrita.kernels.probe import spread
from qrita.kernels.rows import bound, element, load_keys, row_start, top_k, top_p
from qrita.kernels.select import CUT_STATE, MISSED, NO_ROW
from qrita.kernels.settle import settle
from qrita.kernels.sigma_table import QUANTILES
from qrita.kernels.truncate import blank, tiles_of, total_of

MARGIN = tl.constexpr(0.2)
"""The paper's safety margin: the threshold is lowered by this share of its magnitude."""


@triton.jit
def normal_quantile(ratio):
    """The z that a standard normal exceeds with probability 1 / ratio, 1 <= ratio <= 2**22, by linear interpolation.

    The bits of an fp32 number are, read as an integer, its logarithm to base 2 on a grid, up to a linear error.
    """
    steps = ratio.to(tl.int32, bitcast=True) - 0x3F800000
    whole = steps >> 23
    fraction = (steps & 0x7FFFFF).to(tl.float32) * 1.1920928955078125e-07
    z = ratio * 0.0
    for x in tl.static_range(22):
        z = tl.where(whole == x, QUANTILES[x] + fraction * (QUANTILES[x + 1] - QUANTILES[x]), z)
    return tl.where(whole >= 22, QUANTILES[22], z)


@triton.jit
def floor_of(
    base, column_stride, vocab, wanted, FORMAT: tl.constexpr, ALIGNED: tl.constexpr, SAMPLE: tl.constexpr
):  # fmt: skip
    """int32, the key of the threshold that about `wanted` tokens of a normal row would exceed, less the margin."""
    keys = load_keys(base, spread(vocab, SAMPLE), column_stride, vocab, FORMAT, ALIGNED)
    finite = (keys > INELIGIBLE) & (keys < 0x7F800000)
    x = tl.where(finite, value_of(keys), 0.0)
    n = tl.maximum(tl.sum(finite.to(tl.float32), 0), 1.0)
    mean = tl.sum(x, 0) / n
    apart = tl.where(finite, x - mean, 0.0)
    sigma = tl.sqrt(tl.sum(apart * apart, 0) / n)
    ratio = tl.maximum(vocab.to(tl.float32) / wanted.to(tl.float32), 1.0)
    guess = mean + normal_quantile(ratio) * sigma
    bits = (guess - MARGIN * tl.abs(guess)).to(tl.int32, bitcast=True)
    return tl.maximum(keys_of(bits, "fp32"), INELIGIBLE + 1)


@entry
def sigma_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64,
    out, out_row_stride: tl.int64, out_column_stride: tl.int64,
    k_words, k_stride: tl.int64, k_kind, k_scalar,
    above, found, floors, peaks, rows: tl.int64, vocab, splits, fill, filled,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, EARLY: tl.constexpr,
    SAMPLE: tl.constexpr, HOLD: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """One program a (row, split): the tokens at or above the row's floor, in token order, in the split's own segment.

    Writes above [rows, splits, HOLD // splits] of index, found, floors and peaks [rows, splits]: how many there were
    (more than the segment holds is a miss), the floor and the greatest key. `filled`: NO_ROW or EVERY_ROW.
    """
    in_turn(EARLY, splits)
    row = (tl.program_id(0) // splits).to(tl.int64)
    split = tl.program_id(0) % splits
    base = row_start(logits, row, row_stride, ALIGNED)
    target = row_start(out, row, out_row_stride, ALIGNED)
    k = top_k(k_words, k_stride, k_kind, k_scalar, row, vocab)
    wanted = tl.where(k > 0, k, HOLD // 16)
    floor = floor_of(base, column_stride, vocab, wanted, FORMAT, ALIGNED, SAMPLE)
    segment = HOLD // splits
    above += (row * splits + split) * segment
    first, end = tiles_of(split, splits, vocab, TILE)
    peak = INELIGIBLE
    count = 0
    for tile in tl.range(first, end):
        offsets = tile * TILE + tl.arange(0, TILE)
        inside = offsets < bound(vocab, ALIGNED)
        raw = tl.load(element(base, offsets, column_stride, ALIGNED), mask=inside, other=-1)
        keys = keys_of(raw, FORMAT)
        greatest = tl.max(keys, 0)
        if greatest >= floor:
            reach = (keys >= floor).to(tl.int32)
            place = count + tl.cumsum(reach, 0) - 1
            tl.store(above + place, offsets, mask=(reach != 0) & (place < segment))
            count += tl.sum(reach, 0)
        peak = tl.maximum(peak, greatest)
        if filled != NO_ROW:
            blank(target, offsets, out_column_stride, inside, raw, fill, FORMAT, ALIGNED)
    tl.store(found + row * splits + split, count)
    tl.store(floors + row * splits + split, floor)
    tl.store(peaks + row * splits + split, peak)


@entry
def select_sigma_kernel(
    logits, row_stride: tl.int64, column_stride: tl.int64,
    out, out_row_stride: tl.int64, out_column_stride: tl.int64,
    k_words, k_stride: tl.int64, k_kind, k_scalar, p_words, p_halves, p_stride: tl.int64, p_kind, p_scalar,
    above, found, floors, row_masses, cuts, masses,
    rows: tl.int64, vocab, splits, wants, filled,
    FORMAT: tl.constexpr, ALIGNED: tl.constexpr, EARLY: tl.constexpr, HOLD: tl.constexpr, SPLITS: tl.constexpr,
):  # fmt: skip
    """A persistent grid over rows: the records, and the output where it was filled, of those where the guess hits."""
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
        fits = tl.max(counts, 0) <= segment

        slot = tl.arange(0, HOLD)
        owner = tl.minimum(slot // segment, splits - 1)
        held = (slot - owner * segment) < tl.load(found + row * splits + owner)
        held = held & (slot < segment * splits)
        index = tl.load(above + row * splits * segment + slot, mask=held & fits, other=vocab)
        keys = load_keys(base, index, column_stride, vocab, FORMAT, ALIGNED)
        keys = tl.where(keys >= floor, keys, INELIGIBLE)
        complete = fits & (floor == INELIGIBLE + 1)
        hit, _, _, _ = settle(
            base, column_stride, row_start(out, row, out_row_stride, ALIGNED), out_column_stride, keys, index, k, p,
            total_of(row_masses, row, splits, SPLITS), complete, filled != NO_ROW, cuts, masses, rows, row, wants,
            ALIGNED,
        )  # fmt: skip
        if not hit:
            tl.store(cuts + CUT_STATE * rows + row, MISSED)
        row += tl.num_programs(0)
