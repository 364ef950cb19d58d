"""Recorded cases tried again: what --recorded names, with the ids that records have on every machine."""

from __future__ import annotations

import pytest

from qrita.cli import findings, items
from qrita.testing.properties import PROPERTIES, NotRun
from qrita.testing.subjects import Subject


def test_recorded(subject: Subject, recorded: tuple[str, str]) -> None:
    name, case = recorded
    try:
        PROPERTIES[name].check(subject, findings.case(items.read(case)))
    except NotRun as reason:
        pytest.skip(f"{name}: {reason}")
