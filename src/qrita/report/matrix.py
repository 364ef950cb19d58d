"""The table of properties and lanes. What is no property is summed up by file, so that nothing is left out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from qrita.report import order, runs
from qrita.report.lanes import Lane
from qrita.report.merging import Merged
from qrita.report.states import FAILED, NOT_RUN, State, worst

PROPERTY = re.compile(r"::test_property\[([^\]]+)\]$")


@dataclass(frozen=True)
class Cell:
    """What became of a row's tests on one lane: a state, how many are in it of how many, and why where none was run."""

    state: State
    count: int
    total: int
    why: str = ""


@dataclass(frozen=True)
class Row:
    """A property, or a file of other tests, with a cell for each lane."""

    name: str
    is_property: bool
    tests: tuple[str, ...]
    cells: tuple[Cell, ...]


def rows(merged: Merged) -> tuple[Row, ...]:
    """The table: properties first, as they are declared, then files, as the lanes have them."""
    tests_of: dict[tuple[bool, str], list[str]] = {}
    for test in merged.tests:
        found = PROPERTY.search(test)
        tests_of.setdefault((not found, found[1] if found else test.partition("::")[0]), []).append(test)
    ordered = sorted(tests_of, key=lambda key: (key[0], (0, "") if key[0] else order.place(key[1])))  # stable
    return tuple(_row(merged, name, not is_file, tuple(tests_of[is_file, name])) for is_file, name in ordered)


def _row(merged: Merged, name: str, is_property: bool, tests: tuple[str, ...]) -> Row:
    return Row(name, is_property, tests, tuple(_cell(lane, tests) for lane in merged.lanes))


def _cell(lane: Lane, tests: tuple[str, ...]) -> Cell:
    """A failure hides everything else; tests that were not run do not hide those that passed: 40 of 41 says both."""
    states = [lane.of(test) for test in tests]
    good = [state for state in states if state.good]
    shown = FAILED if FAILED in states else good[0] if good else worst(states)
    why = runs.why_not(lane, tests) if shown == NOT_RUN else ""
    return Cell(shown, states.count(shown), len(states), why)
