"""Trying a property by name, with what cannot be tried here shown as skipped."""

from __future__ import annotations

import pytest

from qrita.testing.properties import PROPERTIES, NotRun
from qrita.testing.recipes import Recipe, build
from qrita.testing.subjects import Subject


def check(name: str, subject: Subject, recipe: Recipe) -> None:
    try:
        PROPERTIES[name].check(subject, build(recipe))
    except NotRun as reason:
        pytest.skip(f"{name}: {reason}")
