"""The HTML page: one file that needs no network, made by templates out of a view."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from qrita.report import markdown, runs, verdict
from qrita.report.merging import Merged
from qrita.report.record import MEANINGS
from qrita.report.states import COMPILED, FAILED, INTERPRETED, KILLED, SIMULATED, STATES, UNREADABLE, State
from qrita.report.view import Unrecorded, View, view

TEMPLATES = Path(__file__).with_name("templates")


def page(merged: Merged) -> str:
    """The page's text."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(
        tone=_tone,
        versions=markdown.versions,
        counted=markdown.counted,
        implementation=runs.implementation,
        selection=runs.selection,
        reason=verdict.reason,
        whole=_whole,
        retry=_retry,
        meanings=MEANINGS,
    )
    shown = view(merged)
    return environment.get_template("page.html").render(
        merged=merged,
        view=shown,
        headline=verdict.headline(merged),
        notes=[f"{note[:1].upper()}{note[1:]}." for note in verdict.notes(merged)],
        states=_present(merged, shown),
    )


def _present(merged: Merged, shown: View) -> list[State]:
    """The states that stand on the page, the best first."""
    found = {lane.state for lane in merged.lanes}
    found |= {cell.state for row in (*shown.properties, *shown.files) for cell in row.cells}
    found |= {place.state for failure in shown.failures for place in failure.places}
    found |= {state for loose in shown.unrecorded for state in loose.states}
    return [state for state in STATES if state in found]


def _whole(text: str) -> Markup:
    """A command whose options are not broken at their hyphens when its lines are."""
    parts = re.split(r"(--?[a-z][\w-]*=?)", text)
    return Markup("").join(
        Markup('<span class="whole">{}</span>').format(part) if index % 2 else part for index, part in enumerate(parts)
    )


def _tone(state: State) -> str:
    """A class for the style sheet. What a state is, its shape and its word say."""
    if state in (FAILED, KILLED, UNREADABLE):
        return "bad"
    if state in (INTERPRETED, SIMULATED, COMPILED):
        return "weak"
    return "good" if state.good else "idle"


def _retry(found: Unrecorded) -> str:
    """The lane's command, for this test alone."""
    assert found.lane.identity is not None
    name = found.id.rpartition("::")[2].partition("[")[0]
    return f"{found.lane.identity.command.partition(' -- ')[0]} -- -k {shlex.quote(name)}"
