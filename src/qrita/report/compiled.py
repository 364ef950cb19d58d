"""Which kernels a call launches, and what they take of the machine."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from qrita.report.record import Kernel

KERNELS = "qrita.kernels"


def launched(call: Callable[[], object]) -> tuple[Kernel, ...]:
    """The kernels that a call launches, each once; none where Triton does not run, or does not say."""
    triton = sys.modules.get("triton")
    hook: Any = getattr(getattr(getattr(triton, "knobs", None), "runtime", None), "launch_enter_hook", None)
    if not hasattr(hook, "add"):
        return ()
    functions: list[Any] = []

    def enter(launch: Any) -> None:
        functions.append(launch.get()["function"])

    hook.add(enter)
    try:
        with contextlib.suppress(Exception):  # a failing call has launched what it has launched
            call()
    finally:
        hook.remove(enter)
    found = {compiled.function: compiled for compiled in _compiled()}
    return tuple(_kernel(found[function]) for function in dict.fromkeys(functions) if function in found)


def _compiled() -> Iterator[Any]:
    """Every kernel of ours that has been compiled in this process."""
    for name, module in list(sys.modules.items()):
        if name.startswith(KERNELS):
            for jitted in vars(module).values():
                for cache, *_ in getattr(jitted, "device_caches", {}).values():
                    yield from (kernel for kernel in cache.values() if getattr(kernel, "function", None) is not None)


def _kernel(compiled: Any) -> Kernel:
    return Kernel(compiled.name, compiled.n_regs, compiled.n_spills, compiled.metadata.shared)
