"""Ordered keys: a signed 32-bit integer that sorts as the logit does (the semantics' unsigned key minus 2**31)."""

from __future__ import annotations

import triton
import triton.language as tl

INELIGIBLE = tl.constexpr(-(2**31))
"""The key of NaN and -inf, below every other."""

INFINITE = tl.constexpr(0x7F800000)
"""The key of +inf."""

HIGHEST = tl.constexpr(2**31 - 1)
"""Above every key."""


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


@triton.jit
def value_from(key):
    """fp32, the least logit whose key is at or above `key`; NaN above the key of +inf. For guesses: keys decide."""
    key = tl.maximum(key, -0x7F800000)  # of -max, the least that is eligible
    return value_of(tl.where(key > 0x7F800000, HIGHEST, key))


FIRST = tl.constexpr(-0x7F000001)
"""The least rank of an eligible logit, which is -max."""

LAST = tl.constexpr(2**31 - 1)
"""The rank of +inf."""


@triton.jit
def values_of(raw, FORMAT: tl.constexpr):
    """fp32 logits of raw words, NaN and -inf as they are."""
    return widened_bits(raw, FORMAT).to(tl.float32, bitcast=True)


@triton.jit
def ranks_of(raw, FORMAT: tl.constexpr):
    """int32 ranks of raw logit words: keys for passes that have no time, three operations a token instead of nine.

    The 31 low bits of negative patterns flip, then 0x7fffff is added, past the largest int32 for NaN without a sign.

        logit  NaN          -NaN         -inf         -max       ...  -0.0       +0.0       ...  +inf
        rank   0x80000000.. 0x807fffff.. 0x80fffffe   0x80ffffff ...  0x007ffffe 0x007fffff ...  0x7fffffff

    So ranks are as keys are, 0x7fffff more, except that the zeros differ by one and that what is ineligible lies in
    order below FIRST. `rank_under` says of a key where its ranks begin.
    """
    bits = widened_bits(raw, FORMAT)
    return (bits ^ ((bits >> 31) & 0x7FFFFFFF)) + 0x7FFFFF


@triton.jit
def rank_under(key):
    """The greatest rank whose tokens do not reach a key: they do where their rank is above it."""
    under = tl.where(key == 0, 0x7FFFFD, key + 0x7FFFFE)  # of both zeros
    under = tl.where(key > 0x7F800000, LAST, under)
    return tl.where(key < -0x7F800000, FIRST - 1, under)  # below -max, the least that is eligible


@triton.jit
def keys_of_ranks(ranks):
    """int32 keys."""
    keys = ranks - 0x7FFFFF
    return tl.where(ranks < FIRST, INELIGIBLE, tl.where(keys == -1, 0, keys))


@triton.jit
def places_of(keys, index):
    """int64 that is greater the earlier a token comes in the order.

    63       32 31                   0
    |   key    | 0x7fffffff - index |
    """
    return (keys.to(tl.int64) << 32) | (0x7FFFFFFF - index)


@triton.jit
def index_of(places):
    """int32, the index of the token that has such a place."""
    return 0x7FFFFFFF - (places & 0x7FFFFFFF).to(tl.int32)
