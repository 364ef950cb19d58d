"""Kernels that no compiler survives, each in its own way."""

from __future__ import annotations

import os
from typing import Any

import triton.language as tl

from qrita.kernels.entry import entry


@entry
def wrong_kernel(out, TILE: tl.constexpr):
    """It loads from a number."""
    tl.store(out + tl.arange(0, TILE), tl.load(TILE))


def __getattr__(name: str) -> Any:
    """The kernel `deadly_kernel`: who looks at it dies, as of an assertion inside LLVM."""
    if name == "deadly_kernel":
        os._exit(134)
    raise AttributeError(name)
