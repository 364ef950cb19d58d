"""What is under test here, and on what: the engine, its device, the versions, and how this program was called."""

from __future__ import annotations

import importlib
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import torch

import qrita
from qrita import arguments, engines
from qrita import device as features
from qrita.cli.exits import UsageError
from qrita.testing.subjects import Subject

TYPICAL_ROWS, TYPICAL_VOCAB, TYPICAL_K, TYPICAL_P = 8, 49152, 50, 0.9
"""The call whose plan is shown."""


@dataclass(frozen=True)
class Surroundings:
    """Where a verdict comes from.

    Attributes:
        engine: its name.
        device: torch's name of the device.
        card: the hardware, in words.
        plan: what the engine says of how it answers a typical call; "" where it says nothing.
        versions: of qrita, torch, numpy, Python and the operating system.
    """

    engine: str
    device: str
    card: str
    plan: str
    versions: dict[str, str]


def find(subject: Subject) -> Surroundings:
    """The surroundings of a subject."""
    return Surroundings(
        engine=subject.name,
        device=subject.device,
        card=card(subject.device),
        plan=plan(subject),
        versions={
            "qrita": qrita.__version__,
            "torch": torch.__version__,
            **_version("triton"),
            "numpy": importlib.import_module("numpy").__version__,
            "Python": platform.python_version(),
            platform.system(): platform.machine(),
        },
    )


def subject(engine: str | None) -> Subject:
    """What to test: the best engine found here, or the one that is named.

    Args:
        engine: None, the name of an engine, or "module:attribute" for an engine, or a class of engines, of one's own;
            its `device`, where it has one, says where the logits go.

    Raises:
        UsageError: there is no such engine.
    """
    if engine is not None and ":" in engine:
        return _imported(engine)
    try:
        if engine is None:
            best, device = engines.best()
            return Subject(best.name, best, str(device))
        return Subject(engine, engines.named(engine), str(engines.device_of(engine)))
    except (ValueError, RuntimeError) as error:
        raise UsageError(f"{error}; --engine takes module:attribute, too, for an engine of your own") from None


def _imported(spec: str) -> Subject:
    module_name, _, attribute = spec.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        engine = getattr(importlib.import_module(module_name), attribute)
        engine = engine() if isinstance(engine, type) else engine
    except Exception as error:
        raise UsageError(f"argument --engine: {spec!r} cannot be loaded: {type(error).__name__}: {error}") from None
    finally:
        sys.path.remove(os.getcwd())
    missing = [name for name in ("name", "cuts", "mask", "candidates") if not hasattr(engine, name)]
    if missing:
        raise UsageError(f"argument --engine: {spec!r} lacks {', '.join(missing)}; expected a qrita.engines.Engine")
    return Subject(engine.name, engine, str(getattr(engine, "device", "cpu")))


def plan(tested: Subject) -> str:
    """What the engine says of how it answers a typical call."""
    describe = getattr(tested.engine, "describe", None)
    if describe is None:
        return ""
    logits = torch.zeros((TYPICAL_ROWS, TYPICAL_VOCAB), device=tested.device)
    return str(describe(arguments.problem(logits, TYPICAL_K, TYPICAL_P)))


def card(device: str) -> str:
    """The hardware behind a device, in words."""
    found = torch.device(device)
    if found.type == "cuda":  # ROCm's name too
        here = features.of(found)
        return f"{here.name} ({here.architecture})"
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def _version(module: str) -> dict[str, str]:
    """The version of a module that may not be there."""
    try:
        return {module: importlib.import_module(module).__version__}
    except ImportError:
        return {}


def program() -> list[str]:
    """How to call this program again from the same shell: as "qrita" where that is found, else through its Python."""
    python = Path(sys.executable)
    called = shutil.which("qrita")
    in_tox = "TOX_ENV_NAME" in os.environ  # which puts its own directory first, for as long as it runs
    if called and not in_tox and Path(called).parent == python.parent:
        return ["qrita"]
    if python.is_relative_to(Path.cwd()):
        python = python.relative_to(Path.cwd())
    return [str(python), "-m", "qrita"]
