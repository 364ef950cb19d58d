"""Figures that were measured on a card, the file that holds them with where they come from, and which are in force."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib import resources
from typing import Any, TypeVar

from qrita.device import Device
from qrita.tuning import DERIVED, Tuning, TuningError, derived

SCHEMA = 1
FOLDER = "tuned"
"""Of the package: it has the entry of each architecture that was measured, as ARCHITECTURE.json."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class Provenance:
    """Where figures come from.

    Attributes:
        card: its name, as its driver gives it.
        multiprocessors: how many it has.
        driver, torch, triton: versions; "unknown" where nothing says.
        date: of the measurement, as 2026-11-30.
        command: what was run.
        commit: the checkout, with "+" where files differed from it; "unknown" outside of one.
        sources: a digest of the sources that were measured, as `qrita bench` has it.
        compared: what was tried against what, a sentence each.
    """

    card: str
    multiprocessors: int
    driver: str
    torch: str
    triton: str
    date: str
    command: str
    commit: str
    sources: str
    compared: tuple[str, ...]

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if name == "multiprocessors":
                fine, expected = type(value) is int and value > 0, "a whole number of at least 1"
            elif name == "compared":
                fine = isinstance(value, tuple) and all(isinstance(line, str) for line in value)
                expected = "a list of strings"
            else:
                fine, expected = isinstance(value, str) and bool(value), "a string with something in it"
            if not fine:
                raise TuningError(f"provenance: {name}={value!r}: expected {expected}")


@dataclass(frozen=True)
class Entry:
    """The figures of an architecture, measured on one card."""

    architecture: str
    figures: Tuning
    provenance: Provenance

    @property
    def origin(self) -> str:
        """Where they come from, for a plan."""
        came = self.provenance
        return f"measured on {came.card} ({came.date}, Triton {came.triton})"

    def to_json(self) -> str:
        """The file's text."""
        return f"{json.dumps({'schema': SCHEMA, **asdict(self)}, indent=2)}\n"


def parse(text: str, architecture: str | None = None) -> Entry:
    """The entry of a file's text.

    Args:
        text: what `Entry.to_json` gives.
        architecture: that the entry has to be of; None is any.

    Raises:
        TuningError: it is none, or another architecture's. Says what was expected.
    """
    try:
        given = json.loads(text)
    except ValueError as error:
        raise TuningError(f"not JSON ({error}); expected what `qrita tune --json` writes") from None
    if not isinstance(given, dict) or given.get("schema") != SCHEMA:
        raise TuningError(f"expected an object with schema {SCHEMA}, as `qrita tune --json` writes it")
    parts = {name: value for name, value in given.items() if name != "schema"}
    _same("entry", parts, Entry)
    if not isinstance(parts["architecture"], str) or architecture not in (None, parts["architecture"]):
        raise TuningError(f"architecture={parts['architecture']!r}: expected {architecture or 'a string'}")
    came = parts["provenance"]
    if isinstance(came, dict) and isinstance(came.get("compared"), list):
        parts["provenance"] = {**came, "compared": tuple(came["compared"])}
    figures, provenance = (
        _made("figures", parts["figures"], Tuning),
        _made("provenance", parts["provenance"], Provenance),
    )
    return Entry(parts["architecture"], figures, provenance)


def _made(name: str, given: Any, kind: type[_T]) -> _T:
    """The record of an object that has its fields and no others."""
    if not isinstance(given, dict):
        raise TuningError(f"{name}={given!r}: expected an object")
    _same(name, given, kind)
    return kind(**given)


def _same(name: str, given: Mapping[str, Any], kind: type[Any]) -> None:
    expected = [field.name for field in fields(kind)]
    for field in given:
        if field not in expected:
            raise TuningError(f"{name}: unknown field {field!r}; expected {', '.join(expected)}")
    if missing := [field for field in expected if field not in given]:
        raise TuningError(f"{name}: no {', '.join(missing)}; expected {', '.join(expected)}")


def packaged(architecture: str) -> Entry | None:
    """The entry that came with the package; None where nothing was measured on such a card.

    Raises:
        TuningError: the file is no entry of that architecture. Names it.
    """
    file = resources.files("qrita") / FOLDER / f"{architecture}.json"
    if not file.is_file():
        return None
    try:
        return parse(file.read_text(encoding="utf-8"), architecture)
    except (OSError, ValueError) as error:
        raise TuningError(f"{file}: {error}; install qrita anew, or remove the file to do without it") from None


@functools.cache  # on every call of a public function; the file is read once
def in_force(device: Device) -> tuple[Tuning, str]:
    """The figures for a device, and where they come from.

    Raises:
        TuningError: the entry of its architecture is corrupt.
    """
    entry = packaged(device.architecture)
    return (derived(device), DERIVED) if entry is None else (entry.figures, entry.origin)
