"""Hypothesis strategies. They draw recipes, never tensors: a recipe shrinks, and prints on one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import strategies as st

from qrita.testing.recipes import DTYPES, FAMILIES, Recipe, compose

T = TypeVar("T")


class _Drawn:
    """Choices drawn by hypothesis."""

    def __init__(self, draw: Callable[[st.SearchStrategy[object]], object]) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))  # type: ignore[return-value]

    def pick(self, options: Sequence[T]) -> T:
        return self._draw(st.sampled_from(options))  # type: ignore[return-value]


@st.composite
def recipes(
    draw: st.DrawFn,
    *,
    max_vocab: int = 4096,
    min_vocab: int = 1,
    dtypes: Sequence[str] = DTYPES,
    families: Sequence[str] = tuple(FAMILIES),
) -> Recipe:
    """Recipes as `qrita.testing.recipes.compose` makes them. They shrink to short rows of the first family."""
    return compose(_Drawn(draw), max_vocab=max_vocab, min_vocab=min_vocab, dtypes=dtypes, families=families)
