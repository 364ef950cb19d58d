"""One row's arguments and logits, whatever their dtypes and strides: decided at run time, so nothing recompiles."""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.order import keys_of

# How a per-row argument is stored. The pipeline passes every k and p as a pointer to 32-bit words.
SCALAR = tl.constexpr(0)
INT32 = tl.constexpr(1)
INT64 = tl.constexpr(2)
FLOAT32 = tl.constexpr(3)
FLOAT64 = tl.constexpr(4)
BFLOAT16 = tl.constexpr(5)
FLOAT16 = tl.constexpr(6)

ONE = tl.constexpr(0x3F800000)
"""The bits of 1.0, which stand for "top-p is off"."""


@triton.jit
def top_k(words, stride, kind, scalar, row, vocab):
    """int32, the row's k in 1 .. vocab - 1, or 0 for off. `stride` is in elements of the caller's tensor."""
    k = scalar.to(tl.int64)
    if kind == INT32:
        k = tl.load(words + row * stride).to(tl.int64)
    elif kind == INT64:
        low = tl.load(words + row * stride * 2).to(tl.int64) & 0xFFFFFFFF
        k = (tl.load(words + row * stride * 2 + 1).to(tl.int64) << 32) | low
    return tl.where((k > 0) & (k < vocab), k, 0).to(tl.int32)


@triton.jit
def top_p(words, halves, stride, kind, scalar, row):
    """int32, the bits of the row's p rounded once to fp32, in (0, 1]: 1 where top-p is off.

    p <= 0 keeps one token, and so does the smallest positive p, which stands for it.
    """
    bits = scalar
    if kind == FLOAT32:
        bits = tl.load(words + row * stride)
    elif kind == FLOAT64:
        low = tl.load(words + row * stride * 2).to(tl.int64) & 0xFFFFFFFF
        both = (tl.load(words + row * stride * 2 + 1).to(tl.int64) << 32) | low
        bits = both.to(tl.float64, bitcast=True).to(tl.float32).to(tl.int32, bitcast=True)
    elif kind == BFLOAT16:
        bits = tl.load(halves + row * stride).to(tl.int32) << 16
    elif kind == FLOAT16:
        half = tl.load(halves + row * stride).to(tl.float16, bitcast=True)
        bits = half.to(tl.float32).to(tl.int32, bitcast=True)
    off = ((bits & 0x7FFFFFFF) > 0x7F800000) | (bits >= ONE)
    return tl.where(off, ONE, tl.maximum(bits, 1))  # a negative p has negative bits


@triton.jit
def target_mass(p_bits, total):
    """int64, ceil(p * total) exactly: semantics rule 8."""
    exponent = p_bits >> 23
    mantissa = ((p_bits & 0x7FFFFF) | tl.where(exponent > 0, 0x800000, 0)).to(tl.int64)
    shift = tl.minimum(126 - tl.maximum(exponent, 1), 63).to(tl.int64)
    low = mantissa * (total & 0xFFFFFF)
    scaled = mantissa * (total >> 24) + (low >> 24) + tl.where((low & 0xFFFFFF) != 0, 1, 0)
    return -((-scaled) >> shift)


@triton.jit
def row_start(x, row, row_stride, ALIGNED: tl.constexpr):
    """A pointer to a row; where ALIGNED, the compiler is told that it is a multiple of 16 bytes, for wide accesses."""
    base = x + row.to(tl.int64) * row_stride
    if ALIGNED:
        base = tl.multiple_of(base, 16)
    return base


@triton.jit
def bound(vocab, ALIGNED: tl.constexpr):
    """`vocab`, of which ALIGNED promises a multiple of 8: unless that is known, masked accesses are narrow."""
    if ALIGNED:
        return vocab // 8 * 8  # a hint on an argument would be lost where the function is inlined; arithmetic is not
    else:
        return vocab


@triton.jit
def element(base, offsets, column_stride, ALIGNED: tl.constexpr):
    """Pointers to a row's elements. ALIGNED promises a column stride of 1."""
    if ALIGNED:
        return base + offsets
    else:
        return base + offsets.to(tl.int64) * column_stride


@triton.jit
def load_words(base, offsets, column_stride, vocab, ALIGNED: tl.constexpr):
    """Raw words of a row's elements; past the vocabulary's end that of a NaN."""
    inside = offsets < bound(vocab, ALIGNED)
    return tl.load(element(base, offsets, column_stride, ALIGNED), mask=inside, other=-1)


@triton.jit
def tile_words(base, tile, end, column_stride, vocab, ALIGNED: tl.constexpr, TILE: tl.constexpr):
    """Raw words of one of a row's tiles before `end`; past it those of NaN, without a read."""
    offsets = tile * TILE + tl.arange(0, TILE)
    inside = (offsets < bound(vocab, ALIGNED)) & (tile < end)
    return tl.load(element(base, offsets, column_stride, ALIGNED), mask=inside, other=-1)


@triton.jit
def load_keys(base, offsets, column_stride, vocab, FORMAT: tl.constexpr, ALIGNED: tl.constexpr):
    """int32 keys of a row's elements; INELIGIBLE past the vocabulary's end."""
    return keys_of(load_words(base, offsets, column_stride, vocab, ALIGNED), FORMAT)
