"""Options of the tests, and the subject that the conformance tests are about."""

from __future__ import annotations

import os

import pytest
import torch

from qrita.testing import profiles, subjects
from qrita.testing.subjects import Subject

try:
    PROFILE = profiles.load()  # before any test module is imported: decorators read it
except ValueError as error:
    raise pytest.UsageError(str(error)) from None

if "PYTEST_XDIST_WORKER" in os.environ:
    torch.set_num_threads(1)  # the workers share the cores; the property `threads` tries other numbers


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--engine", default="torch", help="the engine that tests/conformance is about (default: torch)")


def pytest_report_header(config: pytest.Config) -> str:
    return f"qrita: engine {config.getoption('--engine')}, hypothesis profile {PROFILE}"


@pytest.fixture(scope="session")
def subject(pytestconfig: pytest.Config) -> Subject:
    """The engine under test. Not a parameter: test ids, and so databases of examples, are the same for every engine."""
    try:
        return subjects.named(pytestconfig.getoption("--engine"))
    except (ValueError, RuntimeError) as error:
        raise pytest.UsageError(str(error)) from None
