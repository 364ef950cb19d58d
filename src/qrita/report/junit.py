"""Reading the JUnit XML that pytest writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

Outcome = Literal["passed", "not promised", "not run", "failed"]

OUTCOMES: tuple[Outcome, ...] = ("passed", "not promised", "not run", "failed")
"""The best first."""


class JUnitError(ValueError):
    """A file that is no JUnit XML; says why."""


@dataclass(frozen=True)
class Test:
    """What became of one test in one lane.

    Attributes:
        id: pytest's, such as "tests/test_weight.py::TestTable::test_checksum[x]": the same in every lane.
        message: why, where it has not passed.
        details: the traceback, where there is one.
    """

    id: str
    outcome: Outcome
    seconds: float = 0.0
    message: str = ""
    details: str = ""


def read(file: Path) -> tuple[Test, ...]:
    """The tests of a file, in its order. A test that is there twice has the worse outcome.

    Raises:
        JUnitError: the file is something else.
    """
    try:
        root = ElementTree.parse(file).getroot()
    except (OSError, ElementTree.ParseError, LookupError, ValueError) as error:
        raise JUnitError(f"is not JUnit XML ({getattr(error, 'strerror', None) or error})") from None
    if root.tag not in ("testsuites", "testsuite"):
        raise JUnitError(f"is not JUnit XML (it starts with <{root.tag}>, expected <testsuites>)")
    return joined(_test(case) for case in root.iter("testcase"))


def joined(tests: Iterable[Test]) -> tuple[Test, ...]:
    """Each test once, with its worst outcome."""
    found: dict[str, Test] = {}
    for test in tests:
        known = found.get(test.id)
        if known is None or OUTCOMES.index(test.outcome) > OUTCOMES.index(known.outcome):
            found[test.id] = test
    return tuple(found.values())


def _test(case: Element) -> Test:
    outcome, message, details = _outcome(case)
    try:
        seconds = float(case.get("time", "0"))
    except ValueError:
        seconds = 0.0
    return Test(_id(case), outcome, seconds, message, details)


def _outcome(case: Element) -> tuple[Outcome, str, str]:
    for child in case:
        if child.tag in ("failure", "error"):
            details = (child.text or "").strip()
            return "failed", _message(child.get("message", "").strip(), details), details
    for child in case:
        if child.tag == "skipped":
            reason = child.get("message", "").strip()
            # An expected failure is known not to hold.
            promised = child.get("type") != "pytest.xfail" and not reason.startswith("not promised")
            return ("not run" if promised else "not promised"), reason, ""
    return "passed", "", ""


def _message(message: str, details: str) -> str:
    """Of a file that cannot be imported pytest says just that: the last line of its traceback says why."""
    raised = [line[1:].strip() for line in details.splitlines() if line.startswith("E ")]
    return f"{message}: {raised[-1]}" if message == "collection failure" and raised else message


def _id(case: Element) -> str:
    """pytest's own id, of which its XML keeps the parts: "tests.cli.test_x.TestY" is a file and a class in it."""
    parts, name = [part for part in case.get("classname", "").split(".") if part], case.get("name", "")
    if not parts:  # a file that could not be imported
        parts, name = name.split("."), ""
    end = next((i + 1 for i, part in enumerate(parts) if part.startswith("test_")), len(parts))
    return "::".join([case.get("file") or "/".join(parts[:end]) + ".py", *parts[end:], *([name] if name else [])])
