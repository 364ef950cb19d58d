"""Which GPU a worker of pytest-xdist takes, and how many workers there are. Imports no torch: it is asked before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
"""The lists of devices that a process sees, in the order in which they are looked for; ROCm reads both."""
BYTES_A_WORKER = 4 << 30
"""Memory for one worker: a context of 0.5 GB, the longest rows and their oracle twice."""


def mine(environ: Mapping[str, str]) -> dict[str, str]:
    """The variable that leaves a worker one device of the caller's list; nothing outside a worker or without a list."""
    worker = environ.get("PYTEST_XDIST_WORKER", "")
    for name in VARIABLES:
        devices = [device.strip() for device in environ.get(name, "").split(",") if device.strip()]
        if worker.startswith("gw") and devices:
            return {name: devices[int(worker.removeprefix("gw")) % len(devices)]}
    return {}


def explicit(environ: Mapping[str, str], count: int, variable: str) -> dict[str, str]:
    """The list of all devices, for workers to choose from, where the caller gave none."""
    if count == 0 or any(environ.get(name) for name in VARIABLES):
        return {}
    return {variable: ",".join(map(str, range(count)))}


def workers(memory: Sequence[int], cpus: int) -> int:
    """One for each GPU, and more where its bytes of memory and the cores allow."""
    fitting = sum(max(1, size // BYTES_A_WORKER) for size in memory)
    return max(len(memory), min(fitting, cpus), 1)
