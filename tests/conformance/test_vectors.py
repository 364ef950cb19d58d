"""Every vector, for the engine that `--engine` names. What it has to answer stands in the vector."""

from __future__ import annotations

from pathlib import Path

import pytest

from qrita.testing import vectors
from qrita.testing.subjects import Subject
from qrita.testing.vectors import Vector

VECTORS = Path(__file__).parents[1] / "vectors"
SHORT = 600
"""The longest row that an interpreted kernel is given."""


def _parameter(vector: Vector) -> object:
    return pytest.param(vector, id=vector.name, marks=[pytest.mark.large] if vector.vocab > SHORT else [])


@pytest.mark.parametrize("vector", [_parameter(vector) for vector in vectors.load_all(VECTORS)])
def test_vector(subject: Subject, vector: Vector) -> None:
    found = vectors.difference(subject, vector)
    assert found is None, f"{vector.name}: {vector.why}\nrules {vector.rules} of docs/semantics.md\n{found}"
