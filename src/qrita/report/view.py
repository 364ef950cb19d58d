"""What the page shows, put together from merged lanes: failures with what became of them on every lane."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from qrita.report import alone, elsewhere, matrix, order, record, runs
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
        elsewhere: that the picture is of another row than the difference, and which; "" where it is of the same.
    """

    id: str
    record: Record
    lane: Lane
    picture: Picture | None
    places: tuple[Place, ...]
    elsewhere: str


@dataclass(frozen=True)
class Fault:
    """Failures that are taken for one fault: the most basic property's, and the others in the same order."""

    first: Failure
    others: tuple[Failure, ...]

    @property
    def words(self) -> str:
        """How the row alone is answered."""
        return alone.words(self.first.record)


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
    faults: tuple[Fault, ...]
    unrecorded: tuple[Unrecorded, ...]

    @property
    def failures(self) -> tuple[Failure, ...]:
        """All of them, as they stand on the page."""
        return tuple(failure for fault in self.faults for failure in (fault.first, *fault.others))

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
    ordered = sorted(shown, key=lambda name: (order.place(shown[name][0].property), name))
    failures = [_failure(merged, properties, name, *shown[name]) for name in ordered]
    recorded = {found.test for lane in merged.lanes for found in lane.records}
    loose = [test for test in merged.failed if test not in recorded and f"::{RETRY}[" not in test]
    unrecorded = tuple(_unrecorded(merged, test, f"test-{number}") for number, test in enumerate(loose, 1))
    return View(merged, properties, tuple(row for row in rows if not row.is_property), _faults(failures), unrecorded)


def _faults(failures: Iterable[Failure]) -> tuple[Fault, ...]:
    """Failures by what they have in common, in the order of the first of each."""
    members: dict[Hashable, list[Failure]] = {}
    for failure in failures:
        members.setdefault(alone.fault(failure.record), []).append(failure)
    return tuple(Fault(first, tuple(others)) for first, *others in members.values())


def _failure(merged: Merged, properties: tuple[Row, ...], name: str, found: Record, lane: Lane) -> Failure:
    drawn = picture(found) if found.around else None
    lanes_of: dict[tuple[State, str], list[Lane]] = {}
    for column, other in enumerate(merged.lanes):
        row = next((row for row in properties if row.name == found.property), None)
        known = row.cells[column].state if row else NOT_RUN
        state, words = _place(other, known, name, found)
        tells = state.good or (state == NOT_RUN and known.good)
        words += _otherwise(lane, other) if tells else ""
        lanes_of.setdefault((state, words), []).append(other)
    worst_first = sorted(lanes_of, key=lambda place: (place[0] == NOT_RUN, -STATES.index(place[0])))
    places = tuple(Place(tuple(lanes_of[state, words]), state, words) for state, words in worst_first)
    return Failure(name, found, lane, drawn, places, elsewhere.words(found) if drawn else "")


def _otherwise(lane: Lane, other: Lane) -> str:
    """That another lane's pass says nothing of this one's failure, where it is another implementation's."""
    if runs.alike(lane, other):
        return ""
    return f"; that is {runs.implementation(other)}, and says nothing of {runs.implementation(lane)}"


def _place(lane: Lane, others: State, name: str, found: Record) -> tuple[State, str]:
    """What became of a failing case on a lane, where other cases of its property are known to be in a state, and in
    words how that is known."""
    again = next((test for test in lane.tests if f"::{RETRY}[{name}]" in test.id), None)
    if any(record.id_of(known) == name for known in lane.records):
        return (FAILED, "the same case fails")
    if again is not None:
        return (lane.worth(again), "the same case, tried again")
    if lane.without != NOT_RUN:
        return (lane.without, "nothing is known")
    other = f"; others of {found.property}: {others.word}" if others != NOT_RUN else ""
    return (NOT_RUN, f"this case was not tried{other}")


def _unrecorded(merged: Merged, test: str, anchor: str) -> Unrecorded:
    lane = next(lane for lane in merged.lanes if test in lane.by_id and lane.of(test) == FAILED)
    return Unrecorded(test, anchor, lane.by_id[test], lane, merged.states(test))
