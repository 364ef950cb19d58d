"""The HTML page: one file that needs no network, made by templates out of a view."""

from __future__ import annotations

import shlex
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from qrita.report import markdown
from qrita.report.merging import Merged
from qrita.report.record import MEANINGS
from qrita.report.states import COMPILED, FAILED, INTERPRETED, KILLED, REFUSED, SIMULATED, STATES, UNREADABLE, State
from qrita.report.view import Unrecorded, view

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
        tone=_tone, versions=markdown.versions, counted=markdown.counted, retry=_retry, meanings=MEANINGS
    )
    return environment.get_template("page.html").render(
        merged=merged,
        view=view(merged),
        headline=markdown.headline(merged).removeprefix("## "),
        states=STATES,
    )


def _tone(state: State) -> str:
    """A class for the style sheet. What a state is, its shape and its word say."""
    if state in (FAILED, REFUSED, KILLED, UNREADABLE):
        return "bad"
    if state in (INTERPRETED, SIMULATED, COMPILED):
        return "weak"
    return "good" if state.good else "idle"


def _retry(found: Unrecorded) -> str:
    """The lane's command, for this test alone."""
    assert found.lane.identity is not None
    name = found.id.rpartition("::")[2].partition("[")[0]
    return f"{found.lane.identity.command.partition(' -- ')[0]} -- -k {shlex.quote(name)}"
