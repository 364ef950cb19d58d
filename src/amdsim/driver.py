"""A Triton driver whose device is the simulator: `kernel[grid](cpu_tensors...)` compiles what a launch on such a card
compiles, and executes it here.

    with driver.simulated("gfx950"):
        kernel[(4,)](x, y, n, BLOCK=256)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver as triton_driver
from triton.runtime.cache import get_cache_manager

from amdsim import architectures, parse
from amdsim.architectures import MAX_THREADS, Architecture
from amdsim.errors import LaunchFault
from amdsim.launch import Argument, Grid, Options, Simulator
from amdsim.tensors import Placed, Written


@contextlib.contextmanager
def simulated(
    architecture: str, options: Options | None = None, *, simulator: Simulator | None = None
) -> Iterator[Simulator]:
    """Launches go to the simulator; what was there before comes back at the end.

    Args:
        architecture: of the card.
        options: of a simulator that is made for this once.
        simulator: one to go on with instead, with what it has prepared for the kernels that it ran.

    Raises:
        LaunchFault: no such architecture is simulated.
    """
    simulator = simulator or Simulator(options)
    written = Written() if simulator.options.twins else None
    before = triton_driver._active
    triton_driver.set_active(SimulatedDriver(architectures.named(architecture), simulator, written))
    try:
        with written or contextlib.nullcontext():
            yield simulator
    finally:
        triton_driver._active = before


class SimulatedDriver:
    """What Triton asks of a driver.

    Attributes:
        architecture: of the device.
        simulator: what runs the kernels.
        written: what is known of the memory of tensors; None takes all of it for known.
    """

    def __init__(self, architecture: Architecture, simulator: Simulator, written: Written | None = None) -> None:
        self.architecture, self.simulator, self.written = architecture, simulator, written
        self.utils = _Utils(architecture)

    def launcher_cls(self, source: Any, metadata: Any) -> _Launcher:
        """A compiled kernel, ready to be launched."""
        return _Launcher(self.architecture, source, metadata)

    def get_current_target(self) -> GPUTarget:
        """What the compiler compiles for."""
        return GPUTarget("hip", self.architecture.name, self.architecture.wave)

    def get_current_device(self) -> str:
        """Triton keeps compiled kernels by device."""
        return f"simulated {self.architecture.name}"

    def set_current_device(self, device: Any) -> None:
        """There is one."""

    def get_current_stream(self, device: Any) -> int:
        """There is one."""
        return 0

    def get_active_torch_device(self) -> torch.device:
        """Where tensors are."""
        return torch.device("cpu")


class _Utils:
    """What Triton asks of a driver about the device and its modules."""

    def __init__(self, architecture: Architecture) -> None:
        self._architecture = architecture

    def get_device_properties(self, device: Any) -> dict[str, int]:
        return {
            "max_shared_mem": self._architecture.lds,
            "multiprocessor_count": 4,
            "warpSize": self._architecture.wave,
        }

    def load_binary(self, name: str, kernel: bytes, shared: int, device: Any) -> tuple[int, int, int, int, int]:
        """(module, function, registers, spills, threads that a program may have)."""
        return 1, 1, 0, 0, MAX_THREADS

    def unload_module(self, module: int) -> None: ...


class _Launcher:
    """Launches one compiled kernel, on the simulator that is active then: Triton keeps it for the next one."""

    def __init__(self, architecture: Architecture, source: Any, metadata: Any) -> None:
        self._kinds = list(source.signature.values())
        files = get_cache_manager(metadata.hash).get_group(f"{source.name[:150]}.json") or {}
        path = next((p for name, p in files.items() if name.endswith(".amdgcn")), None)
        if path is None:
            raise LaunchFault(f"{source.name}: its assembly is not in Triton's cache")
        self._program = parse.program(Path(path).read_text(), lds=metadata.shared)
        expected = metadata.num_warps * architecture.wave
        if self._program.threads != expected:
            raise LaunchFault(
                f"{source.name}: {self._program.threads} work items in its text, {expected} in its options"
            )

    def __call__(self, x: int, y: int, z: int, stream: int, function: int, *rest: Any) -> None:
        arguments = rest[4:]  # after the packed metadata, the launch's own, and two hooks
        active = triton_driver.active
        if not isinstance(active, SimulatedDriver):
            raise LaunchFault(f"{self._program.name}: launched outside of `simulated`")
        placed = Placed(active.written)
        given = [
            _argument(placed, kind, value)
            for kind, value in zip(self._kinds, arguments, strict=True)
            if kind != "constexpr"
        ]
        fields = sum(not field.hidden for field in self._program.arguments)
        given += [Argument("ptr", 0)] * (
            fields - len(given)
        )  # Triton's own scratch memory, of which none was asked for
        active.simulator.run(self._program, Grid(x, y, z), given, placed.memory)


def _argument(placed: Placed, kind: Any, value: Any) -> Argument:
    """An argument as the kernel gets it."""
    if not isinstance(kind, str):
        raise LaunchFault(f"an argument of type {kind}: expected a number or a tensor")
    if not kind.startswith("*"):
        return Argument(kind, float(value) if kind.startswith("fp") else int(value))
    return Argument("ptr", 0 if value is None else placed.address(value))
