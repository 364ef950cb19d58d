"""How a kernel that is launched (an entry, as against a function that kernels call) is declared."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import triton


def entry(kernel: Callable[..., Any]) -> Any:
    """triton.jit without specialisation on values or alignment: one compiled variant for each set of constexprs.

    Triton would otherwise compile anew for an argument that is 1, or a multiple of 16, or a pointer that is not
    aligned: a new batch size or vocabulary would stall the request that brings it. What alignment buys, kernels get
    from their ALIGNED constexpr.
    """
    parameters = inspect.signature(kernel).parameters.values()
    runtime = [p.name for p in parameters if "constexpr" not in str(p.annotation)]
    return triton.jit(kernel, do_not_specialize=runtime)
