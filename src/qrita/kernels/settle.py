"""What selection does with a tile of candidates, wherever it came from: cut it, write what the call wants."""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.cut import cut_of, list_cut_of
from qrita.kernels.rows import element
from qrita.kernels.select import EMITTED, SELECTED, WANT_LIST, WANT_OUTPUT, kept_by, store_cut


@triton.jit
def settle(
    base, column_stride, target, target_column_stride, keys, index, k, p, row_total, complete, cuts, masses, listing,
    rows, row, slots, wants, ALIGNED: tl.constexpr,
):  # fmt: skip
    """Whether the tile holds the row's answer; then its record is written.

    Where the call wants them also the row's kept tokens in token order, listing [rows, slots] of index, and the kept
    logits into `target`, the row of an output that was filled before.
    """
    hit, key, last, count, mass, total = cut_of(keys, index, k, p, row_total, complete, wants)
    if hit:
        state = SELECTED
        if (wants & WANT_OUTPUT) != 0:
            state = EMITTED
            kept = kept_by(keys, index, key, last)
            raw = tl.load(element(base, index, column_stride, ALIGNED), mask=kept, other=0)
            tl.store(element(target, index, target_column_stride, ALIGNED), raw, mask=kept)
        if (wants & WANT_LIST) != 0:
            list_key, list_last = list_cut_of(keys, index, key, last, count, slots)
            listed = kept_by(keys, index, list_key, list_last)
            place = tl.cumsum(listed.to(tl.int32), 0) - 1
            tl.store(listing + row * slots + place, index, mask=listed)
        store_cut(cuts, masses, rows, row, key, last, count, mass, total, state)
    return hit
