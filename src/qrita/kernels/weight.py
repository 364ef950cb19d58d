"""The integer weight of a logit: semantics rule 9, operation by operation. Launch with fusion off, always."""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.entry import entry
from qrita.kernels.order import value_of

C5 = tl.constexpr(float.fromhex("-0x1.ef66d2p-11"))
C4 = tl.constexpr(float.fromhex("0x1.2da7d6p-7"))
C3 = tl.constexpr(float.fromhex("-0x1.c4fef8p-5"))
C2 = tl.constexpr(float.fromhex("0x1.ebe392p-3"))
C1 = tl.constexpr(float.fromhex("-0x1.62e3bcp-1"))


@triton.jit
def mantissas(steps):
    """int32, y * 2**24 with y = 2**-f, where f is the fraction of `steps`, which counts 2**-23 binades.

    Two exact conversions are done on bits, which takes half of the time of instructions for them:

        f          1.f, less 1:           0x3f800000 | f * 2**23
        y * 2**24  y's significand:       0x3f000000 + m  ->  0x00800000 + m,  0.5 <= y < 1
                                          0x3f800000      ->  0x01000000,      y = 1
    """
    f = ((steps & 0x7FFFFF) | 0x3F800000).to(tl.float32, bitcast=True) - 1.0
    q = f * C5 + C4
    q = q * f + C3
    q = q * f + C2
    q = q * f + C1
    return (q * f + 1.0).to(tl.int32, bitcast=True) - 0x3E800000


OF_GREATEST = tl.constexpr(1 << 40)
"""W(0)."""


@triton.jit
def weight(d):
    """int64, W(d) for fp32 d <= 0; 0 for NaN, as for all d from about -27.7 down."""
    d = tl.where(d > -28.0, d, -28.0)
    steps = (d * -12102203.0).to(tl.int32)
    return (mantissas(steps).to(tl.int64) << 16) >> (steps >> 23).to(tl.int64)


@triton.jit
def weights_of(keys, top):
    """int64 weights of a tile of keys below or at the row's greatest key `top` (a scalar, or broadcast against it).

    d is +0 where the keys are equal, which also keeps +inf minus +inf out. Callers discard the weight of ineligible
    keys by a select; their d is made 0 here so that no NaN is converted to an integer.
    """
    below = (keys != top) & (keys > -2147483648)
    d = tl.where(below, value_of(keys) - value_of(top), 0.0)
    return weight(d)


@entry
def table_kernel(out, TILE: tl.constexpr):
    """The table that rule 9 gives the checksum of: tells at once whether the launches of a device fuse."""
    steps = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tl.store(out + steps, mantissas(steps))
