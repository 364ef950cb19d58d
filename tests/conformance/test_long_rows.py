"""Properties on rows as long as real vocabularies, of which one costs as much as a hundred short ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from trying import check

from qrita.testing import strategies
from qrita.testing.recipes import Recipe
from qrita.testing.subjects import Subject

pytestmark = pytest.mark.large

FEW = settings(max_examples=max(4, settings.default.max_examples // 25))


@pytest.mark.parametrize("name", ["cut", "mask", "candidates", "batch", "permutation", "nested_in_k", "nested_in_p"])
@FEW
@given(recipe=strategies.recipes(min_vocab=30_000, max_vocab=131_072))
def test_long_rows(subject: Subject, name: str, recipe: Recipe) -> None:
    check(name, subject, strategies.steered(recipe, subject))
