"""A faked GPU: Triton's launch path up to the compiler, on CPU tensors, with what would be compiled written down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import torch


class Compiled:
    """What stands in for a compiled kernel: it launches as nothing."""

    function, packed_metadata = 0, ()

    def launch_metadata(self, *arguments: Any) -> None: ...

    def run(self, *arguments: Any) -> None: ...


class Driver:
    """A Triton driver for a GPU that is not there."""

    utils = None

    def __init__(self, target: Any) -> None:
        self.target = target

    def get_current_target(self) -> Any:
        return self.target

    def get_current_device(self) -> Any:
        return self.target.arch

    def get_current_stream(self, device: Any) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")


@pytest.fixture(params=["cuda-90", "hip-gfx950", "hip-gfx1201"])
def compiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How many variants of each kernel would have been compiled so far for a faked GPU."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver
    from triton.runtime.jit import JITFunction

    vendor, arch = request.param.split("-")
    target = GPUTarget(vendor, int(arch) if vendor == "cuda" else arch, 64 if arch.startswith("gfx9") else 32)
    counted: Counter[str] = Counter()

    def compile_nothing(self: Any, key: str, signature: Any, device: Any, *rest: Any) -> Compiled:
        counted[self.fn.__name__] += 1
        self.device_caches[device][0][key] = kernel = Compiled()
        return kernel

    monkeypatch.setattr(JITFunction, "_do_compile", compile_nothing)
    monkeypatch.setattr(driver, "_active", Driver(target))
    yield counted
    for kernel in entries():
        kernel.device_caches.clear()


def entries() -> list[Any]:
    """Every kernel that the pipeline launches."""
    from qrita.kernels import bracket, emit, probe, select_bracket, select_groups, select_rows, settle, sigma, truncate

    modules = (bracket, emit, probe, select_bracket, select_groups, select_rows, settle, sigma, truncate)
    return [value for module in modules for name, value in vars(module).items() if name.endswith("_kernel")]
