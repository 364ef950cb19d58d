"""The kernels of `test_searches`: in a file of their own, as in `order_kernels`."""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.bits import TOGETHER, lowest_bit, packed, places_from, reserve, token_of
from qrita.kernels.rows import load_keys
from qrita.kernels.search import bounds, closed_in, lightened, measure, search
from qrita.kernels.weight import weights_of


@triton.jit
def search_kernel(words, goals, found, light_found, count, MASS: tl.constexpr, SIZE: tl.constexpr):
    """One program a goal: found [goals, 2], (key, above) of the tile; light_found [goals], the key by light amounts."""
    goal = tl.load(goals + tl.program_id(0))
    keys = load_keys(words, tl.arange(0, SIZE), 1, count, "fp32", False)
    low, top, _ = bounds(keys)
    key, above = search(keys, top, low, top + 1, goal, MASS)
    tl.store(found + tl.program_id(0) * 2, key.to(tl.int64))
    tl.store(found + tl.program_id(0) * 2 + 1, above)
    amounts, light_goal = lightened(measure(keys, top, MASS).to(tl.int64), goal, weights_of(top, top))
    light, _ = closed_in(keys, amounts, low, top + 1, light_goal)
    tl.store(light_found + tl.program_id(0), light)


@triton.jit
def listing_kernel(flags, held, listing, tiles, ALIGNED: tl.constexpr, TILE: tl.constexpr):
    """One program: the numbers of the flags [tiles * TILE] that are not 0 into listing, in no order."""
    lane = tl.arange(0, TILE)
    found = tl.zeros([TILE], tl.int32)
    for tile in tl.range(0, tiles):
        found |= tl.where(tl.load(flags + tile * TILE + lane) != 0, 1 << tile, 0)
    place, _ = reserve(found, held)
    for tile in tl.range(0, tiles, TOGETHER):
        words = packed(found, tile, ALIGNED)
        most, at, place = places_from(place, words)
        for _ in tl.range(0, most):
            bit, which = lowest_bit(words)
            tl.store(listing + at, tile * TILE + token_of(which, ALIGNED, TILE), mask=words != 0)
            words ^= bit
            at += 1
