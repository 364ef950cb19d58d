"""Kernels are compiled here for GPUs that are not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("triton")  # INTERIM, until tests/conftest.py leaves this directory out where there is no Triton
import architectures
import compile_report
from compiling import Compiler

try:
    architectures.wanted(os.environ)  # before a test module is imported: its decorators ask again
except ValueError as error:
    raise pytest.UsageError(str(error)) from None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--compile-report",
        type=Path,
        metavar="FILE",
        help="write what every compiled kernel needs (registers, spills, memory) to this file, as JSON",
    )


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # of xdist's processes the one that sees every result
        file = config.getoption("--compile-report", default=None)
        config.pluginmanager.register(compile_report.Report(file), "qrita-compile-report")


@pytest.fixture(scope="session")
def compiler() -> Iterator[Compiler]:
    with tempfile.TemporaryDirectory(prefix="qrita-compile-") as folder:
        compiler = Compiler(Path(folder))
        yield compiler
        compiler.close()
