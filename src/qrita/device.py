"""What the hardware is. The only file that asks about vendors, architectures and drivers."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from typing import Any

import torch

MAX_THREADS = 1024
"""Threads a program may have on every architecture: a plan's warps times the wave width stay within it."""


MOST_REGISTERS = 255
"""Of a thread, on NVIDIA's cards."""

REGISTERS = 65_536
"""Of a multiprocessor, on NVIDIA's cards."""


@dataclass(frozen=True)
class Device:
    """The features of a device that plans are made from.

    Attributes:
        name: the card's name, as its driver gives it.
        architecture: "sm_90", "gfx950" and so on; "interpreter" where kernels run in Triton's interpreter.
        wave: threads that run in lockstep, a warp or a wavefront.
        multiprocessors: multiprocessors or compute units.
        cache: bytes of L2 that they have together; 0 where the driver does not say.
        bandwidth: bytes a second between them and memory, by its clock and the width of its bus; 0 where the driver
            does not say.
    """

    name: str
    architecture: str
    wave: int
    multiprocessors: int
    cache: int = 0
    bandwidth: int = 0

    def all_registers(self, warps: int) -> dict[str, int]:
        """Launch options by which a kernel may take all the registers that there are for a program of so many warps.

        NVIDIA's assembler otherwise keeps some to fewer, for more programs at a time, and spills for that: ptxas of
        Triton 3.7.1 the search of whole rows to 128 of 255, with 248 bytes, collecting from rows that are not aligned
        to 80, with 52.
        """
        most = min(MOST_REGISTERS, REGISTERS // (warps * self.wave))
        return {"maxnreg": most} if self.architecture.startswith("sm_") else {}

    def resident(self, programs: int, warps: int) -> dict[str, int]:
        """Launch options by which a multiprocessor has the registers for so many programs of a kernel at a time.

        NVIDIA's assembler gives others more than they need: selection from brackets 229, where 167 are enough. Only
        where that was measured and does not spill, which is sm_90: on sm_120 the choice of groups would.
        """
        if self.architecture != "sm_90":
            return {}
        return {"maxnreg": min(MOST_REGISTERS, REGISTERS // (programs * warps * self.wave) // 8 * 8)}

    @property
    def early(self) -> dict[str, bool]:
        """Constants and launch options by which a kernel starts while the one before ends (`kernels.entry.in_turn`).

        NVIDIA calls that programmatic dependent launch, and has it from sm_90 on.
        """
        if self.architecture.startswith("sm_") and int(self.architecture.removeprefix("sm_")) >= 90:
            return {"EARLY": True, "launch_pdl": True}
        return {"EARLY": False}


DIES = {"gfx942": 38, "gfx950": 32}
"""Compute units of a die, where a card has several with an L2 each and the driver gives the size of one."""

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
        cache=_cache(properties, architecture),
        bandwidth=_bandwidth(properties),
    )


def _cache(properties: Any, architecture: str) -> int:
    units: int = properties.multi_processor_count
    dies = max(1, round(units / DIES.get(architecture, units)))
    return int(getattr(properties, "L2_cache_size", 0)) * dies


def _bandwidth(properties: Any) -> int:
    """Two transfers a clock, as drivers count: of memory with four this is half, and so a lower bound."""
    kilohertz, bits = (int(getattr(properties, name, 0)) for name in ("memory_clock_rate", "memory_bus_width"))
    return 2 * kilohertz * 1000 * bits // 8
