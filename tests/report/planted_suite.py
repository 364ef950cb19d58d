"""The conformance suite run on engines with planted bugs, as a lane runs it on real ones: records come of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
FILES = ("test_properties.py", "test_recorded.py", "trying.py")

CONFTEST = """\
import importlib

import pytest

from qrita.testing import profiles
from qrita.testing.subjects import Subject

profiles.load()
pytest_plugins = ["qrita.report.plugin"]


def pytest_addoption(parser):
    parser.addoption("--engine")


@pytest.fixture(scope="session")
def subject(pytestconfig):
    module, _, expression = pytestconfig.getoption("--engine").partition(":")
    return Subject("planted", eval(expression, vars(importlib.import_module(module))))
"""


def run(root: Path, engine: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the suite in a folder of its own.

    Args:
        engine: "module:expression".
        arguments: of pytest.
    """
    root.mkdir(parents=True, exist_ok=True)
    (root / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (root / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (root / "tests" / "conformance").mkdir(parents=True, exist_ok=True)
    for file in FILES:
        shutil.copy(TESTS / "conformance" / file, root / "tests" / "conformance")
    paths = [str(TESTS.parent / "src"), str(TESTS / "testing"), str(TESTS / "cli"), str(TESTS / "report")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HYPOTHESIS_PROFILE": "pr", "OMP_NUM_THREADS": "1"}
    env = {name: value for name, value in env.items() if not name.startswith(("PYTEST_", "QRITA_"))} | environment
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--engine", engine, *arguments]
    return subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=300, check=False)
