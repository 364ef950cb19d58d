"""The cut of a row whose candidates are a tile in registers."""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.rows import ONE, target_mass
from qrita.kernels.search import bounds, measure, nth, search
from qrita.kernels.select import WANT_MASS, one_or_more
from qrita.kernels.weight import weights_of


@triton.jit
def cut_of(keys, index, k, p, row_total, complete, wants):
    """(hit, key, index, count, mass, total) of one row; without a hit the rest means nothing.

    The tile is in token order and holds every token at or above its least eligible key, or where `complete` every
    eligible token. `row_total` is the mass of the whole row; it matters where the tile is not complete and top-k off.
    """
    low, top, eligible = bounds(keys)
    end = top.to(tl.int64) + 1
    hit = complete | ((k > 0) & (k <= eligible)) | ((k == 0) & (p != ONE) & (eligible > 0))

    # Survivors of top-k: the `above` tokens above `key`, and the first `quota` of those that have it.
    key = low - 1
    above = eligible.to(tl.int64)
    quota = above * 0
    if hit & (k > 0) & (k < eligible):
        key, above = search(keys, top, low, end, k.to(tl.int64), False)
        quota = k - above

    mass = above * 0
    total = above * 0
    if hit & (eligible > 0) & ((p != ONE) | ((wants & WANT_MASS) != 0)):
        mass_above = tl.sum(tl.where(keys > key, measure(keys, top, True), 0), 0)
        each = tl.where(quota > 0, weights_of(key, top), 0)
        mass = mass_above + quota * each
        total = tl.where((k == 0) & (complete == 0), row_total, mass)
        if p != ONE:
            target = target_mass(p, total)
            hit = mass >= target
            if hit:
                if mass_above >= target:
                    key, mass_above = search(keys, top, key + 1, end, target, True)
                    above = tl.sum((keys > key).to(tl.int32), 0).to(tl.int64)
                    each = weights_of(key, top)
                quota = one_or_more(target - mass_above, each)
                mass = mass_above + quota * each
    last = -1
    if hit:
        if quota == 0:  # all survive: the cut is the last token of the least key
            key = low
            above = tl.sum((keys > low).to(tl.int32), 0).to(tl.int64)
            quota = eligible - above
        last = nth(keys, index, key, quota)
    return hit, key, last, above + quota, mass, total


@triton.jit
def list_cut_of(keys, index, key, last, count, slots):
    """(key, index) of the first `slots` tokens of a row, or of all that are kept where those are not more."""
    if count > slots:
        low, top, _ = bounds(keys)
        goal = slots.to(tl.int64)
        key, above = search(keys, top, low, top.to(tl.int64) + 1, goal, False)
        last = nth(keys, index, key, goal - above)
    return key, last
