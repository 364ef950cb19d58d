"""How a kernel that is launched (an entry, as against a function that kernels call) is declared."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import triton
import triton.language as tl


def entry(kernel: Callable[..., Any]) -> Any:
    """triton.jit without specialisation on values or alignment: one compiled variant for each set of constexprs.

    Triton would otherwise compile anew for an argument that is 1, or a multiple of 16, or a pointer that is not
    aligned: a new batch size or vocabulary would stall the request that brings it. What alignment buys, kernels get
    from their ALIGNED constexpr.
    """
    parameters = inspect.signature(kernel).parameters.values()
    runtime = [p.name for p in parameters if "constexpr" not in str(p.annotation)]
    return triton.jit(kernel, do_not_specialize=runtime)


MANY_ROWS = tl.constexpr(64)
"""Rows of a batch beyond which the next launch does not come early: its programs would crowd where the first of these
end. With 256 rows, k = 50, that made 96 us of 88; with one it makes 12 of 13.4."""


@triton.jit
def in_turn(EARLY: tl.constexpr, programs_a_row):
    """First thing in an entry: wait for the launch before it, where launches may come early (`Device.early`).

    Until `wait` returns nothing is read or written: then all that was launched before is done, and what it wrote can be
    seen. `launch_dependents` lets the next launch come, to wait in its turn. That saves a microsecond or so.

        one launch   ...reads, writes.|
        the next       | starts, waits|reads, writes...
    """
    if EARLY:
        tl.inline_asm_elementwise("griddepcontrol.wait; // $0", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
        if tl.num_programs(0) <= MANY_ROWS * programs_a_row:
            tl.inline_asm_elementwise(
                "griddepcontrol.launch_dependents; // $0", "=r", [], dtype=tl.int32, is_pure=False, pack=1
            )
