"""Every property on generated rows, for the engine that `--engine` names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from trying import check

from qrita.testing import profiles, strategies
from qrita.testing.properties import PROPERTIES
from qrita.testing.recipes import FAMILIES, Recipe, build, seeded
from qrita.testing.subjects import Subject

SHORT = 300 if settings.get_current_profile_name() in profiles.SLOW else 4096
"""The longest of the short rows: of one tile where an engine takes a second for them."""


@pytest.mark.parametrize("name", PROPERTIES)
@given(recipe=strategies.recipes(max_vocab=SHORT))
def test_property(subject: Subject, name: str, recipe: Recipe) -> None:
    check(name, subject, strategies.steered(recipe, subject))


@pytest.mark.parametrize("family", FAMILIES)
@given(data=strategies.st.data())
def test_family(subject: Subject, family: str, data: strategies.st.DataObject) -> None:
    """No family depends on being drawn: each has examples of its own."""
    case = strategies.steered(data.draw(strategies.recipes(max_vocab=SHORT, families=(family,))), subject)
    for name in ("cut", "mask", "candidates"):
        check(name, subject, case)


def test_seeded_recipes(subject: Subject) -> None:
    """The recipes that `qrita check` starts with."""
    for recipe in seeded(100 if SHORT == 300 else 2000, max_vocab=SHORT):
        check("cut", subject, build(recipe))
