"""Which engine answers a call. This is the only place that chooses."""

from __future__ import annotations

import os
import sys
from typing import Protocol

import torch
from torch import Tensor

from qrita.records import Candidates, Cuts, Problem

NAMES = ("torch", "triton", "interpreter")
"""Plain torch on CPU tensors; the Triton kernels on a GPU; the kernels on CPU tensors, in Triton's interpreter."""


class Engine(Protocol):
    """An implementation of the semantics. Engines are given checked problems with rows and vocab of at least 1."""

    @property
    def name(self) -> str:
        """Short and stable: what `qrita check` prints and the tests select by."""

    def cuts(self, problem: Problem) -> Cuts:
        """The cut of every row, on the logits' device."""

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        """Write the masked logits into `out`, [rows, vocab], which is the logits' own view or disjoint from them.

        `mask_value` is a number that the logits' dtype has: whoever calls rounds it (`qrita.rounding`).
        """

    def candidates(self, problem: Problem, max_candidates: int) -> Candidates:
        """The kept tokens in order, the first `max_candidates` of each row listed."""

    def describe(self, problem: Problem) -> str:
        """How the engine would answer a problem, in a few words: the plan and where it comes from."""


def choose(problem: Problem) -> Engine:
    """The engine for a problem when the caller named none: by the device that holds the logits."""
    return named("torch" if problem.logits.device.type == "cpu" else "triton")


def best() -> tuple[Engine, torch.device]:
    """The engine that `qrita check` exercises on this machine, and where its tensors live."""
    name = "triton" if torch.cuda.is_available() else "torch"
    return named(name), device_of(name)


def device_of(name: str) -> torch.device:
    """Where the tensors of an engine live."""
    return torch.device("cuda", torch.cuda.current_device()) if name == "triton" else torch.device("cpu")


def named(name: str) -> Engine:
    """The engine of a name.

    Raises:
        ValueError: there is none of that name.
        RuntimeError: it cannot run in this process; the message says what to do.
    """
    if name == "torch":
        from qrita.torch_engine import TorchEngine

        return TorchEngine()
    if name not in NAMES:
        raise ValueError(f"engine={name!r}: expected one of {', '.join(map(repr, NAMES))}")
    if name == "triton" and (lack := _lack_of_gpu()):
        raise RuntimeError(f"engine='triton': {lack}")
    if name == "interpreter" and "triton" not in sys.modules:
        os.environ["TRITON_INTERPRET"] = "1"  # Triton reads it when it is imported
    try:
        from qrita import device
        from qrita.pipeline import KernelEngine
    except ImportError as error:
        raise RuntimeError(
            f"engine={name!r} needs Triton, which torch's CUDA and ROCm builds bring: {error}. "
            "Beside a CPU build of torch: `pip install '.[cpu-triton]'` in a clone"
        ) from error
    if device.interpreting() != (name == "interpreter"):
        raise RuntimeError(
            f"engine={name!r}: TRITON_INTERPRET decides, once for a process, whether kernels are compiled or "
            f"interpreted; expected it {'set to 1' if name == 'interpreter' else 'unset'} before Triton is imported"
        )
    return KernelEngine(name)


def _lack_of_gpu() -> str:
    """What keeps torch from a GPU here, and what to do; "" where nothing does."""
    if torch.version.cuda is None and torch.version.hip is None:
        return f"torch {torch.__version__} is a CPU build; install a CUDA or ROCm build of torch"
    if not torch.cuda.is_available():
        return f"torch {torch.__version__} sees no GPU; expected one, with a driver that suits this build of torch"
    return ""


def warm(device: torch.device, dtype: torch.dtype) -> None:
    """Prepare the engine that logits on `device` get; see `qrita.warmup`."""
    if device.type == "cuda":
        if lack := _lack_of_gpu():
            raise RuntimeError(f"device={str(device)!r}: {lack}")
        named("triton")  # says what else is missing
        from qrita.warming import warm as warm_kernels

        warm_kernels(device, dtype)
