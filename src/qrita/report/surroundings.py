"""Where a failure was met: versions, card, driver, settings, commit."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import re
import subprocess
from pathlib import Path

import torch

import qrita
from qrita import device as devices
from qrita.cli import surroundings as cli
from qrita.report.record import Surroundings

TRITONS = ("triton", "triton-rocm", "pytorch-triton-rocm")
OVERRIDES = ("HSA_OVERRIDE_GFX_VERSION", "TRITON_OVERRIDE_ARCH")
DRIVERS = (
    (Path("/proc/driver/nvidia/version"), r"\b(\d{3,}\.\d[\d.]*)\b"),
    (Path("/sys/module/amdgpu/version"), r"(\S+)"),
)


def gather(device_name: str) -> Surroundings:
    """Ask this process and this machine."""
    device = torch.device(device_name)
    on_gpu = device.type == "cuda"
    return Surroundings(
        qrita=qrita.__version__,
        torch=torch.__version__,
        triton=", ".join(found for name in TRITONS if (found := _version(name))) or None,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        card=devices.of(device).name if on_gpu else cli.card(device_name),
        architecture=devices.of(device).architecture if on_gpu else None,
        driver=_driver() if on_gpu else None,
        fusion=os.environ.get("TRITON_DEFAULT_FP_FUSION"),
        overrides={name: os.environ[name] for name in OVERRIDES if os.environ.get(name)},
        image=os.environ.get("QRITA_IMAGE", ""),
        commit=_commit(),
    )


def _version(name: str) -> str | None:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return f"{name} {importlib.metadata.version(name)}"
    return None


def _driver() -> str | None:
    for path, pattern in DRIVERS:
        with contextlib.suppress(OSError):
            if found := re.search(pattern, path.read_text(encoding="utf-8")):
                return found[1]
    return None


def _commit() -> str:
    """Of the checkout that this runs in; "" outside of one."""
    try:
        return _git("rev-parse", "HEAD") + ("+" if _git("status", "--porcelain") else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(*arguments: str) -> str:
    command = ["git", "-c", "safe.directory=*", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()
