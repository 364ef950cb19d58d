"""A lane: one environment on one machine, as the directory it leaves behind tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from qrita.report import junit, record, shapes
from qrita.report.junit import JUnitError, Test
from qrita.report.record import Record
from qrita.report.shapes import ShapeError
from qrita.report.states import FAILED, KILLED, NOT_PROMISED, NOT_RUN, ON, REFUSED, UNREADABLE, State

SCHEMA = 1


@dataclass(frozen=True)
class Identity:
    """What a lane says of itself in its lane.json.

    Attributes:
        lane: its name, one for each lane of a merge.
        state: what its passes are worth.
        outcome: "refused" by its guard; "running" until it ends, so also where it was killed.
        reason: the guard's sentence, or what failed.
        command: what runs it again.
        started, finished: ISO 8601.
    """

    schema: int
    lane: str
    state: Literal["hardware", "interpreted", "simulated", "compiled"]
    outcome: Literal["refused", "running", "passed", "failed"]
    command: str
    environment: str = ""
    targets: tuple[str, ...] = ()
    installed: bool = False
    reason: str | None = None
    card: str | None = None
    architecture: str | None = None
    wave: int | None = None
    driver: str | None = None
    torch: str | None = None
    triton: str | None = None
    python: str | None = None
    platform: str | None = None
    fusion: str | None = None
    overrides: dict[str, str] = field(default_factory=dict)
    profile: str | None = None
    commit: str | None = None
    image: str | None = None
    started: str | None = None
    finished: str | None = None


@dataclass(frozen=True)
class Lane:
    """A lane as it is merged.

    Attributes:
        identity: None where the lane left none that can be read.
        tests: in the order in which they were reported.
        records: of its failures.
        problems: what cannot be read of it, a sentence each, with the file's name.
        directory: "" where there is none: the lane was expected and has not run.
    """

    name: str
    identity: Identity | None = None
    tests: tuple[Test, ...] = ()
    records: tuple[Record, ...] = ()
    problems: tuple[str, ...] = ()
    directory: str = ""

    @property
    def state(self) -> State:
        """The lane's own, as strict as what is known of it: a lane that says it passed has to show it."""
        if self.identity is None:
            return UNREADABLE if self.directory else NOT_RUN
        if self.identity.outcome == "passed":
            return FAILED if self.reason else ON[self.identity.state]
        return {"refused": REFUSED, "running": KILLED, "failed": FAILED}[self.identity.outcome]

    @property
    def reason(self) -> str:
        """Why it has not passed; "" where it has."""
        if self.identity is None:
            return "its lane.json cannot be read" if self.directory else "it was expected, and no report of it is there"
        if self.identity.outcome == "running":
            return "it was started and never ended"
        if self.identity.outcome != "passed":
            return self.identity.reason or "it gave no reason"
        if self.problems:
            return "it says that it passed, and a part of its report cannot be read"
        if failed := self.count("failed"):
            return f"it says that it passed, and {failed:,} of its tests failed"
        return "" if self.count("passed") else "it says that it passed, and reports no test that did"

    def count(self, outcome: str) -> int:
        """How many tests ended so."""
        return sum(test.outcome == outcome for test in self.tests)

    @cached_property
    def by_id(self) -> dict[str, Test]:
        """The tests by their ids."""
        return {test.id: test for test in self.tests}

    def of(self, test: str) -> State:
        """The state of one test here."""
        return self.worth(self.by_id[test]) if test in self.by_id else self.without

    def worth(self, test: Test) -> State:
        """The state that an outcome amounts to here: a pass without hardware is not a pass on it."""
        states = {known.word: known for known in (FAILED, NOT_RUN, NOT_PROMISED)}
        return states.get(test.outcome) or ON[self.identity.state if self.identity else "hardware"]

    @property
    def without(self) -> State:
        """The state of what the lane reports nothing of."""
        return self.state if self.state in (REFUSED, KILLED, UNREADABLE) else NOT_RUN


def read(directory: Path) -> Lane:
    """The lane that left a directory: what cannot be read is one of its problems, and the rest is kept."""
    problems, name, identity = [], directory.resolve().name, None
    file = directory / "lane.json"
    try:
        identity = shapes.load(Identity, file, SCHEMA)
        name = identity.lane
    except ShapeError as error:
        problems.append(f"{file} {_sentence(error)}")
    tests: list[Test] = []
    for results in sorted(directory.glob("results*.xml")):
        try:
            tests += junit.read(results)
        except JUnitError as error:
            problems.append(f"{results} {_sentence(error)}")
    records, unreadable = record.read(sorted((directory / "records").glob("*.json")))
    return Lane(name, identity, junit.joined(tests), records, (*problems, *unreadable), str(directory))


def _sentence(error: Exception) -> str:
    return f"{error}."
