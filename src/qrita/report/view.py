"""What the page shows, put together from merged lanes: failures with what became of them on every lane."""

from __future__ import annotations

from dataclasses import dataclass

from qrita.report import matrix, record
from qrita.report.commands import RETRY
from qrita.report.junit import Test
from qrita.report.lanes import Lane
from qrita.report.matrix import Row
from qrita.report.merging import Merged
from qrita.report.picture import Picture, picture
from qrita.report.record import Record
from qrita.report.states import FAILED, NOT_RUN, STATES, State


@dataclass(frozen=True)
class Place:
    """What became of one failing case on some lanes."""

    lanes: tuple[Lane, ...]
    state: State
    words: str


@dataclass(frozen=True)
class Failure:
    """One failing case, wherever it fails.

    Attributes:
        id: the record's.
        lane: where the record that is shown comes from.
    """

    id: str
    record: Record
    lane: Lane
    picture: Picture | None
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Unrecorded:
    """A test that failed and left no record."""

    id: str
    anchor: str
    test: Test
    lane: Lane
    states: tuple[State, ...]


@dataclass(frozen=True)
class View:
    """Everything on the page."""

    merged: Merged
    properties: tuple[Row, ...]
    files: tuple[Row, ...]
    failures: tuple[Failure, ...]
    unrecorded: tuple[Unrecorded, ...]

    def anchor(self, row: Row, lane: Lane) -> str:
        """The id of the first failure of a row on a lane; "" where it has none."""
        for failure in self.failures:
            here = any(lane in place.lanes and place.state == FAILED for place in failure.places)
            if here and (failure.record.test in row.tests or (row.is_property and failure.record.property == row.name)):
                return failure.id
        return next(
            (
                found.anchor
                for found in self.unrecorded
                if found.id in row.tests and found.states[self.merged.lanes.index(lane)] == FAILED
            ),
            "",
        )


def view(merged: Merged) -> View:
    """Put it together."""
    rows = matrix.rows(merged)
    properties = tuple(row for row in rows if row.is_property)
    shown: dict[str, tuple[Record, Lane]] = {}
    for lane in merged.lanes:
        for found in lane.records:
            shown.setdefault(record.id_of(found), (found, lane))
    failures = tuple(_failure(merged, properties, name, *shown[name]) for name in sorted(shown))
    recorded = {found.test for lane in merged.lanes for found in lane.records}
    loose = [test for test in merged.failed if test not in recorded and f"::{RETRY}[" not in test]
    unrecorded = tuple(_unrecorded(merged, test, f"test-{number}") for number, test in enumerate(loose, 1))
    return View(merged, properties, tuple(row for row in rows if not row.is_property), failures, unrecorded)


def _failure(merged: Merged, properties: tuple[Row, ...], name: str, found: Record, lane: Lane) -> Failure:
    drawn = picture(found) if found.around else None
    lanes_of: dict[tuple[State, str], list[Lane]] = {}
    for column, other in enumerate(merged.lanes):
        lanes_of.setdefault(_place(other, properties, name, found, column), []).append(other)
    worst_first = sorted(lanes_of, key=lambda place: (place[0] == NOT_RUN, -STATES.index(place[0])))
    places = tuple(Place(tuple(lanes_of[state, words]), state, words) for state, words in worst_first)
    return Failure(name, found, lane, drawn, places)


def _place(lane: Lane, properties: tuple[Row, ...], name: str, found: Record, column: int) -> tuple[State, str]:
    """What became of a failing case on a lane, and in words how that is known."""
    again = next((test for test in lane.tests if f"::{RETRY}[{name}]" in test.id), None)
    if any(record.id_of(known) == name for known in lane.records):
        return (FAILED, "the same case fails")
    if again is not None:
        return (lane.worth(again), "the same case, tried again")
    if lane.without != NOT_RUN:
        return (lane.without, "nothing is known")
    row = next((row for row in properties if row.name == found.property), None)
    known = row.cells[column].state if row else NOT_RUN
    other = f"; others of {found.property}: {known.word}" if known != NOT_RUN else ""
    return (NOT_RUN, f"this case was not tried{other}")


def _unrecorded(merged: Merged, test: str, anchor: str) -> Unrecorded:
    lane = next(lane for lane in merged.lanes if test in lane.by_id and lane.of(test) == FAILED)
    return Unrecorded(test, anchor, lane.by_id[test], lane, merged.states(test))
