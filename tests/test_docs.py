"""docs/semantics.md names the test of every rule, fault and error; here each name is looked up."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import test_argument_errors

from qrita.testing.properties import PROPERTIES

TESTS = Path(__file__).parent
SEMANTICS = (TESTS.parent / "docs" / "semantics.md").read_text(encoding="utf-8")
RULES = range(18)
NAME = re.compile(r"`([\w/]+\.py)::([\w:]+)(?:\[([^`]+)\])?`")


class Named(NamedTuple):
    """A test that the document names; `case` is what stands in brackets, a pattern of parameter ids."""

    file: str
    test: str
    case: str


def named(text: str) -> list[Named]:
    return [Named(*groups) for groups in NAME.findall(text)]


def table(heading: str) -> list[list[str]]:
    """The cells of the rows below a heading."""
    section = SEMANTICS.split(f"\n### {heading}\n")[1].split("\n### ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


@cache
def functions_of(file: str) -> set[str]:
    """Every test of a file as `test` or `Class::test`."""
    found = set()
    for node in ast.parse((TESTS / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{member.name}" for member in node.body if isinstance(member, ast.FunctionDef)}
    return {name for name in found if "test_" in name}


@cache
def cases_of(file: str, test: str) -> set[str]:
    """The parameter ids of the two tests that are named with them."""
    if file == "conformance/test_properties.py":
        return set(PROPERTIES)
    marks = getattr(test_argument_errors, test).pytestmark
    return {param.id for mark in marks if mark.name == "parametrize" for param in mark.args[1]}


@pytest.mark.parametrize(
    "test", sorted(set(named(SEMANTICS))), ids=lambda test: f"{test.file}::{test.test}[{test.case}]"
)
def test_every_named_test_exists(test: Named) -> None:
    assert test.test in functions_of(test.file)
    if test.case:
        assert any(fnmatchcase(case, test.case) for case in cases_of(test.file, test.test))


def test_nothing_that_looks_like_a_test_is_overlooked() -> None:
    assert SEMANTICS.count(".py::") == len(named(SEMANTICS))


def test_every_rule_is_written_and_has_a_test() -> None:
    assert [int(rule) for rule in re.findall(r"^\*\*(\d+)\.", SEMANTICS, re.MULTILINE)] == [*RULES]
    tests_of = {int(rule): named(tests) for rule, tests in table("Rules")}
    assert [*tests_of] == [*RULES]
    assert all(tests_of.values())


@pytest.mark.parametrize("heading", ["Faults", "Errors"])
def test_every_row_names_a_test(heading: str) -> None:
    rows = table(heading)
    assert len(rows) >= 30
    assert [row for row in rows if not named(row[-1]) and row[-1] != "with the kernels"] == []


def test_every_property_and_every_fault_is_named() -> None:
    """The other way round: no test of these kinds that the document does not know."""
    of_file = {test.test: test for test in named(SEMANTICS) if test.file == "conformance/test_faults.py"}
    assert functions_of("conformance/test_faults.py") - set(of_file) == set()
    properties = {test.case for test in named(SEMANTICS) if test.file == "conformance/test_properties.py"}
    assert set(PROPERTIES) - properties == set()


@pytest.mark.parametrize("argument", ["logits", "k", "p", "mask_value", "out", "in place", "max_candidates"])
def test_every_argument_has_errors(argument: str) -> None:
    assert [row for row in table("Errors") if row[0] == argument]


def test_the_figures_of_the_weight_are_those_of_its_tests() -> None:
    weight = (TESTS / "test_weight.py").read_text(encoding="utf-8")
    for figure in (
        "3e8aa13b7024693a54370e618215379005db33abde1aa699fb5c84631c8c110d",
        "1.754e-6",
        "9.34e-7",
        "2.51e-7",
    ):
        assert figure in SEMANTICS
        assert figure in weight
