"""Hypothesis strategies. They draw recipes, never tensors: a recipe shrinks, and prints on one line.

`steered` builds the case of a recipe and tells hypothesis how close it is to an edge, so that the search climbs there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import event, target
from hypothesis import strategies as st

from qrita.testing import flags, paths
from qrita.testing.building import Case
from qrita.testing.recipes import DTYPES, FAMILIES, Recipe, build, compose
from qrita.testing.subjects import Subject

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


def steered(recipe: Recipe, subject: Subject | None = None) -> Case:
    """The case of a recipe; the search is steered to ties and to the masses of prefixes, and what is met is counted.

    Once an example, in the test's own body. `pytest --hypothesis-show-statistics` shows the counts, which are those of
    the case's flags and, where the subject has plans, of the path that its plan takes, and the best scores.
    """
    case = build(recipe)
    for met in (*flags.flags(case), *(paths.paths(subject, case) if subject else ())):
        event(met)
    target(tie_score(case), label="tokens tied at the cut, the cut inside, in doublings")
    target(mass_score(case), label="nearness of p to the mass of a prefix, in bits")
    return case


LONG_TIE, NEAR = 64, 40
"""Where the scores stop to rise: a tie of 64 tokens, a distance of 2**-40 of Z. More is not more of an edge."""


def tie_score(case: Case) -> float:
    """log2 of the length of the tie in which the cut falls, between greater and lesser tokens; 0 without such a tie."""
    tie = flags.tie(case)
    above = len(case.answer.kept) - tie.quota
    return math.log2(min(len(tie.tokens), LONG_TIE)) if tie.is_split and above else 0.0


def mass_score(case: Case) -> float:
    """How near p * Z is to the mass of a prefix of several tokens, in bits: -log2 of the distance in units of Z."""
    answer = case.answer
    if case.p is None or not 0.0 < case.p < 1.0 or len(answer.kept) < 2:
        return 0.0
    goal, mass = flags.target(case.p, answer.total), answer.cut.mass
    before = mass - int(answer.weights[-1])
    return min(NEAR, math.log2(answer.total) - math.log2(1 + min(mass - goal, goal - before)))
