"""Simulated AMD GPUs as engines of the tests: `--engine sim-gfx950`. The package knows nothing of them."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from unittest import mock

from amdsim.architectures import ARCHITECTURES
from qrita import device
from qrita.device import Device
from qrita.engines import Engine
from qrita.testing.subjects import Subject

NAMES = tuple(f"sim-{name}" for name in ARCHITECTURES)

UNITS = 4
"""Compute units of a simulated card: few, so that short rows are split over few programs, which one process runs."""


def device_of(name: str) -> Device:
    """What plans for a simulated card are made from."""
    architecture = ARCHITECTURES[name.removeprefix("sim-")]
    return Device(f"simulated {architecture.name}", architecture.name, architecture.wave, UNITS)


@contextlib.contextmanager
def subject(name: str) -> Iterator[Subject]:
    """The kernels as compiled for a card, and executed by the simulator; CPU tensors are taken to be that card's.

    Raises:
        RuntimeError: there is no Triton, or one that interprets; says what to do.
    """
    found = engine(name)
    with mock.patch.object(device, "of", return_value=device_of(name)):
        yield Subject(name, found)


def engine(name: str) -> Engine:
    """The engine of a card, with a simulator of its own.

    Raises:
        RuntimeError: there is no Triton, or one that interprets; says what to do.
    """
    if importlib.util.find_spec("triton") is None or device.interpreting():
        raise RuntimeError(
            f"engine={name!r} compiles kernels: expected Triton, and TRITON_INTERPRET unset; "
            "`ci/tox -e sim` makes such an environment"
        )
    import simulated_engine

    return simulated_engine.engine(name, device_of(name))
