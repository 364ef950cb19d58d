"""Kernels are compiled here for GPUs that are not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("triton")  # INTERIM, until tests/conftest.py leaves this directory out where there is no Triton
import architectures
import budget_file
import compile_report
from budgets import Targets
from compiling import Compiler

try:
    architectures.wanted(os.environ)  # before a test module is imported: its decorators ask again
    budget_file.load()  # before anything is compiled
except ValueError as error:
    raise pytest.UsageError(str(error)) from None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--compile-report",
        type=Path,
        metavar="FILE",
        help="write what every compiled kernel needs (registers, spills, memory) to this file, as JSON",
    )
    parser.addoption(
        "--write-budgets",
        action="store_true",
        help="write tests/compile/budgets.json anew and show the difference; only what no budget allows still fails",
    )


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # of xdist's processes the one that sees every result
        file = config.getoption("--compile-report", default=None)
        writes = config.getoption("--write-budgets", default=False)
        report = compile_report.Report(file, budget_file.FILE, writes)
        config.pluginmanager.register(report, "qrita-compile-report")


@pytest.fixture(scope="session")
def compiler() -> Iterator[Compiler]:
    with tempfile.TemporaryDirectory(prefix="qrita-compile-") as folder:
        compiler = Compiler(Path(folder))
        yield compiler
        compiler.close()


@pytest.fixture(scope="session")
def budgets(pytestconfig: pytest.Config) -> Targets | None:
    """Those of this Triton; None while they are written anew, and with a Triton that has none, which fails a test."""
    if pytestconfig.getoption("--write-budgets"):
        return None
    return budget_file.load().get(compile_report.triton_version())
