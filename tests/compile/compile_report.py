"""What all compiled kernels need: a file for a gate to compare, and a table of those that registers do not hold."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from compiling import Compiled, Failed
from launches import Variant

PROPERTY = "compiled"
"""The property of a test's result that holds its record, as JSON: results are what xdist brings back."""
SCHEMA = 1

Record = dict[str, Any]


def record_of(variant: Variant, outcome: Compiled | Failed, wrong: list[str]) -> Record:
    """What the file says of a variant. The keys `architecture` and `variant` tell it from every other."""
    compiled = outcome if isinstance(outcome, Compiled) else None
    return {
        "architecture": variant.architecture.name,
        "variant": variant.name,
        "kernel": variant.kernel,
        "constants": variant.names,
        "warps": variant.warps,
        "threads": variant.threads,
        "stages": variant.options["num_stages"],
        "needs": dataclasses.asdict(compiled.needs) if compiled else None,
        "additions": dataclasses.asdict(compiled.additions) if compiled else None,
        "seconds": compiled.seconds if compiled else None,
        "wrong": wrong,
    }


class Report:
    """A pytest plugin that gathers the records of all tests, prints the table and writes the file."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._records: list[Record] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self._records += [json.loads(str(value)) for name, value in report.user_properties if name == PROPERTY]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        records = sorted(self._records, key=lambda record: (record["architecture"], record["variant"]))
        if records:
            terminalreporter.section("compiled kernels that registers do not hold")
            terminalreporter.write_line(table(records))
        if self._file is not None:
            write(self._file, records)
            terminalreporter.write_line(f"what {len(records)} compiled kernels need: {self._file}")


def write(file: Path, records: list[Record]) -> None:
    """The records, with the versions that they hold for."""
    import torch
    import triton

    report = {"schema": SCHEMA, "triton": triton.__version__, "torch": torch.__version__, "variants": records}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def table(records: list[Record]) -> str:
    """Bytes of memory that a thread uses for want of registers: a line a variant, a column an architecture."""
    architectures = list(dict.fromkeys(record["architecture"] for record in records))
    scratch: dict[str, dict[str, int]] = {}
    for record in records:
        if record["needs"] is not None:
            scratch.setdefault(record["variant"], {})[record["architecture"]] = record["needs"]["scratch"]
    lines = [["bytes of scratch a thread", *architectures]]
    for name, found in scratch.items():
        if any(found.values()):
            lines.append([name, *("" if a not in found else str(found[a] or "-") for a in architectures)])
    if len(lines) == 1:
        return "none"
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))])
        for line in lines
    )
