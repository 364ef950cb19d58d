"""Lane directories as lanes leave them, for the tests of reports."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import quoteattr

LANE = {
    "schema": 1,
    "targets": [],
    "state": "hardware",
    "installed": False,
    "card": "AMD EPYC 9B14",
    "architecture": "x86_64",
    "wave": None,
    "driver": None,
    "torch": "2.13.0+cpu",
    "triton": None,
    "python": "3.12.3",
    "platform": "Linux x86_64",
    "fusion": None,
    "overrides": {},
    "profile": "pr",
    "commit": "0123456789abcdef0123456789abcdef01234567",
    "image": "",
    "started": "2026-11-30T10:00:00+00:00",
    "finished": "2026-11-30T10:04:10+00:00",
    "outcome": "passed",
    "reason": "",
}

H200 = {
    "targets": ["cuda-h200"],
    "environment": "cuda",
    "card": "NVIDIA H200",
    "architecture": "sm_90",
    "wave": 32,
    "driver": "580.159.04",
    "torch": "2.11.0+cu130",
    "triton": "triton 3.6.0",
    "command": "ci/tox --installed cuda-h200",
}

PROPERTIES = "tests/conformance/test_properties.py::test_property[{}]"

Case = tuple[str, str]
"""A test's id and the XML inside its testcase: none where it passed."""


def failure(message: str, details: str = "a traceback") -> str:
    return f"<failure message={quoteattr(message)}>{details}</failure>"


def skipped(reason: str, kind: str = "pytest.skip") -> str:
    return f"<skipped type={quoteattr(kind)} message={quoteattr(reason)}>tests/x.py:1: {reason}</skipped>"


def passes(*names: str) -> list[Case]:
    return [(PROPERTIES.format(name), "") for name in names]


def lane(directory: Path, cases: Iterable[Case] = (), **said: object) -> Path:
    """Write the directory of a lane, which is called as its directory is."""
    directory.mkdir(parents=True)
    identity = {"lane": directory.name, "environment": directory.name, "command": f"ci/tox -e {directory.name}"}
    (directory / "lane.json").write_text(json.dumps({**LANE, **identity, **said}), encoding="utf-8")
    if cases := list(cases):
        (directory / "results.xml").write_text(junit(cases), encoding="utf-8")
    return directory


def junit(cases: Iterable[Case]) -> str:
    """pytest's XML, as far as it is read."""
    shown = []
    for test, inner in cases:
        place, _, name = test.rpartition("::")
        classname = place.replace(".py", "").replace("::", ".").replace("/", ".")
        shown.append(f'<testcase classname="{classname}" name={quoteattr(name)} time="0.25">{inner}</testcase>')
    inside = "".join(shown)
    return (
        f'<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest">{inside}</testsuite></testsuites>'
    )
