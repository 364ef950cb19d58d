"""The suite is tested: it finds every planted bug in a bounded number of examples, and nothing where there is none.

docs/testing.md tables which property finds which bug in how many recipes; here the table is held to.
"""

from __future__ import annotations

from itertools import islice

import pytest
from catching import DOCUMENT, LONGEST, RECIPES, failing_vectors, properties_of, shown, table
from hypothesis import Phase, given, settings
from planted_bugs import PLANTED, RowEngine

from qrita.testing import profiles, strategies
from qrita.testing.properties import PROPERTIES
from qrita.testing.recipes import Recipe, seeded
from qrita.testing.subjects import Subject
from qrita.testing.sweep import sweep

TABLE = table()
CAUGHT = {bug: properties_of(cells[0]) for bug, cells in TABLE.items()}
BY_VECTORS_ONLY = {"target rounded down", "target in doubles"}
"""They need a p for which p * Z lies next to an integer that is a prefix's mass: one in 2**24 at best."""

profiles.register()
PR = settings(settings.get_profile("pr"), phases=(Phase.generate, Phase.target))


def test_every_bug_is_in_the_table() -> None:
    assert [*TABLE] == [*PLANTED]
    assert len(PLANTED) >= 15


@pytest.mark.parametrize("bug", PLANTED)
def test_planted_bug_is_caught(bug: str) -> None:
    """By each property of its line at the recipe that is said, or before: the recipe alone, after one other."""
    assert CAUGHT[bug] or bug in BY_VECTORS_ONLY
    for name, number in CAUGHT[bug].items():
        assert number <= RECIPES
        recipes = islice(seeded(number, max_vocab=LONGEST), max(0, number - 2), number)
        *_, caught = sweep(Subject(bug, PLANTED[bug]()), recipes, [name])
        assert caught.status == "failed", f"{name}, recipe {number}: {caught.status} {caught.message}"
        assert caught.case.recipe is not None
        for expected in (name, PROPERTIES[name].rule, f"qrita replay '{caught.case.recipe.to_json()}'"):
            assert expected in caught.message


@pytest.mark.parametrize("bug", PLANTED)
def test_vectors_catch_what_the_table_says(bug: str) -> None:
    assert shown(failing_vectors(bug)) == TABLE[bug][2]


def test_every_bug_that_properties_miss_fails_a_vector() -> None:
    assert {bug for bug in PLANTED if not CAUGHT[bug]} == BY_VECTORS_ONLY
    assert all(failing_vectors(bug) for bug in BY_VECTORS_ONLY)


@pytest.mark.parametrize("bug", [bug for bug in PLANTED if bug not in BY_VECTORS_ONLY])
def test_planted_bug_is_caught_by_hypothesis(bug: str) -> None:
    """As the profile `pr` runs the property that is the soonest to catch it: within its examples."""
    name = min(CAUGHT[bug], key=CAUGHT[bug].__getitem__)
    subject, tried = Subject(bug, PLANTED[bug]()), 0

    @PR
    @given(strategies.recipes())
    def property_holds(recipe: Recipe) -> None:
        nonlocal tried
        tried += 1
        PROPERTIES[name].check(subject, strategies.steered(recipe))

    with pytest.raises(AssertionError, match=f"property '{name}' does not hold"):
        property_holds()
    assert tried <= PR.max_examples


def test_every_property_catches_something() -> None:
    assert {name for caught in CAUGHT.values() for name in caught} == set(PROPERTIES)


@pytest.mark.parametrize("name", PROPERTIES)
def test_the_oracle_as_an_engine_has_no_bug(name: str) -> None:
    """Another implementation passes too: the properties are about the semantics, not about one engine's habits."""
    for outcome in sweep(Subject("oracle", RowEngine()), seeded(40, max_vocab=LONGEST), [name]):
        assert outcome.status in ("passed", "not run"), outcome.message


def test_what_the_document_says_of_the_table() -> None:
    text = " ".join(DOCUMENT.read_text(encoding="utf-8").split())
    assert f"{len(PLANTED)} planted bugs" in text
    alone = {next(iter(caught)) for caught in CAUGHT.values() if len(caught) == 1}
    assert "`spelling`, `batch`, `threads` and `flush_subnormals` each find one that no other finds" in text
    assert alone == {"spelling", "batch", "threads", "flush_subnormals"}
