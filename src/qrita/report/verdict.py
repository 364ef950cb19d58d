"""What came of the lanes together, in a few sentences that need nothing else to be read."""

from __future__ import annotations

from collections.abc import Iterator

from qrita.report import alone, matrix, runs
from qrita.report.lanes import Lane
from qrita.report.merging import Merged
from qrita.report.states import FAILED, KILLED, NOT_RUN, REFUSED, UNREADABLE

COMMIT = 12
"""Characters of a commit that are shown."""

_OUTCOMES = {
    FAILED: "failed",
    KILLED: "never ended",
    REFUSED: "could not run",
    NOT_RUN: "did not run",
    UNREADABLE: "cannot be read",
}


def headline(merged: Merged) -> str:
    """One line."""
    word, number = "PASSED" if merged.good else "FAILED", len(merged.lanes)
    if not merged.lanes:
        return f"qrita: {word}, no lane has reported"
    lanes = f"{number:,} lane" + ("" if number == 1 else "s")
    passed = sum(lane.state.good for lane in merged.lanes)
    if passed == number:
        return f"qrita: {word}, {passed} of {lanes} passed"
    others = ((sum(lane.state == state for lane in merged.lanes), said) for state, said in _OUTCOMES.items())
    return f"qrita: {word}, {lanes}: {', '.join([f'{passed} passed', *(f'{n} {said}' for n, said in others if n)])}"


def reason(lane: Lane) -> str:
    """Why a lane has not passed, with how many of its properties failed: a status of pytest alone says little."""
    states = [lane.of(test.id) for test in lane.tests if matrix.PROPERTY.search(test.id)]
    if FAILED not in states:
        return lane.reason
    noun = "property" if len(states) == 1 else "properties"
    return f"{lane.reason}; {states.count(FAILED)} of {len(states)} {noun} failed"


def notes(merged: Merged) -> Iterator[str]:
    """What has to be known before anything else is believed, a sentence each, without its full stop."""
    if found := commits(merged):
        yield found
    for lane in merged.lanes:
        if chosen := runs.selection(lane):
            yield f"partial run on {lane.name}: {chosen}"
    yield from alone.summed_up(merged)


def commits(merged: Merged) -> str:
    """That lanes are of different commits, and which; "" where they are of one, or nothing is known."""
    lanes_of: dict[str, list[str]] = {}
    for lane in merged.lanes:
        if lane.identity and lane.identity.commit:
            lanes_of.setdefault(lane.identity.commit, []).append(lane.name)
    if len(lanes_of) < 2:
        return ""
    named = (f"{', '.join(names)} of {short(commit)}" for commit, names in lanes_of.items())
    return f"lanes are of different commits: {'; '.join(named)}; a pass at one says nothing of another"


def short(commit: str) -> str:
    """The start of a commit, and whether files differed from it."""
    return commit[:COMMIT] + (" with changes" if commit.endswith("+") else "")
