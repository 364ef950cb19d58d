"""Trying a property by name, with what cannot be tried here shown as skipped."""

from __future__ import annotations

import pytest

from qrita.testing.building import Case
from qrita.testing.properties import PROPERTIES, NotRun
from qrita.testing.subjects import Subject


def check(name: str, subject: Subject, case: Case) -> None:
    try:
        PROPERTIES[name].check(subject, case)
    except NotRun as reason:
        pytest.skip(f"{name}: {reason}")
