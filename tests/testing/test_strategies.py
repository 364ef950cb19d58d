"""The hypothesis strategies: every family and every edge can be drawn, and what is drawn shrinks to little.

How little depends on hypothesis's version, so the bounds are wider than what the pinned one reaches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from qrita import reference
from qrita.testing import strategies
from qrita.testing.building import Case
from qrita.testing.recipes import DTYPES, FAMILIES, Aim, Recipe, build, fp32_of_bits

SEARCH = settings(max_examples=3000, database=None, deadline=None, suppress_health_check=list(HealthCheck))


SMALL = 64


def minimal(condition: Callable[[Recipe], bool]) -> Recipe:
    """The smallest recipe for which the condition holds, of what three searches shrink to.

    One search can be stuck short of it, and whether it is depends on more than its seed: hypothesis also draws
    constants that it reads in modules under test, of which an installed package is none.
    """
    found = [find(strategies.recipes(), condition, settings=SEARCH, random=Random(seed)) for seed in range(3)]
    return min(found, key=lambda recipe: (len(recipe.planted) + len(recipe.ties), recipe.vocab, len(recipe.to_json())))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_drawn_and_shrinks(family: str) -> None:
    recipe = minimal(lambda recipe: recipe.family == family)
    assert (recipe.vocab, recipe.seed, recipe.planted, recipe.ties) == (1, 0, (), ())


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_drawn(dtype: str) -> None:
    assert minimal(lambda recipe: recipe.dtype == dtype).vocab <= SMALL


def _tied_at_the_cut(recipe: Recipe) -> bool:
    answer = build(recipe).answer
    return (
        bool(len(answer.kept))
        and (answer.keys == answer.cut.key).sum() > (answer.keys[answer.kept] == answer.cut.key).sum()
    )


def test_a_tie_cut_by_k_shrinks() -> None:
    recipe = minimal(lambda recipe: recipe.p is None and _tied_at_the_cut(recipe))
    assert recipe.vocab <= SMALL
    assert len(recipe.planted) + len(recipe.ties) <= 1


def test_a_tie_cut_by_p_shrinks() -> None:
    recipe = minimal(lambda recipe: recipe.k is None and _tied_at_the_cut(recipe))
    assert recipe.vocab <= SMALL
    assert len(recipe.planted) + len(recipe.ties) <= 1


def test_a_planted_tie_shrinks() -> None:
    recipe = minimal(lambda recipe: bool(recipe.ties) and recipe.vocab > 100)
    assert recipe.vocab == 101
    assert len(recipe.ties) == 1
    assert recipe.planted == ()


def test_an_aim_shrinks() -> None:
    recipe = minimal(lambda recipe: isinstance(recipe.p, Aim))
    assert recipe.p == Aim(1, 0)
    assert recipe.vocab <= SMALL


def test_a_nan_shrinks() -> None:
    recipe = minimal(lambda recipe: bool(np.isnan(build(recipe).logits.float().numpy()).any()))
    assert recipe.vocab <= SMALL


def test_a_difference_between_orders_shrinks() -> None:
    """As a planted bug in the order would: -0.0 beside +0.0."""

    def both_zeros(recipe: Recipe) -> bool:
        bits = reference.widen(build(recipe).raw, recipe.dtype)
        return bool((bits == 0).any() and (bits == 0x80000000).any())

    assert minimal(both_zeros).vocab <= SMALL


@given(strategies.recipes(min_vocab=10, max_vocab=20, families=("nan",), dtypes=("bfloat16",)))
def test_options(recipe: Recipe) -> None:
    assert 10 <= recipe.vocab <= 20
    assert (recipe.family, recipe.dtype) == ("nan", "bfloat16")


@given(strategies.recipes())
def test_round_trip(recipe: Recipe) -> None:
    assert Recipe.from_json(recipe.to_json()) == recipe


# --- steering ---------------------------------------------------------------------------------------------------

CLIMB = settings(
    max_examples=300,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate, Phase.target),
)


def tie_scores(make: Callable[[Recipe], Case]) -> list[float]:
    """Of the examples that hypothesis tries where a case is made so."""
    found = []

    @CLIMB
    @given(strategies.recipes(max_vocab=300))
    def tried(recipe: Recipe) -> None:
        found.append(strategies.tie_score(make(recipe)))

    tried()
    return found


def test_the_search_climbs_towards_ties() -> None:
    """Twice to seven times as many examples are cut inside a tie, by how little luck the search without has."""
    drawn, steered = tie_scores(build), tie_scores(strategies.steered)
    assert sum(steered) / len(steered) > 1.5 * sum(drawn) / len(drawn)


def test_a_derandomised_search_is_steered_the_same_way_again() -> None:
    assert tie_scores(strategies.steered) == tie_scores(strategies.steered)


@pytest.mark.parametrize(
    ("recipe", "tie", "mass"),
    [
        (Recipe("equal", 50, k=5), 0.0, 0.0),  # no greater token: the cut falls anywhere
        (Recipe("one_hot", 50, k=5), math.log2(49), 0.0),
        (Recipe("one_hot", 50, k=50), 0.0, 0.0),
        (Recipe("one_hot", 2000, k=5), 6.0, 0.0),
        (Recipe("dyadic", 100, level=64, p=0.25), 0.0, 40.0),  # exactly 16 tokens
        (Recipe("dyadic", 100, level=64, p=fp32_of_bits(0x3E800001)), 0.0, 25.0),
        (Recipe("masked", 100, level=0, k=5, p=0.25), 0.0, 0.0),
    ],
)
def test_scores(recipe: Recipe, tie: float, mass: float) -> None:
    case = build(recipe)
    assert strategies.tie_score(case) == tie
    assert strategies.mass_score(case) == pytest.approx(mass, abs=1e-3)


def test_what_is_met_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[str] = []
    monkeypatch.setattr(strategies, "event", met.append)
    monkeypatch.setattr(strategies, "target", lambda score, label: None)
    strategies.steered(Recipe("one_hot", 50, k=5))
    assert met == ["k-cuts", "k-splits-a-tie", "p-off", "tie-across-the-middle"]
