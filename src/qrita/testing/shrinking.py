"""Making a failing recipe smaller while it still fails: fewer tokens, fewer plants, plainer numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from qrita.testing.families import FAMILIES
from qrita.testing.record import Aim, Recipe, RecipeError


def shrunk(recipe: Recipe, fails: Callable[[Recipe], bool], *, tries: int = 400, seconds: float = 5.0) -> Recipe:
    """The smallest recipe found within so many tries and seconds for which `fails` holds, as it does for `recipe`."""
    end = time.monotonic() + seconds
    seen = {recipe}
    smaller = True
    while smaller:
        smaller = False
        for candidate in simpler(recipe):
            if candidate in seen:
                continue
            if len(seen) > tries or time.monotonic() > end:
                return recipe
            seen.add(candidate)
            if fails(candidate):
                recipe, smaller = candidate, True
                break
    return recipe


def simpler(recipe: Recipe) -> Iterator[Recipe]:
    """Recipes one step simpler than this one, the boldest steps first."""
    for change in _changes(recipe):
        try:
            candidate = replace(recipe, **change)
        except RecipeError:
            continue
        if candidate != recipe:
            yield candidate


def _changes(recipe: Recipe) -> Iterator[dict[str, Any]]:
    for vocab in _below(recipe.vocab, 1):
        yield {"vocab": vocab, "planted": tuple(plant for plant in recipe.planted if plant.position < vocab)}
    for name in ("ties", "planted"):
        whole = getattr(recipe, name)
        yield {name: ()}
        for i in range(len(whole)):
            yield {name: whole[:i] + whole[i + 1 :]}
    yield {"p": None}
    yield {"k": None}
    yield from _plainer_row(recipe)
    if recipe.k is not None:
        yield from ({"k": k} for k in _below(abs(recipe.k), 1))
    if isinstance(recipe.p, Aim):
        yield {"p": 0.5}
        yield {"p": Aim(recipe.p.tokens, 0)}
        yield from ({"p": Aim(tokens, recipe.p.ulps)} for tokens in _below(recipe.p.tokens, 1))
    elif recipe.p is not None and recipe.p not in (0.5, 0.75, 0.25):
        yield from ({"p": p} for p in (0.5, 0.75, 0.25))
    for i, tie in enumerate(recipe.ties):
        shorter = [replace(tie, length=length) for length in _below(tie.length, 2)]
        lower = [replace(tie, start=start) for start in _below(tie.start, 0)]
        for other in (*shorter, *lower, replace(tie, stride=1)):
            yield {"ties": (*recipe.ties[:i], other, *recipe.ties[i + 1 :])}


def _plainer_row(recipe: Recipe) -> Iterator[dict[str, Any]]:
    """An earlier family, its first level, float32, seed 0."""
    for family in FAMILIES:
        if family == recipe.family:
            break
        yield {"family": family, "level": None, "seed": 0}
    yield {"level": None}
    if not recipe.planted:  # whose patterns have the dtype's width
        yield {"dtype": "float32"}
    yield from ({"seed": seed} for seed in (0, 1, 2, 3) if seed < recipe.seed)


def _below(value: int, least: int) -> Iterator[int]:
    """Smaller values, the smallest first, closer and closer to the value."""
    step = value - least
    while step > 0:
        yield value - step
        step //= 2
