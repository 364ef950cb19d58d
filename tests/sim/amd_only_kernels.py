"""Kernels with a bug that shows on AMD GPUs only, or shows there first."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def ranked(x, out, BLOCK: tl.constexpr, BALLOT: tl.constexpr, CONSTRAINTS: tl.constexpr):
    """For each token that is set: how many are set before it. One token a thread.

    Planted: a wave counts by a ballot of 32 bits, and ranks are put together by 32 tokens. Where a wave has 64 lanes
    its upper half is not counted.
    """
    i = tl.arange(0, BLOCK)
    taken = tl.load(x + i)
    rank = tl.inline_asm_elementwise(BALLOT, CONSTRAINTS, [taken], dtype=tl.int32, is_pure=False, pack=1)
    counts = tl.sum(tl.reshape(taken, [BLOCK // 32, 32]), axis=1)
    before = tl.cumsum(counts, axis=0) - counts
    start = tl.reshape(tl.broadcast_to(before[:, None], [BLOCK // 32, 32]), [BLOCK])
    tl.store(out + i, tl.where(taken != 0, rank + start, -1))


@triton.jit
def mirrored(x, scratch, out, BLOCK: tl.constexpr):
    """A tile in reverse, by way of scratch memory.

    Planted: no barrier between what threads store and what other threads load.
    """
    i = tl.arange(0, BLOCK)
    tl.store(scratch + i, tl.load(x + i))
    tl.store(out + i, tl.load(scratch + (BLOCK - 1 - i)))
