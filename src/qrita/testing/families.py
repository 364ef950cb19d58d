"""The families of rows. Each is a function of a stream, a vocabulary size, a level and a dtype, and nothing else.

A level is a whole number that the family reads in its own way (a scale in hundredths, how many tokens stay); a family
lists the levels that recipes may name, the plainest first. Only integer operations, single IEEE-754 operations and
conversions to nearest even are used, so a row has the same bits on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qrita.testing.formats import INFINITY, NEGATIVE_INFINITY, WIDTH, Raw, patterns, rounded
from qrita.testing.generator import Stream

Build = Callable[[Stream, int, int, str], Raw]
"""(stream, vocab, level, dtype) -> patterns [vocab]."""


@dataclass(frozen=True)
class Family:
    """A kind of row: its name, what a level means, the levels there are, and the function that builds it."""

    name: str
    level: str
    levels: tuple[int, ...]
    build: Build


FAMILIES: dict[str, Family] = {}
"""Every family by name, the plainest first (a failing example shrinks towards the front)."""


def _family(level: str, *levels: int) -> Callable[[Build], Build]:
    def add(build: Build) -> Build:
        name = build.__name__.removeprefix("_")
        FAMILIES[name] = Family(name, level, levels, build)
        return build

    return add


def _floats(values: NDArray[Any]) -> NDArray[np.float32]:
    return values.astype(np.float32)


def _position(stream: Stream, vocab: int) -> int:
    """One random token."""
    return int(stream.below(90, 1, vocab)[0])


# --- few values -------------------------------------------------------------------------------------------------

_CONSTANTS = (0.0, 1.0, -2.5, 60000.0, -3.0e38, 3.0e38)


@_family("which constant", *range(len(_CONSTANTS)))
def _equal(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """Every logit the same: the order is by index alone."""
    return rounded(np.full(vocab, _CONSTANTS[level], np.float32), dtype)


@_family("how many in a hundred have the greater value", 50, 1, 99)
def _two_values(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    return rounded(_floats(stream.below(0, vocab, 100) < level), dtype)


@_family("the hot logit", 1, 50, -1)
def _one_hot(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """Zeros and one other logit, wherever the seed puts it (below the zeros for -1)."""
    values = np.zeros(vocab, np.float32)
    values[_position(stream, vocab)] = level
    return rounded(values, dtype)


@_family("how many distinct values, at most", 3, 2, 10, 100)
def _duplicates(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """Few distinct values of a Gaussian: long runs of ties wherever a cut falls."""
    return rounded(stream.normal(1, level, 2.0)[stream.below(0, vocab, level)], dtype)


@_family("0: only zeros; 1: a tenth of the logits is small and not zero", 0, 1)
def _signed_zeros(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """Both zeros, which are one key, mixed."""
    zeros = patterns(stream.below(0, vocab, 2) << (WIDTH[dtype] - 1), dtype)
    if level == 0:
        return zeros
    return np.where(stream.below(1, vocab, 10) == 0, rounded(stream.normal(2, vocab, 0.01), dtype), zeros)


@_family("how many tokens share the maximum, at most: a power of two", 2, 8, 64)
def _dyadic(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """2**n equal tokens over a tail of weight 0: n-bit fractions of the mass are exact, so p can hit one exactly."""
    row = np.full(vocab, -1000.0, np.float32)
    row[stream.shuffled(0, np.arange(vocab))[:level]] = 1.0
    return rounded(row, dtype)


# --- what models produce ----------------------------------------------------------------------------------------


@_family("the scale in hundredths", 100, 1, 15, 200, 300, 500, 1000, 2000)
def _normal(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    return rounded(stream.normal(0, vocab, level / 100), dtype)


@_family("the scale in hundredths", 100, 300)
def _bf16_ties(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """Values with a bf16 significand whatever the dtype: ties as bf16 models make them."""
    bits = rounded(stream.normal(0, vocab, level / 100), "bfloat16").astype(np.uint32) << np.uint32(16)
    return rounded(bits.view(np.float32), dtype)


# log(0.9), and log(10**-level) for the tail, rounded to fp32 once and for all.
_LOG_PEAK = 0xBDD7C741
_LOG_TAIL = {6: 0xC15D0C55, 5: 0xC13834F1, 4: 0xC1135D8E, 3: 0xC0DD0C55}


@_family("a tail token has weight 10**-level beside a peak of 0.9", *_LOG_TAIL)
def _peaked(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """One likely token over a long flat tail: top-p cuts inside the tail, where all are tied."""
    bits = np.full(vocab, _LOG_TAIL[level], np.uint32)
    bits[_position(stream, vocab)] = _LOG_PEAK
    return rounded(bits.view(np.float32), dtype)


@_family("0: ascending; 1: descending", 0, 1)
def _sorted(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    ascending = np.sort(stream.normal(0, vocab, 2.0))
    return rounded(ascending[::-1] if level else ascending, dtype)


# --- masked rows ------------------------------------------------------------------------------------------------


@_family("how many tokens are not -inf, at most", 0, 1, 2, 10, 100)
def _masked(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """A row of which a grammar or a penalty has left little; 0 leaves nothing."""
    row = rounded(stream.normal(0, vocab, 2.0), dtype)
    left = np.zeros(vocab, bool)
    left[stream.below(1, level, vocab)] = True
    return np.where(left, row, patterns(NEGATIVE_INFINITY[dtype], dtype))


@_family("how many in a thousand are NaN; at least one is", 10, 500, 1000)
def _nan(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """NaN of every sign and payload."""
    row = rounded(stream.normal(0, vocab, 2.0), dtype)
    nan = patterns(stream.below(1, vocab, 1 << 32), dtype) | patterns(INFINITY[dtype] | 1, dtype)
    chosen = stream.below(2, vocab, 1000) < level
    chosen[_position(stream, vocab)] = True
    return np.where(chosen, nan, row)


@_family("how many tokens are +inf, at most", 1, 2, 7)
def _infinite(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """+inf once or more: beside it everything else weighs nothing."""
    row = rounded(stream.normal(0, vocab, 2.0), dtype)
    row[stream.below(1, level, vocab)] = INFINITY[dtype]
    return row


@_family("0: -1e9; 1: the dtype's lowest finite value", 0, 1)
def _finite_mask(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """Every other token masked with a finite number instead of -inf: it stays eligible."""
    row = stream.normal(0, vocab, 1.0)
    row[1::2] = -3.4e38 if level else -1e9  # saturates
    return rounded(row, dtype)


@_family("0: first block -100, then N(0, 1) and one 50; 1: first block -inf, then N(100, 1)", 0, 1)
def _first_block(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """The first block looks like nothing that follows, which misleads statistics taken from it."""
    block = min(8192, vocab // 2)
    row = stream.normal(0, vocab, 1.0)
    if level:
        row += np.float32(100)
        row[:block] = -np.inf
    else:
        row[block + _position(stream, vocab - block)] = 50.0
        row[:block] = -100.0
    return rounded(row, dtype)


# --- extreme values ---------------------------------------------------------------------------------------------


@_family("the outlier is 10**level", 9, 30)
def _outlier(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """N(0, 1) and one logit that stretches the range (fp16 saturates at 65504)."""
    row = stream.normal(0, vocab, 1.0)
    row[_position(stream, vocab)] = float(f"1e{level}")
    return rounded(row, dtype)


@_family("magnitudes up to 10**30 or 3 * 10**38", 30, 38)
def _huge(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """Both signs of huge magnitudes: differences overflow to -inf at 3e38."""
    unit = _floats(stream.below(0, vocab, 2001) - 1000)
    return rounded(unit * np.float32(3e35 if level == 38 else 1e27), dtype)


@_family("the offset", 10_000, 1_000_000, 100_000_000, -1_000_000)
def _offset(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """N(0, 1) far from zero, where neighbouring floats are coarse and ties come from rounding."""
    return rounded(stream.normal(0, vocab, 1.0) + np.float32(level), dtype)


@_family("0: ascending from zero; 1: both signs, shuffled", 0, 1)
def _subnormal(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """The dtype's subnormals, a ladder of its smallest steps: all distinct in order, all alike where flushed."""
    significands = {"float32": 1 << 23, "bfloat16": 1 << 7, "float16": 1 << 10}[dtype]
    ladder = np.arange(vocab, dtype=np.int64) % significands
    if level:
        ladder = stream.below(0, vocab, significands) | stream.below(1, vocab, 2) << (WIDTH[dtype] - 1)
    return patterns(ladder, dtype)


@_family("0: ascending; 1: shuffled", 0, 1)
def _small_steps(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """A ladder of steps of 1e-10: a tolerance takes it for ties."""
    ladder = _floats(np.arange(vocab, dtype=np.float64) * 1e-10)
    return rounded(_floats(stream.shuffled(0, ladder)) if level else ladder, dtype)


@_family("the spread in units of the last place", 1, 4, 64)
def _adjacent(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """Neighbouring floats: a search on float midpoints runs out of resolution."""
    base = rounded(np.array([1.0, -3.0, 17.5, -90.0], np.float32), dtype)[int(stream.below(1, 1, 4)[0])]
    return patterns(int(base) + stream.below(0, vocab, level + 1), dtype)


@_family("the depth of the lowest logit below the greatest", 32, 28)
def _fading(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """Weights down to 0: a uniform slope of 32, or all but the greatest from -26 to -28.7, where weights are 5 to 0."""
    drawn = _floats(stream.below(0, vocab, 1 << 24))
    slope, start = (32.0, 0.0) if level == 32 else (2.7, -26.0)
    row = drawn * np.float32(-slope / (1 << 24)) + np.float32(start)
    row[_position(stream, vocab)] = 0.0
    return rounded(row, dtype)


@_family("none", 0)
def _patterns(stream: Stream, vocab: int, level: int, dtype: str) -> Raw:
    """Any bits: every exponent, both signs, subnormals, infinities and NaN."""
    return patterns(stream.words(0, vocab) & np.uint64((1 << WIDTH[dtype]) - 1), dtype)
