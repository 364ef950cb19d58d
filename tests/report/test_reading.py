"""Reading what lanes leave: their lane.json, and pytest's XML."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import planted_lanes as planted
import pytest

from qrita.report import junit, lanes, shapes, states
from qrita.report.shapes import ShapeError

SUITE = """
import pytest

@pytest.mark.parametrize("name", ["cut", "a.b", "x::y"])
def test_property(name):
    assert name == "cut"

class TestTable:
    class TestInner:
        def test_passes(self): ...
    def test_skips(self):
        pytest.skip("this CPU cannot")
    def test_promises_nothing(self):
        pytest.skip("not promised: ties")
    @pytest.mark.xfail(strict=True)
    def test_known(self):
        raise ValueError
    def test_no_fixture(self, absent): ...
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The XML of a real run, and the ids that pytest itself gives."""
    root = tmp_path_factory.mktemp("suite")
    for file, text in (("tests/deep/test_all.py", SUITE), ("tests/test_broken.py", "import nothing_of_that_name\n")):
        (root / file).parent.mkdir(exist_ok=True, parents=True)
        (root / file).write_text(text, encoding="utf-8")
    (root / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--continue-on-collection-errors", "-q"]
    subprocess.run([*command, "--junit-xml", "results.xml"], cwd=root, check=False, capture_output=True)
    listed = subprocess.run([*command, "--collect-only"], cwd=root, check=False, capture_output=True, text=True)
    ids = [line for line in listed.stdout.splitlines() if "::" in line]
    return root / "results.xml", ids


def test_ids_are_those_of_pytest(suite: tuple[Path, list[str]]) -> None:
    tests = {test.id for test in junit.read(suite[0])}
    assert len(suite[1]) == 8
    assert tests == {*suite[1], "tests/test_broken.py"}


def test_outcomes_of_a_real_run(suite: tuple[Path, list[str]]) -> None:
    found = {test.id.removeprefix("tests/deep/test_all.py::"): test for test in junit.read(suite[0])}
    assert {name: test.outcome for name, test in found.items()} == {
        "tests/test_broken.py": "failed",
        "test_property[cut]": "passed",
        "test_property[a.b]": "failed",
        "test_property[x::y]": "failed",
        "TestTable::TestInner::test_passes": "passed",
        "TestTable::test_skips": "not run",
        "TestTable::test_promises_nothing": "not promised",
        "TestTable::test_known": "not promised",
        "TestTable::test_no_fixture": "failed",
    }
    assert found["TestTable::test_skips"].message == "this CPU cannot"
    assert "assert 'a.b' == 'cut'" in found["test_property[a.b]"].message
    broken = found["tests/test_broken.py"].message
    assert broken == "collection failure: ModuleNotFoundError: No module named 'nothing_of_that_name'"
    assert "def test_property" in found["test_property[a.b]"].details


def test_a_test_that_is_there_twice_has_the_worse_outcome(tmp_path: Path) -> None:
    (tmp_path / "results.xml").write_text(
        planted.junit([("tests/test_a.py::test_x", ""), ("tests/test_a.py::test_x", planted.failure("at its end"))]),
        encoding="utf-8",
    )
    assert [(test.outcome, test.message) for test in junit.read(tmp_path / "results.xml")] == [("failed", "at its end")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not JUnit XML (no element found"),
        ("<testsuites><testcase", "is not JUnit XML (unclosed token"),
        ("<html/>", "is not JUnit XML (it starts with <html>, expected <testsuites>)"),
        ("\0\1\2", "is not JUnit XML ("),
        ('<?xml version="1.0" encoding="no-such"?><testsuites/>', "is not JUnit XML ("),
    ],
)
def test_what_is_not_junit(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "results.xml").write_text(text, encoding="utf-8")
    found = lanes.read(planted.lane(tmp_path / "cpu", planted.passes("cut")))
    assert found.problems == ()
    (tmp_path / "cpu" / "results-2.xml").write_text(text, encoding="utf-8")
    found = lanes.read(tmp_path / "cpu")
    assert found.problems[0].startswith(f"{tmp_path / 'cpu' / 'results-2.xml'} {says}")
    assert found.count("passed") == 1  # the other file is read all the same
    assert found.state == states.FAILED  # it cannot show that it passed


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty, expected a JSON object"),
        ("{", "is not JSON (Expecting property name"),
        ("[" * 100_000, "is not JSON ("),
        ("[1]", "it is [1], expected an object"),
        ("{}", "schema is missing, expected an integer"),
        ('{"schema": 2}', "has schema 2, expected 1: another version of qrita wrote it"),
        ('{"schema": true}', "schema is true, expected an integer"),
        ('{"schema": 1}', "lane is missing, expected a string"),
        ('{"schema": 1, "lane": 5}', "lane is 5, expected a string"),
        (
            '{"schema": 1, "lane": "a", "state": "green"}',
            'state is "green", expected one of hardware, interpreted, simulated, compiled',
        ),
    ],
)
def test_a_lane_that_cannot_be_read(text: str, says: str, tmp_path: Path) -> None:
    directory = planted.lane(tmp_path / "cuda", planted.passes("cut"))
    (directory / "lane.json").write_text(text, encoding="utf-8")
    found = lanes.read(directory)
    assert (found.name, found.state) == ("cuda", states.UNREADABLE)
    assert found.problems[0].startswith(f"{directory / 'lane.json'} {says}")
    assert found.of(planted.PROPERTIES.format("mask")) == states.UNREADABLE


def test_a_lane_without_a_lane_json(tmp_path: Path) -> None:
    (planted.lane(tmp_path / "cuda", planted.passes("cut")) / "lane.json").unlink()
    assert "lane.json cannot be read (No such file or directory)." in lanes.read(tmp_path / "cuda").problems[0]


def test_what_a_later_version_adds_is_passed_over(tmp_path: Path) -> None:
    assert lanes.read(planted.lane(tmp_path / "cpu", planted.passes("cut"), weather="fine")).state == states.PASSED


@pytest.mark.parametrize(
    ("said", "cases", "state", "reason"),
    [
        ({}, planted.passes("cut"), states.PASSED, ""),
        ({"state": "compiled"}, planted.passes("cut"), states.COMPILED, ""),
        ({"state": "simulated"}, planted.passes("cut"), states.SIMULATED, ""),
        ({"state": "interpreted"}, planted.passes("cut"), states.INTERPRETED, ""),
        ({"outcome": "refused", "reason": "no GPU here"}, [], states.REFUSED, "no GPU here"),
        ({"outcome": "running"}, planted.passes("cut"), states.KILLED, "it was started and never ended"),
        ({"outcome": "failed", "reason": "pytest: 1"}, planted.passes("cut"), states.FAILED, "pytest: 1"),
        ({"outcome": "failed", "reason": None}, [], states.FAILED, "it gave no reason"),
        ({}, [], states.FAILED, "it says that it passed, and reports no test that did"),
        (
            {},
            [("tests/test_a.py::test_x", planted.skipped("no"))],
            states.FAILED,
            "it says that it passed, and reports no test that did",
        ),
        (
            {},
            [*planted.passes("cut"), ("tests/test_a.py::test_x", planted.failure("no"))],
            states.FAILED,
            "it says that it passed, and 1 of its tests failed",
        ),
    ],
)
def test_state_of_a_lane(
    said: dict[str, object], cases: list[planted.Case], state: states.State, reason: str, tmp_path: Path
) -> None:
    found = lanes.read(planted.lane(tmp_path / "cpu", cases, **said))
    assert (found.state, found.reason) == (state, reason)


def test_states_are_told_apart_without_colour() -> None:
    assert len({state.word for state in states.STATES}) == len({state.mark for state in states.STATES}) == 10
    assert [state.word for state in states.STATES if state.good] == [
        "passed",
        "interpreted",
        "simulated",
        "compiled only",
    ]


@dataclass(frozen=True)
class Inner:
    word: Annotated[str, "described"]


@dataclass(frozen=True)
class Shape:
    number: float
    inner: Inner | None
    many: tuple[Inner, ...] = ()
    table: dict[str, int] | None = None
    kind: Literal["a", "b"] = "a"
    either: int | str = 0
    anything: Any = None


def test_shapes() -> None:
    given = {
        "number": 2,
        "inner": {"word": "x"},
        "many": [{"word": "y"}],
        "table": {"a": 1},
        "either": "z",
        "anything": [{}],
    }
    assert shapes.read(Shape, given) == Shape(2, Inner("x"), (Inner("y"),), {"a": 1}, either="z", anything=[{}])
    assert shapes.read(Shape, {"number": 0.5, "inner": None}) == Shape(0.5, None)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"number": "2"}, 'number is "2", expected a number'),
        ({"number": True}, "number is true, expected a number"),
        ({"inner": 3}, "inner is 3, expected an object"),
        ({"inner": {}}, "inner.word is missing, expected a string"),
        ({"many": {}}, "many is {}, expected a list"),
        ({"many": [{"word": None}]}, "many[0].word is null, expected a string"),
        ({"table": {"a": "1"}}, 'table.a is "1", expected an integer'),
        ({"kind": "c"}, 'kind is "c", expected one of a, b'),
        ({"kind": ["a"]}, 'kind is ["a"], expected one of a, b'),
        ({"either": 0.5}, "either is 0.5, expected an integer or a string"),
    ],
)
def test_shapes_that_do_not_fit(given: dict[str, object], says: str) -> None:
    with pytest.raises(ShapeError) as error:
        shapes.read(Shape, {"number": 1, "inner": None, **given})
    assert str(error.value) == says
