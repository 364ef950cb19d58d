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
from qrita import device as features
from qrita.testing.foreign.contract import Contract
from qrita.testing.testers import Described


@dataclass(frozen=True)
class Surroundings:
    """Where a verdict comes from.

    Attributes:
        subject: its name.
        device: torch's name of the device.
        card: the hardware, in words.
        plan: what an engine says of how it answers a typical call; "" where it says nothing.
        versions: of the subject, qrita, torch, numpy, Python and the operating system.
        about: what is called, in words; "" where the name says it.
        contract: what the subject promises; None where that is docs/semantics.md.
    """

    subject: str
    device: str
    card: str
    plan: str
    versions: dict[str, str]
    about: str = ""
    contract: Contract | None = None


def find(subject: Described) -> Surroundings:
    """The surroundings of a subject."""
    return Surroundings(
        subject=subject.name,
        device=subject.device,
        card=card(subject.device),
        plan=subject.plan,
        about=subject.about,
        contract=subject.contract,
        versions={
            **subject.versions,
            "qrita": qrita.__version__,
            "torch": torch.__version__,
            **_version("triton"),
            "numpy": importlib.import_module("numpy").__version__,
            "Python": platform.python_version(),
            platform.system(): platform.machine(),
        },
    )


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
