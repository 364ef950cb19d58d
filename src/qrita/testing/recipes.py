"""Recipes: the record, how one is composed from choices, and how one becomes a case. This is the module to import.

`compose` is the one place that decides what recipes look like. It asks for its choices through two methods, so a
counter-based generator (`Seeded`) and a hypothesis strategy (`strategies.recipes`) draw from the same distribution.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from qrita.testing.building import Case, build
from qrita.testing.families import FAMILIES
from qrita.testing.formats import DTYPES, INFINITY, NEGATIVE_INFINITY, WIDTH
from qrita.testing.generator import Seeded
from qrita.testing.record import Aim, Planted, Recipe, RecipeError, Tie

__all__ = [
    "DTYPES",
    "FAMILIES",
    "Aim",
    "Case",
    "Choose",
    "Planted",
    "Recipe",
    "RecipeError",
    "Seeded",
    "Tie",
    "build",
    "compose",
    "seeded",
]

T = TypeVar("T")

BORDERS = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
"""Where tiles and splits may end, apart from halves and quarters of the row."""

_BESIDE_BORDERS = tuple(border + step for border in BORDERS for step in (0, -1, 1))

COMMON_P = (0.5, 0.9, 0.25, 0.95, 0.75, 0.99, 0.1, 0.9999)
"""As users write them; rounded to fp32 they are what arrives."""

EXTREME_P_BITS = (0x3F800000, 0x3F7FFFFF, 0x00000000, 0x80000000, 0x00000001, 0x007FFFFF, 0x00800000, 0x40000000)
"""1, one ulp below 1, both zeros, the smallest and the greatest subnormal, the smallest normal, 2."""


class Choose(Protocol):
    """Where choices come from. Shrinking goes towards `low` and towards the first option."""

    def integer(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""


def seeded(count: int, first_seed: int = 0, **options: object) -> Iterator[Recipe]:
    """`count` recipes, those of the seeds first_seed, first_seed + 1, ...; options as in `compose`."""
    for seed in range(first_seed, first_seed + count):
        yield compose(Seeded(seed), **options)  # type: ignore[arg-type]


def compose(
    choose: Choose,
    *,
    max_vocab: int = 4096,
    min_vocab: int = 1,
    dtypes: Sequence[str] = DTYPES,
    families: Sequence[str] = tuple(FAMILIES),
) -> Recipe:
    """One recipe out of the choices: a row of one of the families and dtypes, min_vocab to max_vocab long."""
    family = FAMILIES[choose.pick(families)]
    vocab = _vocab(choose, min_vocab, max_vocab)
    dtype = choose.pick(dtypes)
    level = choose.pick(family.levels)
    seed = choose.integer(0, (1 << 32) - 1)
    planted = tuple(_planted(choose, vocab, dtype) for _ in range(choose.pick((0, 0, 0, 1, 2, 5))))
    ties = tuple(_tie(choose, vocab) for _ in range(choose.pick((0, 0, 1, 1, 2))))
    k_kind = choose.pick(("none", "small", "tie", "any", "extreme"))
    p_kind = choose.pick(("none", "aimed", "common", "aimed", "extreme", "any"))
    k = _k(choose, k_kind, vocab, ties)
    p = _p(choose, p_kind, vocab, k, ties)
    return Recipe(family.name, vocab, dtype, seed, level, planted, ties, k, p)


def _vocab(choose: Choose, low: int, high: int) -> int:
    """Mostly small, often at a border, sometimes anything."""
    kind = choose.pick(("tiny", "small", "border", "any"))
    if kind == "border":
        return min(max(choose.pick(_BESIDE_BORDERS), low), high)
    return choose.integer(low, max(low, min(high, {"tiny": 16, "small": 300, "any": high}[kind])))


def _planted(choose: Choose, vocab: int, dtype: str) -> Planted:
    sign, infinity = 1 << (WIDTH[dtype] - 1), INFINITY[dtype]
    kind = choose.pick(("special", "any"))
    if kind == "any":
        return Planted(choose.integer(0, vocab - 1), choose.integer(0, 2 * sign - 1))
    # NaN of either sign and the least payload, infinities, zeros, the smallest subnormals, the extremes
    special = (infinity | 1, infinity, NEGATIVE_INFINITY[dtype], sign, 0, 1, sign | 1, infinity - 1)
    lowest = sign | (infinity - 1)
    return Planted(choose.integer(0, vocab - 1), choose.pick((*special, lowest, 2 * sign - 1)))


def _tie(choose: Choose, vocab: int) -> Tie:
    """Tokens in a run that crosses a border, spread over the row, or next to each other at every tile's border."""
    rank = choose.pick(("cut", "near", "any"))
    chosen = rank if rank == "cut" else choose.integer(0, min(vocab - 1, 50) if rank == "near" else vocab - 1)
    length = choose.integer(2, max(2, min(vocab, choose.pick((8, 64, 300)))))
    layout = choose.pick(("run", "spread", "tiles"))
    if layout == "spread":
        return Tie(chosen, choose.integer(0, max(0, vocab // length - 1)), max(1, vocab // length), length)
    border = _border(choose, vocab)
    if layout == "tiles":
        return Tie(chosen, max(0, border - choose.integer(0, 1)), max(1, border), length)
    return Tie(chosen, max(0, border - choose.integer(0, length)), 1, length)


def _border(choose: Choose, vocab: int) -> int:
    return choose.pick((vocab // 2, vocab // 4, *(border for border in BORDERS if border < vocab)))


def _k(choose: Choose, kind: str, vocab: int, ties: tuple[Tie, ...]) -> int | None:
    if kind == "none":
        return None
    if kind == "extreme":
        return choose.pick((1, 0, -1, 2, vocab - 1, vocab, vocab + 1, (1 << 32) + 5, -(1 << 63), (1 << 63) - 1))
    if kind == "tie" and ties and isinstance(ties[0].rank, int):  # from just above the tied tokens to just past them
        return max(1, ties[0].rank + choose.integer(0, ties[0].length + 1))
    return choose.integer(1, vocab if kind == "any" else min(vocab, 50))


def _p(choose: Choose, kind: str, vocab: int, k: int | None, ties: tuple[Tie, ...]) -> float | Aim | None:
    if kind == "none":
        return None
    if kind == "common":
        return fp32(choose.pick(COMMON_P))
    if kind == "extreme":
        return fp32_of_bits(choose.pick(EXTREME_P_BITS))
    if kind == "any":
        return fp32_of_bits(choose.integer(0, 0x3F800000))
    survivors = vocab if k is None or not 0 < k < vocab else k
    tokens = choose.integer(1, choose.pick((min(survivors, 20), survivors)))
    if ties and isinstance(ties[0].rank, int):
        tokens = choose.pick((tokens, ties[0].rank + choose.integer(1, ties[0].length + 1)))
    return Aim(tokens, choose.pick((0, -1, 1)))


def fp32(value: float) -> float:
    """The fp32 nearest to a double."""
    narrowed: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return narrowed


def fp32_of_bits(bits: int) -> float:
    """The fp32 value of a pattern."""
    value: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    return value
