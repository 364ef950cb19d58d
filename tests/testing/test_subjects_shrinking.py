"""Failing recipes are made smaller, and fail still."""

from __future__ import annotations

import time

import pytest
from hypothesis import given

from qrita.testing import strategies
from qrita.testing.recipes import Aim, Planted, Recipe, Tie, build
from qrita.testing.shrinking import shrunk, simpler

LARGE = Recipe(
    "normal",
    3000,
    "bfloat16",
    seed=77,
    level=200,
    planted=(Planted(5, 0x7FC0), Planted(2000, 0xFF80)),
    ties=(Tie("cut", 64, 1, 6), Tie(2, 10, 50, 30)),
    k=60,
    p=Aim(10, 1),
)


def test_nothing_to_keep_becomes_the_smallest_recipe() -> None:
    assert shrunk(LARGE, lambda _: True, seconds=60) == Recipe("equal", 1)


@pytest.mark.parametrize(
    ("fails", "smallest"),
    [
        (lambda r: r.vocab >= 100, Recipe("equal", 100)),
        (lambda r: r.k is not None and r.k >= 17, Recipe("equal", 1, k=17)),
        (lambda r: r.k is not None and r.vocab > r.k > 0, Recipe("equal", 2, k=1)),
        (lambda r: any(plant.pattern == 0x7FC0 for plant in r.planted), None),
        (lambda r: any(tie.length > 3 for tie in r.ties) and r.vocab > 9, None),
        (lambda r: r.family == "normal" and r.dtype == "bfloat16", Recipe("normal", 1, "bfloat16")),
        (lambda r: isinstance(r.p, Aim) and r.p.tokens > 4, Recipe("equal", 1, p=Aim(5, 0))),
    ],
)
def test_what_matters_stays(fails, smallest: Recipe | None) -> None:  # type: ignore[no-untyped-def]
    found = shrunk(LARGE, fails, seconds=60)
    assert fails(found)
    if smallest is not None:
        assert found == smallest
    else:
        assert found.k is None
        assert found.p is None
        assert (len(found.planted), len(found.ties)) in ((1, 0), (0, 1))


@given(strategies.recipes(max_vocab=300))
def test_every_step_is_a_recipe_that_can_be_built(recipe: Recipe) -> None:
    steps = list(simpler(recipe))
    assert recipe not in steps
    for step in steps[:5]:
        build(step)
        assert Recipe.from_json(step.to_json()) == step


def test_ends_in_time() -> None:
    def slow(recipe: Recipe) -> bool:
        time.sleep(0.05)
        return False

    start = time.monotonic()
    assert shrunk(LARGE, slow, seconds=0.2) == LARGE
    assert time.monotonic() - start < 5.0


def test_ends_after_so_many_tries() -> None:
    tried: list[Recipe] = []

    def counting(recipe: Recipe) -> bool:
        tried.append(recipe)
        return False

    assert shrunk(LARGE, counting, tries=7, seconds=60) == LARGE
    assert len(tried) == 7
