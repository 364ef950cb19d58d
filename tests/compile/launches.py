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

from qrita import device as devices
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
        """The kernel, its constants and its threads: an id within an architecture, and mostly the same on others."""
        constants = {name: value for name, value in self.names.items() if name != "EARLY"}
        words = [self.kernel.rpartition(":")[2].removesuffix("_kernel")]
        if "FORMAT" in constants:
            words += [constants.pop("FORMAT"), "aligned" if constants.pop("ALIGNED") else "general"]
        words += [f"{name}{value}" for name, value in constants.items()]
        return "-".join([*words, f"{self.threads}threads"])

    @property
    def warps(self) -> int:
        """Warps, or waves, of a program."""
        return int(self.options["num_warps"])

    @property
    def threads(self) -> int:
        """Threads of a program."""
        return self.warps * self.architecture.wave


SCATTERED = (":probe_kernel", ":settle_kernel", ":list_kernel")
"""The kernels that load tokens one by one, wherever they are: of 16-bit logits as many at a time as of fp32."""

AS_OTHERS = (":retally_kernel", ":kept_kernel")
"""The kernels that load and convert tiles as others do, which are compiled for bf16: `group_maxima` and `mask`."""


def compiled(architecture: Architecture) -> list[Variant]:
    """What the tests compile for an architecture: every kernel, form and plan, few of them twice."""
    return [*reachable(architecture), *unreached(architecture)]


def reachable(architecture: Architecture) -> list[Variant]:
    """The variants that calls on such a GPU can come to: what `qrita.warmup` compiles, but for near doubles.

    With every plan that the plan table can reach, and in fp32, all of them, aligned and general. Those of bf16 and fp16
    differ in how a logit is loaded, copied and made a key, and in nothing that comes after: of bf16 each kernel that
    loads neighbours together in a way of its own is here once, aligned, under the plan with the most tokens in
    registers; of fp16, which differs from bf16 in one conversion, the kernel that loads, converts and writes.
    """
    variants = launched(architecture, chosen_plans(architecture), DTYPES)
    aligned = [variant for variant in variants if variant.names["ALIGNED"]]
    together = [variant for variant in aligned if not variant.kernel.endswith((*SCATTERED, *AS_OTHERS))]
    bf16 = {variant.kernel: variant for variant in together if variant.names["FORMAT"] == "bf16"}  # the last plan's
    fp16 = {variant.kernel: variant for variant in together if variant.names["FORMAT"] == "fp16"}
    converting = next(kernel for kernel in fp16 if kernel.endswith(":group_maxima_kernel"))
    return [*(v for v in variants if v.names["FORMAT"] == "fp32"), *bf16.values(), fp16[converting]]


def unreached(architecture: Architecture) -> list[Variant]:
    """Of kernels that no chosen plan leads to, in fp32: sigma truncation, which forced plans do, and the weight alone.

    The weight alone is the table whose checksum says of a device whether it fuses.
    """
    by_sigma = launched(architecture, [(replace(chosen_plans(architecture)[0][0], truncation="sigma"), None)])
    with captured(architecture) as table:
        weight.table_kernel[(1,)](torch.empty(1024, dtype=torch.int32), TILE=1024, enable_fp_fusion=False)
    return [v for v in by_sigma if "sigma" in v.kernel and v.names["ALIGNED"]] + table


def chosen_plans(architecture: Architecture) -> list[tuple[Plan, int | None]]:
    """What the plan table chooses on such a GPU, each with a k for which it does."""
    return plans.reachable(faked(architecture))


def faked(architecture: Architecture) -> Device:
    """A GPU that is not there."""
    return Device("faked", architecture.name, architecture.wave, multiprocessors=8)


def launched(
    architecture: Architecture, chosen: list[tuple[Plan, int | None]], dtypes: Iterable[torch.dtype] = (torch.float32,)
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
    try:
        with (
            mock.patch.object(triton.compiler, "compile", compile_nothing),
            mock.patch.object(driver, "_active", _Driver(target)),
            mock.patch.object(devices, "of", return_value=faked(architecture)),
        ):
            yield variants
    finally:  # what stood in for kernels is forgotten
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
