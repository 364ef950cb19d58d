"""What the hardware is. The only file that asks about vendors, architectures and drivers."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass

import torch

MAX_THREADS = 1024
"""Threads a program may have on every architecture: a plan's warps times the wave width stay within it."""


@dataclass(frozen=True)
class Device:
    """The features of a device that plans are made from.

    Attributes:
        name: the card's name, as its driver gives it.
        architecture: "sm_90", "gfx950" and so on; "interpreter" where kernels run in Triton's interpreter.
        wave: threads that run in lockstep, a warp or a wavefront.
        multiprocessors: multiprocessors or compute units.
    """

    name: str
    architecture: str
    wave: int
    multiprocessors: int


INTERPRETER = Device(name="Triton interpreter", architecture="interpreter", wave=32, multiprocessors=4)


def interpreting() -> bool:
    """Whether Triton was told to interpret kernels in this process (decided when Triton is imported)."""
    return os.environ.get("TRITON_INTERPRET", "0") in ("1", "true", "on")


def of(device: torch.device) -> Device:
    """The features of the device that holds a tensor."""
    if device.type == "cpu":
        return INTERPRETER
    return _gpu(torch.cuda.current_device() if device.index is None else device.index)


@functools.cache
def _gpu(index: int) -> Device:
    properties = torch.cuda.get_device_properties(index)
    if torch.version.hip is not None:
        architecture = properties.gcnArchName.partition(":")[0]
    else:
        architecture = f"sm_{properties.major}{properties.minor}"
    return Device(
        name=properties.name,
        architecture=architecture,
        wave=properties.warp_size,
        multiprocessors=properties.multi_processor_count,
    )
