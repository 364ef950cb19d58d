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


MOST_TILES = tl.constexpr(30)
"""Tiles whose findings fit the bits of a lane's word."""


@triton.jit
def reserve(found, held):
    """(most, place): room in a row's list for what a batch of tiles has found, and the most that one lane has found.

    Bit t of a lane's word stands for its token of tile t; they are to be listed from `place` on, lowest bit first.
    Programs that share the row reserve in whichever order they come: what is done with the list does not depend on it.
    """
    own = bits_set(found)
    most = tl.max(own, 0)
    place = own
    if most > 0:
        ends = tl.cumsum(own, 0)
        place = tl.atomic_add(held, tl.sum(own, 0), sem="relaxed") + ends - own
    return most, place
