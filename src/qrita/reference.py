"""The oracle: the semantics written down once more, to be read beside docs/semantics.md and to judge every engine.

One row at a time, in numpy and Python integers. It shares no code with any engine, sorts where they search, and
computes the top-p target as an exact fraction where they shift 64-bit integers. Slow is fine; doubtful is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint32]

_MAGNITUDE, _INFINITY, _NEGATIVE_INFINITY = np.uint32(0x7FFFFFFF), np.uint32(0x7F800000), np.uint32(0xFF800000)


@dataclass(frozen=True)
class Cut:
    """The cut of one row: ordered key and index of the last kept token, tokens kept, their mass, and Z.

    A row that keeps nothing has key 0xffffffff, index -1 and zeros.
    """

    key: int
    index: int
    count: int
    mass: int
    total: int


@dataclass(frozen=True)
class Row:
    """One row's answer: its kept tokens in the order, their weights, and the total weight of top-k's survivors."""

    keys: Bits
    kept: NDArray[np.int64]
    weights: NDArray[np.int64]
    total: int

    @property
    def cut(self) -> Cut:
        """The answer as a cut."""
        if not len(self.kept):
            return Cut(0xFFFFFFFF, -1, 0, 0, 0)
        last = int(self.kept[-1])
        return Cut(int(self.keys[last]), last, len(self.kept), sum(map(int, self.weights)), self.total)


def widen(raw: NDArray[np.unsignedinteger], dtype: str) -> Bits:
    """The fp32 patterns of logits given as raw patterns: uint32 of float32, uint16 of bfloat16 or float16. Rule 4."""
    if dtype == "float32":
        return raw.astype(np.uint32)
    if dtype == "bfloat16":
        return raw.astype(np.uint32) << np.uint32(16)
    if dtype == "float16":
        return raw.astype(np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    raise ValueError(f"dtype={dtype!r}: expected 'float32', 'bfloat16' or 'float16'")


def eligible(bits: Bits) -> NDArray[np.bool_]:
    """Neither NaN nor -inf. Rule 4."""
    answer: NDArray[np.bool_] = ((bits & _MAGNITUDE) <= _INFINITY) & (bits != _NEGATIVE_INFINITY)
    return answer


def ordered_keys(bits: Bits) -> Bits:
    """Unsigned integers that sort as the logits do; both zeros share one. Rule 5."""
    bits = np.where((bits & _MAGNITUDE) == 0, np.uint32(0), bits)
    negative = (bits >> np.uint32(31)) == 1
    return np.where(negative, ~bits, bits | np.uint32(0x80000000)).astype(np.uint32)


def weights(d: NDArray[np.float32]) -> NDArray[np.int64]:
    """W(d): 2**40 * exp(d) for d <= 0 as the program of rule 9, every operation rounded on its own."""
    d = np.maximum(d, np.float32(-28))
    steps = (d * np.float32(-12102203.0)).astype(np.int32)
    return (mantissas(steps) << 16) >> (steps >> 23).astype(np.int64)


def mantissas(steps: NDArray[np.int32]) -> NDArray[np.int64]:
    """y * 2**24, where y = 2**-f and f is the fraction of `steps`, which counts 2**-23 binades. Rule 9."""
    f = (steps & 0x7FFFFF).astype(np.float32) * np.float32(2.0**-23)
    q = np.full_like(f, float.fromhex("-0x1.ef66d2p-11"))
    for coefficient in ("0x1.2da7d6p-7", "-0x1.c4fef8p-5", "0x1.ebe392p-3", "-0x1.62e3bcp-1", "1.0"):
        q = q * f + np.float32(float.fromhex(coefficient))  # numpy rounds the product, then the sum
    return (q * np.float32(2.0**24)).astype(np.int64)


def row(bits: Bits, k: int | None, p: float | None) -> Row:
    """The answer for one row of fp32 patterns. k is any int; p is a value that fp32 represents, or NaN."""
    keys = ordered_keys(bits)
    tokens = np.flatnonzero(eligible(bits))
    order = tokens[np.argsort(~keys[tokens], kind="stable")]  # greatest key first, equal keys by lowest index

    if k is not None and 0 < k < len(bits):  # rules 1 and 6
        order = order[:k]
    if not len(order):  # rule 16
        return Row(keys, order, np.zeros(0, np.int64), 0)

    logits = bits.view(np.float32)[order]  # rule 7
    with np.errstate(over="ignore", invalid="ignore"):
        d = np.where(keys[order] == keys[order[0]], np.float32(0), logits - logits[0])
    weight = weights(d)
    prefix = np.cumsum(weight)  # V * 2**40 < 2**63
    total = int(prefix[-1])

    count = len(order)
    if p is not None and p < 1.0:  # rules 2 and 8; NaN is not below 1
        target = ceil(Fraction(p) * total) if p > 0.0 else 0
        count = max(1, int(np.searchsorted(prefix, target, side="left")) + 1)
    return Row(keys, order[:count], weight[:count], total)


def kept(answer: Row) -> NDArray[np.bool_]:
    """The kept set of a row as a mask over its vocabulary."""
    mask = np.zeros(len(answer.keys), dtype=bool)
    mask[answer.kept] = True
    return mask
