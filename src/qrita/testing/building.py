"""From a recipe to a case: the row's logits, its k and its p, and what the oracle says of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from torch import Tensor

from qrita import reference
from qrita.testing import formats
from qrita.testing.families import FAMILIES
from qrita.testing.formats import Raw
from qrita.testing.generator import Stream
from qrita.testing.record import Aim, Recipe, Tie


@dataclass(frozen=True)
class Case:
    """One row with its k and p, ready to be given to a subject.

    Attributes:
        recipe: what it was built from; None for a row made by hand or measured.
        logits: [vocab] on the CPU, contiguous. Properties give subjects copies of it.
        k: None or any int.
        p: None, or a number that fp32 represents exactly.
        label: says what the row is where there is no recipe.
    """

    recipe: Recipe | None
    logits: Tensor
    k: int | None
    p: float | None
    label: str = ""

    @property
    def dtype(self) -> str:
        """'float32', 'bfloat16' or 'float16'."""
        return formats.name(self.logits.dtype)

    @property
    def vocab(self) -> int:
        """The row's length."""
        return len(self.logits)

    @property
    def line(self) -> str:
        """What the case is, on one line: the recipe's JSON, or the label."""
        return self.recipe.to_json() if self.recipe else self.label or "a row without a recipe"

    @cached_property
    def raw(self) -> Raw:
        """The logits' patterns, [vocab], in memory of their own."""
        return formats.raw(self.logits).copy()

    @cached_property
    def answer(self) -> reference.Row:
        """What the oracle says. Computed once."""
        return reference.row(reference.widen(self.raw, self.dtype), self.k, self.p)


def build(recipe: Recipe) -> Case:
    """The case of a recipe: the family's row, then planted patterns, then ties, then the aim of p."""
    family, dtype = FAMILIES[recipe.family], recipe.dtype
    assert recipe.level is not None  # the recipe has filled it in
    raw = family.build(Stream(recipe.seed), recipe.vocab, recipe.level, dtype)
    for planted in recipe.planted:
        raw[planted.position] = planted.pattern
    if recipe.ties:
        raw = _with_ties(raw, recipe)
    return Case(recipe, formats.tensor(raw, dtype), recipe.k, _resolved(recipe.p, raw, recipe))


def _with_ties(raw: Raw, recipe: Recipe) -> Raw:
    bits = reference.widen(raw, recipe.dtype)
    eligible = reference.eligible(bits)
    if not eligible.any():
        return raw
    keys = reference.ordered_keys(bits)
    descending = np.sort(keys[eligible])[::-1]
    tied = raw.copy()
    for tie in recipe.ties:
        key = descending[min(_rank(tie, raw, recipe), len(descending) - 1)]
        token = np.flatnonzero((keys == key) & eligible)[0]
        tied[tie.start :: tie.stride][: tie.length] = raw[token]
    return tied


def _rank(tie: Tie, raw: Raw, recipe: Recipe) -> int:
    if isinstance(tie.rank, int):
        return tie.rank
    answer = reference.row(reference.widen(raw, recipe.dtype), recipe.k, _resolved(recipe.p, raw, recipe))
    return max(0, len(answer.kept) - 1)


def _resolved(p: float | Aim | None, raw: Raw, recipe: Recipe) -> float | None:
    """p as a number: an aim reads the prefix masses of what top-k leaves."""
    if not isinstance(p, Aim):
        return p
    answer = reference.row(reference.widen(raw, recipe.dtype), recipe.k, None)
    if not answer.total:
        return 0.5  # a row that keeps nothing has no prefix to aim at
    mass = int(answer.weights[: p.tokens].sum())
    bits = int(_nearest_fp32(Fraction(mass, answer.total)).view(np.uint32)) + p.ulps
    return float(np.uint32(max(bits, 0)).view(np.float32))


def _nearest_fp32(exact: Fraction) -> np.float32:
    """The fp32 nearest to a fraction from 0 to 1; of two equally near ones the one with the even pattern."""
    near = np.float32(exact.numerator / exact.denominator)  # within one step; not rounded once, so compare exactly
    around = (np.nextafter(near, np.float32(0)), near, np.nextafter(near, np.float32(2)))
    return min(around, key=lambda value: (abs(Fraction(float(value)) - exact), int(value.view(np.uint32)) & 1))
