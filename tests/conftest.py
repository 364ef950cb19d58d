"""Options of the tests, and the subject that the conformance tests are about."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import sys
from pathlib import Path

import devices
import pytest

os.environ.update(devices.mine(os.environ))  # before torch is imported: what a process sees is fixed then

import torch

from qrita import engines
from qrita.testing import profiles, subjects
from qrita.testing.subjects import Subject

HERE = Path(__file__).parent

# The simulator is in no wheel. Its place is behind every other, and so qrita stays the one that is installed.
sys.path.append(str(HERE.parent / "src"))

pytest_plugins = ["qrita.report.plugin"]

try:
    PROFILE = profiles.load()  # before any test module is imported: decorators read it
except ValueError as error:
    raise pytest.UsageError(str(error)) from None

if "PYTEST_XDIST_WORKER" in os.environ:
    torch.set_num_threads(1)  # the workers share the cores; the property `threads` tries other numbers


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine", default="torch", choices=engines.NAMES, help="the engine that the tests are about (default: torch)"
    )


def pytest_configure(config: pytest.Config) -> None:
    if _on_gpus(config):
        variable = "HIP_VISIBLE_DEVICES" if torch.version.hip else "CUDA_VISIBLE_DEVICES"
        os.environ.update(devices.explicit(os.environ, torch.cuda.device_count(), variable))
    if config.getoption("--engine") == "interpreter":  # numpy computes lanes that a select discards, and says so
        config.addinivalue_line("filterwarnings", "ignore:(overflow|invalid value) encountered:RuntimeWarning")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """As many as the GPUs' memory holds; xdist's own rule, by cores, without GPUs."""
    if not _on_gpus(config):
        return None
    gpus = range(torch.cuda.device_count())
    return devices.workers([torch.cuda.get_device_properties(gpu).total_memory for gpu in gpus], os.cpu_count() or 1)


def _on_gpus(config: pytest.Config) -> bool:
    return config.getoption("--engine") == "triton" and torch.cuda.is_available()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without two GPUs, what needs them is deselected, and the header says so."""
    alone = [item for item in items if item.get_closest_marker("several_gpus")] if _lone_gpu(config) else []
    if alone:
        config.hook.pytest_deselected(items=alone)
        items[:] = [item for item in items if item not in alone]


def _lone_gpu(config: pytest.Config) -> bool:
    return config.getoption("--engine") == "triton" and torch.cuda.device_count() < 2


def pytest_report_header(config: pytest.Config) -> list[str]:
    left_out = [f"qrita: {path} is not run: {reason}" for path, reason in _left_out(config).items()]
    return [f"qrita: engine {config.getoption('--engine')}, hypothesis profile {PROFILE}", *left_out]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if str(collection_path.relative_to(HERE.parent)) in _left_out(config) else None


def _left_out(config: pytest.Config) -> dict[str, str]:
    """Tests that this run cannot be about, and why: said in the report's header, since nothing else would show them."""
    engine = config.getoption("--engine")
    left_out = {}
    if importlib.util.find_spec("triton") is None:
        left_out["tests/kernels"] = "it needs Triton, which this environment does not have"
    elif engine == "interpreter":
        left_out["tests/kernels"] = "it is about compiling, and this run interprets"
    if importlib.util.find_spec("triton") is None or engine == "interpreter":
        for name in ("test_mutations", "test_triton_kernels"):
            left_out[f"tests/amdsim/{name}.py"] = "it compiles kernels, and this run has no Triton that does"
    if importlib.util.find_spec("matplotlib") is None:
        left_out["tests/bench/test_bench_plots.py"] = "it needs matplotlib, which this environment does not have"
    if not _from_a_wheel():
        left_out["tests/amdsim/test_wheel.py"] = "it lists what a wheel installed, and qrita is used from its sources"
    if engine != "triton":
        left_out["tests/gpu"] = "it needs a GPU and --engine triton"
    if engine == "torch":
        left_out["tests/conformance/test_plans.py"] = "the torch engine has no plans"
    if _lone_gpu(config):
        left_out["what is marked several_gpus"] = "this process sees one GPU"
    return left_out


@functools.cache
def _from_a_wheel() -> bool:
    """Whether the package that is tested was installed, and not just found, or installed as a link to its sources."""
    try:
        files = importlib.metadata.files("qrita") or []
    except importlib.metadata.PackageNotFoundError:
        return False
    return any(file.as_posix() == "qrita/__init__.py" for file in files)


@pytest.fixture(scope="session")
def subject(pytestconfig: pytest.Config) -> Subject:
    """The engine under test. Not a parameter: test ids, and so databases of examples, are the same for every engine."""
    try:
        return subjects.named(pytestconfig.getoption("--engine"))
    except RuntimeError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.fixture(scope="session")
def plan_recipes(pytestconfig: pytest.Config) -> int:
    """How many recipes each plan is forced on: the interpreter takes about a second for each."""
    return 8 if pytestconfig.getoption("--engine") == "interpreter" else 300
