"""What all compiled kernels need: a file, a table of those that registers do not hold, and their budgets."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import architectures
import budget_file
import budget_report
import budgets
import launches
import pytest
import tables
from budget_file import Book
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
        "needs": dataclasses.asdict(budgets.figures(variant, compiled.needs)) if compiled else None,
        "additions": dataclasses.asdict(compiled.additions) if compiled else None,
        "seconds": compiled.seconds if compiled else None,
        "wrong": wrong,
    }


class Report:
    """A pytest plugin that gathers the records of all tests, prints tables and writes files.

    Args:
        file: where the records go; None is nowhere.
        budgets: the file of budgets.
        writes_budgets: whether that is written anew, or compared with what was found.
    """

    def __init__(self, file: Path | None, budgets: Path, writes_budgets: bool) -> None:
        self._file = file
        self._budgets = budgets
        self._writes_budgets = writes_budgets
        self._records: list[Record] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self._records += [json.loads(str(value)) for name, value in report.user_properties if name == PROPERTY]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        records = sorted(self._records, key=lambda record: (record["architecture"], record["variant"]))
        if records:
            terminalreporter.section("compiled kernels that registers do not hold")
            terminalreporter.write_line(table(records))
            triton, book = triton_version(), budget_file.load(self._budgets)
            terminalreporter.section(f"compiled kernels beside their budgets for Triton {triton}")
            if self._writes_budgets:
                terminalreporter.write_line(write_budgets(self._budgets, records, book, triton))
            else:
                terminalreporter.write_line(budget_report.beside_budgets(records, book, triton))
        if self._file is not None:
            write(self._file, records)
            terminalreporter.write_line(f"what {len(records)} compiled kernels need: {self._file}")


def triton_version() -> str:
    """Of the Triton that compiles; vendors' builds of one version count as that version."""
    import triton

    return str(triton.__version__).partition("+")[0]


def write_budgets(file: Path, records: list[Record], book: Book, triton: str) -> str:
    """Write the budgets of one version of Triton anew, and say what changed."""
    before = book.get(triton, {})
    variants = {a.name: [v.name for v in launches.compiled(a)] for a in architectures.wanted({})}
    after = budget_report.rewritten(records, before, variants)
    file.write_text(budget_file.text({**book, triton: after}), encoding="utf-8")
    here = {record["architecture"]: variants[record["architecture"]] for record in records}
    return f"{budget_report.rewrite(before, after, here)}\nwritten: {file}"


def write(file: Path, records: list[Record]) -> None:
    """The records, with the versions that they hold for."""
    import torch

    report = {"schema": SCHEMA, "triton": triton_version(), "torch": torch.__version__, "variants": records}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def table(records: list[Record]) -> str:
    """Bytes of memory that a thread uses for want of registers: a line a variant, a column an architecture."""
    targets = list(dict.fromkeys(record["architecture"] for record in records))
    scratch: dict[str, dict[str, int]] = {}
    for record in records:
        if record["needs"] is not None:
            scratch.setdefault(record["variant"], {})[record["architecture"]] = record["needs"]["scratch"]
    lines = [["bytes of scratch a thread", *targets]]
    for name, found in scratch.items():
        if any(found.values()):
            lines.append([name, *("" if a not in found else str(found[a] or "-") for a in targets)])
    if len(lines) == 1:
        return "none"
    return tables.aligned(lines, left=1)
