"""Ordered keys: a signed 32-bit integer that sorts as the logit does (the semantics' unsigned key minus 2**31)."""

from __future__ import annotations

import triton
import triton.language as tl

INELIGIBLE = tl.constexpr(-(2**31))
"""The key of NaN and -inf, below every other."""

HIGHEST = tl.constexpr(2**31 - 1)
"""Above every key: that of +inf is 0x7f800000."""


@triton.jit
def widened_bits(raw, FORMAT: tl.constexpr):
    """int32, the fp32 pattern of raw logit words (int32 of fp32, int16 of bf16 and fp16), exactly."""
    if FORMAT == "fp32":
        bits = raw
    elif FORMAT == "bf16":
        bits = raw.to(tl.int32) << 16
    else:
        bits = raw.to(tl.float16, bitcast=True).to(tl.float32).to(tl.int32, bitcast=True)
    return bits


@triton.jit
def keys_of(raw, FORMAT: tl.constexpr):
    """int32 keys of raw logit words.

    A pattern with the sign bit clear is its own key; in the others the 31 low bits flip, so that they count downwards.
    Both zeros have key 0 (0x80000000 would flip to -1).

        bits   0xff7fffff ... 0x80000001  0x80000000 0x00000000  0x00000001 ... 0x7f800000
        logit  -max           -tiny       -0.0       +0.0        +tiny          +inf
        key    0x80800000 ... 0xfffffffe  0          0           0x00000001 ... 0x7f800000
    """
    bits = widened_bits(raw, FORMAT)
    magnitude = bits & 0x7FFFFFFF
    keys = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    keys = tl.where(magnitude == 0, 0, keys)
    ineligible = (magnitude > 0x7F800000) | (bits == -0x800000)  # NaN, or -inf = 0xff800000
    return tl.where(ineligible, INELIGIBLE, keys)


@triton.jit
def value_of(keys):
    """fp32, the logit of a key (+0.0 for both zeros)."""
    return (keys ^ ((keys >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)
