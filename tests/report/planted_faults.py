"""Faults as the suite meets them: planted bugs, tried on seeded recipes until one fails."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from qrita.report import faults
from qrita.report.faults import Fault
from qrita.report.lanes import Identity
from qrita.report.record import Kind, Record
from qrita.testing.properties import PROPERTIES, NotRun, Property
from qrita.testing.recipes import Recipe, build, seeded
from qrita.testing.subjects import Subject

TESTS = Path(__file__).parents[1]
sys.path += [str(TESTS / "testing"), str(TESTS / "cli")]

import planted_bugs  # noqa: E402
import planted_engines  # noqa: E402

CASES: dict[Kind, tuple[str, str]] = {
    "wrong set": ("k off by one", "cut"),
    "tie side": ("highest index first", "mask"),
    "p boundary": ("> for >= in the top-p target", "mask"),
    "NaN rule": ("NaN kept", "mask"),
    "wrong bits": ("-0.0 becomes +0.0", "mask"),
    "wrong numbers": ("counts cut off", "candidates"),
    "only in context": ("the neighbour's k", "batch"),
    "non-determinism": ("stale total", "cut"),
    "crash": ("raises", "candidates"),
    "input changed": ("input written", "untouched"),
}
"""A planted bug, and the property that meets it, by kind of failure; the others need a process of their own."""

IDENTITY = Identity(
    schema=1,
    lane="cuda-h200",
    state="hardware",
    outcome="running",
    command="ci/tox --target cuda-h200 -- -k cut",
    environment="cuda",
    targets=("cuda-h200",),
)


def subject(bug: str) -> Subject:
    if bug == "raises":
        return Subject("raises", planted_engines.Raises())
    return Subject(bug, planted_bugs.PLANTED[bug]())


@cache
def met(bug: str, name: str) -> tuple[Fault, Subject]:
    """The first fault that a property meets, on recipes that no other bug is given: ids of records differ."""
    first = 1000 * list(CASES.values()).index((bug, name)) if (bug, name) in CASES.values() else 0
    failing = subject(bug)  # one: some bugs are about what is left of the call before
    for recipe in seeded(300, first, max_vocab=300):
        try:
            PROPERTIES[name].check(failing, build(recipe))
        except NotRun:
            continue
        except Exception as error:
            return next(faults.faults(error, f"tests/conformance/test_properties.py::test_property[{name}]"))
    raise AssertionError(f"{name} has not met {bug!r}")


@cache
def record(kind: Kind) -> Record:
    """A record of that kind."""
    if kind == "hang":
        return faults.examined(*hung(), IDENTITY)[0]
    fault, failing = met(*CASES[kind])
    return faults.examined(fault, failing, IDENTITY)[0]


def hung() -> tuple[Fault, Subject]:
    """What pytest-timeout leaves of a property that hangs."""

    def hang(subject: Subject, case: object) -> str | None:
        pytest.fail("Timeout (>300.0s) from pytest-timeout.")

    case, failing = build(Recipe("normal", 40, k=3)), subject("k off by one")
    with pytest.raises(pytest.fail.Exception) as error:
        Property("cut", PROPERTIES["cut"].rule, hang).check(failing, case)
    return next(faults.faults(error.value))


def rows(record: Record) -> Iterator[tuple[int | None, bool, bool | None]]:
    """Rank, right and given of the tokens that are shown."""
    return ((token.rank, token.oracle, token.subject) for token in record.around)


def bits(token_bits: str, dtype: str) -> float:
    """The value of a pattern in hex."""
    pattern = int(token_bits, 16)
    if dtype == "float32":
        return float(np.uint32(pattern).view(np.float32))
    if dtype == "bfloat16":
        return float(np.uint32(pattern << 16).view(np.float32))
    return float(np.uint16(pattern).view(np.float16))
