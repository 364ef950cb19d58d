"""A kernel that gives away what the weight's code computes."""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.weight import weight


@triton.jit
def weights(d, out, n, TILE: tl.constexpr):
    """W(d) of float32 d <= 0."""
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tl.store(out + i, weight(tl.load(d + i, mask=i < n, other=0.0)), mask=i < n)
