"""What launches would have compiled: the launch path on faked GPUs, up to the compiler, whose arguments are kept.

So a variant here has the signature, the constants, the argument specialisations and the options of the launch that
leads to it, and a variant that no launch leads to is not here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import torch

from qrita import plan as plans
from qrita import warming
from qrita.device import Device
from qrita.kernels import weight
from qrita.plan import Plan

DTYPES = (torch.float32, torch.bfloat16, torch.float16)


@dataclass(frozen=True)
class Architecture:
    """What a kernel is compiled for. `shared`: bytes of shared memory that a program can have."""

    name: str
    wave: int
    shared: int

    @property
    def backend(self) -> str:
        """Triton's name of the vendor."""
        return "hip" if self.name.startswith("gfx") else "cuda"

    @property
    def triton_name(self) -> int | str:
        """90 for sm_90; AMD's names are Triton's."""
        return self.name if self.backend == "hip" else int(self.name.removeprefix("sm_"))


@dataclass(frozen=True)
class Variant:
    """One compilation that a launch asks for: what Triton's compiler was called with, as plain values.

    Attributes:
        architecture: what it is compiled for.
        kernel: where the kernel is, "package.module:name".
        names: the kernel's constant parameters and what they are.
        signature, constants, attributes: of Triton's ASTSource; the attributes say what is specialised on.
        options: the backend's, all of them.
    """

    architecture: Architecture
    kernel: str
    names: dict[str, Any]
    signature: dict[str, str]
    constants: dict[Any, Any]
    attributes: dict[Any, Any]
    options: dict[str, Any]

    @property
    def name(self) -> str:
        """The kernel, its constants and its warps: an id within an architecture."""
        constants = dict(self.names)
        words = [self.kernel.rpartition(":")[2].removesuffix("_kernel")]
        if "FORMAT" in constants:
            words += [constants.pop("FORMAT"), "aligned" if constants.pop("ALIGNED") else "general"]
        words += [f"{name}{value}" for name, value in constants.items()]
        return "-".join([*words, f"{self.warps}warps"])

    @property
    def warps(self) -> int:
        """Warps, or waves, of a program."""
        return int(self.options["num_warps"])

    @property
    def threads(self) -> int:
        """Threads of a program."""
        return self.warps * self.architecture.wave


def reachable(architecture: Architecture) -> list[Variant]:
    """Every variant that a call on such a GPU can come to, but for those that say the same as another.

    They are what `qrita.warmup` compiles, for the plans that the plan table can reach. Left out are the general (not
    aligned) variants of bf16 and fp16: they differ from those of fp32, which are here, in the width of a load, and from
    their aligned ones, which are here, in how an address is computed.

    Added are two that no chosen plan leads to: sigma truncation in fp32, which a forced plan does, and the table of the
    weight, which says of a device whether it fuses.
    """
    chosen = plans.reachable(Device("faked", architecture.name, architecture.wave, multiprocessors=8))
    variants = [v for v in launched(architecture, chosen, DTYPES) if v.names["ALIGNED"] or v.names["FORMAT"] == "fp32"]
    by_sigma = launched(architecture, [replace(chosen[0], truncation="sigma")])
    variants += [v for v in by_sigma if "sigma" in v.kernel and v.names["ALIGNED"]]
    with captured(architecture) as table:
        weight.table_kernel[(1,)](torch.empty(1024, dtype=torch.int32), TILE=1024, enable_fp_fusion=False)
    return variants + table


def launched(
    architecture: Architecture, chosen: list[Plan], dtypes: Iterable[torch.dtype] = (torch.float32,)
) -> list[Variant]:
    """The variants that plans lead to."""
    with captured(architecture) as variants:
        for dtype in dtypes:
            warming.warm(torch.device("cpu"), dtype, chosen)
    return variants


@contextlib.contextmanager
def captured(architecture: Architecture) -> Iterator[list[Variant]]:
    """Launch on a GPU that is not there: what Triton's compiler is asked for is listed, nothing is compiled or run."""
    import triton.compiler
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    variants: list[Variant] = []
    sources: list[Any] = []

    def compile_nothing(source: Any, target: Any, options: dict[str, Any]) -> _Compiled:
        sources.append(source)
        variants.append(_variant(architecture, source, options))
        return _Compiled()

    target = GPUTarget(architecture.backend, architecture.triton_name, architecture.wave)
    with (
        mock.patch.object(triton.compiler, "compile", compile_nothing),
        mock.patch.object(driver, "_active", _Driver(target)),
    ):
        yield variants
    for source in sources:
        source.fn.device_caches.clear()


def _variant(architecture: Architecture, source: Any, options: dict[str, Any]) -> Variant:
    kernel = source.fn
    return Variant(
        architecture=architecture,
        kernel=f"{kernel.module}:{kernel.fn.__name__}",
        names={kernel.arg_names[path[0]]: value for path, value in source.constants.items()},
        signature=dict(source.signature),
        constants=dict(source.constants),
        attributes=dict(source.attrs),
        options=dict(options),
    )


class _Compiled:
    """What stands in for a compiled kernel: it launches as nothing."""

    function, packed_metadata = 0, ()

    def launch_metadata(self, *arguments: Any) -> None: ...

    def run(self, *arguments: Any) -> None: ...


class _Driver:
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
