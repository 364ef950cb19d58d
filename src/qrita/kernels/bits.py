"""Flags of many tokens as the bits of a few words: what is sparse is then listed without a scan over every token."""

from __future__ import annotations

import triton
import triton.language as tl

WORD = tl.constexpr(32)
"""The most bits of a word."""


@triton.jit
def bitmap(flags, BITS: tl.constexpr):
    """int32 [n // BITS] of n flags, BITS of at most 32 to a word: bit b of word w is flag w * BITS + b."""
    WORDS: tl.constexpr = flags.shape[0] // BITS
    bits = tl.reshape(flags.to(tl.int32), [WORDS, BITS]) << tl.arange(0, BITS)[None, :]
    return tl.sum(bits, 1)


@triton.jit
def bits_set(words):
    """How many bits of each word are 1, summed in fields of two, four and then eight bits."""
    words -= words >> 1 & 0x55555555
    words = (words & 0x33333333) + (words >> 2 & 0x33333333)
    words = words + (words >> 4) & 0x0F0F0F0F
    return words * 0x01010101 >> 24


@triton.jit
def lowest_bit(words):
    """(bit, place) of the lowest 1 of each word: the bit by itself, and its number; of 0, nothing of meaning.

    Two's complement leaves it alone: 0b10100 & -0b10100 = 0b00100. Its number is the exponent of it as a float.
    """
    bit = words & -words
    return bit, (bit.to(tl.float32).to(tl.int32, bitcast=True) >> 23 & 0xFF) - 127


@triton.jit
def first_bits(words, quota):
    """The first `quota` bits that are 1, of all words together."""
    own = bits_set(words)
    left = tl.minimum(tl.maximum(quota - (tl.cumsum(own, 0) - own), 0), own)
    first = words * 0
    for i in tl.range(0, tl.max(left, 0)):
        bit, _ = lowest_bit(words)
        first |= tl.where(i < left, bit, 0)
        words ^= bit
    return first


@triton.jit
def store_numbers(target, words, first):
    """Write the numbers of all bits that are 1, in order; `first`: those of each word's bit 0."""
    own = bits_set(words)
    place = tl.cumsum(own, 0) - own
    for _ in tl.range(0, tl.max(own, 0)):
        bit, number = lowest_bit(words)
        tl.store(target + place, first + number, mask=words != 0)
        words ^= bit
        place += 1


MOST_TILES = tl.constexpr(32)
"""Tiles whose findings fit the bits of a lane's word."""

NEIGHBOURS = tl.constexpr(4)
"""Lanes whose words are listed together. A thread holds as many at least."""

TOGETHER = tl.constexpr(8)
"""Tiles of which they are: in four times as few words, so that scans and loops are as much shorter."""


@triton.jit
def packed(found, tile, ALIGNED: tl.constexpr):
    """The findings of TOGETHER tiles, from `tile` of the batch on, of NEIGHBOURS lanes, which one thread holds.

    Those are neighbours where accesses are wide; otherwise, as in `tally.folded`, every 256th lane, say:

    31             24 23             16 15              8 7               0
    | of the fourth  | of the third    | of the second   | of the first    |   bit 0 of each: of the first tile
    """
    WORDS: tl.constexpr = found.shape[0] // NEIGHBOURS
    part = found >> tile & 0xFF  # of TOGETHER bits
    if ALIGNED:
        words = tl.sum(tl.reshape(part, [WORDS, NEIGHBOURS]) << tl.arange(0, NEIGHBOURS)[None, :] * TOGETHER, 1)
    else:
        words = tl.sum(tl.reshape(part, [NEIGHBOURS, WORDS]) << tl.arange(0, NEIGHBOURS)[:, None] * TOGETHER, 0)
    return words


@triton.jit
def token_of(number, ALIGNED: tl.constexpr, TILE: tl.constexpr):
    """int32, which token, counted from the first of those tiles, a bit of each word says of, by the bit's number."""
    WORDS: tl.constexpr = TILE // NEIGHBOURS
    word = tl.arange(0, WORDS)
    own = number // TOGETHER
    lane = word * NEIGHBOURS + own if ALIGNED else own * WORDS + word
    return number % TOGETHER * TILE + lane


@triton.jit
def reserve(found, held):
    """The place from which a program lists what a batch of tiles has found, and how much that is.

    Bit t of a lane's word stands for its token of tile t. Programs that share the row reserve in whichever order they
    come: what is done with the list does not depend on it.
    """
    number = tl.sum(bits_set(found), 0)
    place = number
    if number > 0:
        place = tl.atomic_add(held, number, sem="relaxed")
    return place, number


@triton.jit
def places_from(place, words):
    """(most, place, next): where each word's first finding is listed, and those of the words after; the most of one."""
    own = bits_set(words)
    ends = tl.cumsum(own, 0)
    return tl.max(own, 0), place + ends - own, place + tl.sum(own, 0)
