"""Options of the tests, and the subject that the conformance tests are about."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import devices
import pytest

os.environ.update(devices.mine(os.environ))  # before torch is imported: what a process sees is fixed then

import torch

from qrita import engines
from qrita.testing import profiles, subjects
from qrita.testing.subjects import Subject

# The simulator is in no wheel. Its place is behind every other, and so qrita stays the one that is installed.
sys.path.append(str(Path(__file__).parents[1] / "src"))

import simulated

HERE = Path(__file__).parent

LAUNCHING = (
    "tests/bench/test_ablation_kernels.py",
    "tests/conformance/test_orders.py",
    "tests/conformance/test_searches.py",
)
COMPILING = ("tests/amdsim/test_mutations.py", "tests/amdsim/test_triton_kernels.py", "tests/sim")
SIMULATED = (
    "tests/sim/test_emitted_by_kernels.py",
    "tests/sim/test_long_vocabularies.py",
    "tests/sim/test_recipes_by_dtype.py",
    "tests/sim/test_weights_on_a_card.py",
)

pytest_plugins = ["qrita.report.plugin"]

try:
    PROFILE = profiles.load()  # before any test module is imported: decorators read it
except ValueError as error:
    raise pytest.UsageError(str(error)) from None

NIGHTLY = PROFILE.startswith("nightly")

if "PYTEST_XDIST_WORKER" in os.environ:
    torch.set_num_threads(1)  # the workers share the cores; the property `threads` tries other numbers


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine",
        default="torch",
        choices=(*engines.NAMES, *simulated.NAMES),
        help="the engine that the tests are about (default: torch)",
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
    """What needs two GPUs, or a night, is deselected without them, and the header says so."""
    marks = [mark for mark, here in (("several_gpus", _lone_gpu(config)), ("nightly", not NIGHTLY)) if here]
    left_out = [item for item in items if any(item.get_closest_marker(mark) for mark in marks)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


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
    left_out = _left_out_by_engine(engine)
    if importlib.util.find_spec("triton") is None:
        left_out["tests/kernels"] = "it needs Triton, which this environment does not have"
    elif engine == "interpreter":
        left_out["tests/kernels"] = "it is about compiling, and this run interprets"
    if importlib.util.find_spec("triton") is None or engine == "interpreter":
        for path in COMPILING:
            left_out[path] = "it compiles kernels, and this run has no Triton that does"
    left_out |= _left_out_by_simulators(engine)
    if importlib.util.find_spec("matplotlib") is None:
        left_out["tests/bench/test_bench_plots.py"] = "it needs matplotlib, which this environment does not have"
    if not _from_a_wheel():
        left_out["tests/amdsim/test_wheel.py"] = "it lists what a wheel installed, and qrita is used from its sources"
    if not NIGHTLY:
        left_out["what is marked nightly"] = f"this is the profile {PROFILE}"
    if _lone_gpu(config):
        left_out["what is marked several_gpus"] = "this process sees one GPU"
    return left_out


def _left_out_by_engine(engine: str) -> dict[str, str]:
    left_out = {}
    if engine not in ("triton", "interpreter"):
        for path in LAUNCHING:
            left_out[path] = "it launches kernels: --engine triton or interpreter"
    if engine != "triton":
        left_out["tests/gpu"] = "it needs a GPU and --engine triton"
    if engine == "torch":
        for name in ("test_misses.py", "test_plans.py", "test_tuned_figures.py"):
            path = f"tests/conformance/{name}"
            left_out[path] = "the torch engine has no plans"
    return left_out


def _left_out_by_simulators(engine: str) -> dict[str, str]:
    if engine not in simulated.NAMES:
        return dict.fromkeys(SIMULATED, f"it needs a simulated card, such as --engine {simulated.NAMES[0]}")
    left_out = {
        "tests/sim/test_amd_only_bugs.py": "it is about all simulated cards, and so about no engine",
        "tests/conformance/test_misses.py": "long rows take a simulator minutes",
        "tests/conformance/test_tuned_figures.py": "long tiles take a simulator minutes",
    }
    if PROFILE == "sim-slice":
        left_out["tests/conformance/test_faults.py"] = "it takes a simulator minutes, and this is a slice"
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
def subject(pytestconfig: pytest.Config) -> Iterator[Subject]:
    """The engine under test. Not a parameter: test ids, and so databases of examples, are the same for every engine."""
    name = pytestconfig.getoption("--engine")
    with contextlib.ExitStack() as stack:
        try:
            found = stack.enter_context(simulated.subject(name)) if name in simulated.NAMES else subjects.named(name)
        except RuntimeError as error:
            raise pytest.UsageError(str(error)) from None
        yield found


@pytest.fixture(scope="session")
def plan_recipes(pytestconfig: pytest.Config) -> int:
    """How many recipes each plan is forced on: interpreted and simulated kernels take about a second for each."""
    slow = pytestconfig.getoption("--engine") in ("interpreter", *simulated.NAMES)
    return 2 if PROFILE == "sim-slice" else 8 if slow else 300
