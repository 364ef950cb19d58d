"""The summary in Markdown, short enough for a step of a CI job: which lanes passed, why others did not, what failed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from qrita.report import matrix, runs, verdict
from qrita.report.lanes import Identity
from qrita.report.matrix import Cell
from qrita.report.merging import Merged
from qrita.report.states import FAILED, NOT_RUN, REFUSED, STATES, State

FAILURES, LINES, WIDTH, REASON = 20, 12, 240, 1000
"""How many failed tests are shown, how many lines of what length of the message of each, how much of a reason."""

_HEADINGS = ("lane", "result", "passed", "failed", "not run", "tested", "evidence", "card", "versions", "run it again")


def summary(merged: Merged) -> str:
    """The whole text."""
    parts = (
        headline(merged),
        "",
        *_notes(merged),
        *_lanes(merged),
        *_reasons(merged),
        *_problems(merged),
        *_failures(merged),
    )
    return "\n".join((*parts, *_matrix(merged))).rstrip() + "\n"


def headline(merged: Merged) -> str:
    """The verdict in one line."""
    return f"## {verdict.headline(merged)}"


def _notes(merged: Merged) -> Iterator[str]:
    """What has to be known first."""
    notes = [f"- {plain(note)}." for note in verdict.notes(merged)]
    yield from (*notes, "") if notes else ()


def _lanes(merged: Merged) -> Iterator[str]:
    if merged.lanes:
        yield _row(_HEADINGS)
        yield _row("---" for _ in _HEADINGS)
    for lane in merged.lanes:
        counts = (f"{lane.count('passed'):,}", f"{lane.count('failed'):,}", f"{lane.count('not run'):,}")
        state = _state(lane.state) + (" (partial run)" if runs.selection(lane) else "")
        said = (plain(runs.implementation(lane)), *_identity(lane.identity), _command(lane.identity))
        yield _row((plain(lane.name), state, *counts, *said))
    yield ""


def _identity(identity: Identity | None) -> tuple[str, str, str]:
    """Evidence, card and versions."""
    if identity is None:
        return "", "", ""
    card = " ".join(part for part in (identity.card, identity.architecture) if part)
    return identity.state, plain(card), plain(versions(identity))


def versions(identity: Identity) -> str:
    """What decides how a lane computes, in a few words."""
    named = {
        "torch": identity.torch,
        "": identity.triton,
        "Python": identity.python,
        "driver": identity.driver,
        "commit": identity.commit and verdict.short(identity.commit),
    }
    return ", ".join(f"{name} {version}".strip() for name, version in named.items() if version)


def _command(identity: Identity | None) -> str:
    return code(identity.command) if identity else ""


def _reasons(merged: Merged) -> Iterator[str]:
    """Why lanes have not passed, one line each."""
    for lane in merged.lanes:
        if not lane.state.good:
            yield f"- **{plain(lane.name)}** {lane.state.word}: {plain(verdict.reason(lane)[:REASON])}"
    yield ""


def _problems(merged: Merged) -> Iterator[str]:
    if merged.problems:
        yield "### What could not be read"
        yield from (f"- {plain(problem)}" for problem in merged.problems)
        yield ""


def _failures(merged: Merged) -> Iterator[str]:
    if merged.failed:
        yield f"### {counted(len(merged.failed), 'test')} failed"
    for test in merged.failed[:FAILURES]:
        yield f"- {code(test)} {'; '.join(_everywhere(merged, test))}"
        failed = next(lane for lane in merged.lanes if test in lane.by_id and lane.of(test) == FAILED)
        found = next((known for known in failed.records if known.test == test), None)
        if found is not None:
            yield from ("", f"  {found.kind}: {plain(found.sentence)}")
        yield from _quoted(found.commands.lane if found else failed.by_id[test].message)
    if len(merged.failed) > FAILURES:
        yield f"- and {counted(len(merged.failed) - FAILURES, 'more test')}, in the lanes' results.xml"
    yield ""


def _everywhere(merged: Merged, test: str) -> Iterator[str]:
    """What became of a test on the lanes that say so, the worst first: "failed on a; passed on b, c"."""
    for state in reversed(STATES):
        lanes = [lane.name for lane in merged.lanes if test in lane.by_id and lane.of(test) == state]
        if lanes:
            names = plain(", ".join(lanes))
            yield f"{state.word} on " + (f"**{names}**" if state == FAILED else names)


def _quoted(message: str) -> Iterator[str]:
    """The start of a message as a block of the list's entry."""
    lines = message.splitlines()
    shown = [line[:WIDTH] + ("..." if len(line) > WIDTH else "") for line in lines[:LINES]]
    fence = _fence("\n".join(shown), 3)
    yield from (f"  {line}".rstrip() for line in ("", fence + "text", *shown, fence))


def _matrix(merged: Merged) -> Iterator[str]:
    """Properties and files of tests, lane by lane, folded away."""
    rows = matrix.rows(merged)
    if not rows:
        return
    yield from ("<details><summary>Every property on every lane</summary>", "")
    yield _row(("", *(plain(lane.name) for lane in merged.lanes)))
    yield _row("---" for _ in range(len(merged.lanes) + 1))
    for row in rows:
        yield _row((code(row.name), *map(_cell, row.cells)))
    yield from ("", "</details>")


def _cell(cell: Cell) -> str:
    shown = _state(cell.state) if cell.state == FAILED else f"{cell.state.mark} {cell.state.word}"
    return shown + (f" ({cell.count:,} of {cell.total:,})" if cell.total > 1 else "")


def _state(state: State) -> str:
    word = f"{state.mark} {state.word}"
    return word if state.good or state in (REFUSED, NOT_RUN) else f"**{word}**"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line, also in a table."""
    return re.sub(r"([\\`*_\[\]<>|~#&])", r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """Text as code, on one line, also in a table."""
    text = " ".join(text.split()).replace("|", "\\|")
    if not text:
        return ""
    fence = _fence(text, 1)
    return f"{fence}{text}{fence}" if fence == "`" else f"{fence} {text} {fence}"


def _fence(text: str, least: int) -> str:
    """A run of backticks that is longer than any in the text."""
    return "`" * max([least, *(len(run) + 1 for run in re.findall("`+", text))])


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 lane", "2 lanes"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
