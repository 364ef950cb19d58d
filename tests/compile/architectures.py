"""The architectures that the matrix has compiled for."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import occupancy
from launches import Architecture

ROOT = Path(__file__).resolve().parents[2]

KIB = 1024
SHARED = {
    "sm_80": 163 * KIB,
    "sm_89": 99 * KIB,
    "sm_90": 227 * KIB,
    "sm_100": 227 * KIB,
    "sm_120": 99 * KIB,
    "gfx942": 64 * KIB,
    "gfx950": 160 * KIB,
    "gfx1100": 64 * KIB,
    "gfx1201": 64 * KIB,
}
"""Bytes of shared memory that a program may have, by the vendors' programming guides."""


def wanted(environ: Mapping[str, str]) -> list[Architecture]:
    """Those of the environment `compile`, or of the one target of it that QRITA_TARGET promises.

    Raises:
        ValueError: QRITA_TARGET names another target, or what an architecture has is not known here.
    """
    targets = {n: t for n, t in _matrix().targets.items() if t.environment == "compile"}
    if promised := environ.get("QRITA_TARGET"):
        if promised not in targets:
            raise ValueError(f"QRITA_TARGET={promised}: expected one of {', '.join(targets)}, or unset it for all")
        targets = {promised: targets[promised]}
    for name in (target.architecture for target in targets.values()):
        if name not in SHARED:
            raise ValueError(f"the shared memory of {name} is not known: add it to tests/compile/architectures.py")
        if name not in occupancy.LIMITS:
            raise ValueError(f"what programs share on {name} is not known: add it to tests/compile/occupancy.py")
    return [Architecture(t.architecture, t.wave, SHARED[t.architecture]) for t in targets.values()]


def _matrix() -> Any:
    """ci/matrix.toml, by the module that validates it; ci is no package."""
    spec = importlib.util.spec_from_file_location("qrita_ci_targets", ROOT / "ci" / "targets.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module.load()
