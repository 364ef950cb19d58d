"""Vector comparisons: a bit for each lane, into a mask register or into exec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from amdsim.instructions import encoding
from amdsim.instructions.forms import Binder, Step
from amdsim.instructions.selection import condition
from amdsim.machine import Machine
from amdsim.operands import operand
from amdsim.program import Instruction
from amdsim.values import bound, mask_sink

INTEGER: dict[str, Callable[..., Any]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
FLOAT: dict[str, Callable[..., Any]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "lg": lambda x, y: (x < y) | (x > y),
    "neq": lambda x, y: ~(x == y),
    "nlt": lambda x, y: ~(x < y),
    "nle": lambda x, y: ~(x <= y),
    "ngt": lambda x, y: ~(x > y),
    "nge": lambda x, y: ~(x >= y),
    "nlg": lambda x, y: ~((x < y) | (x > y)),
    "o": lambda x, y: ~(np.isnan(x) | np.isnan(y)),
    "u": lambda x, y: np.isnan(x) | np.isnan(y),
}
_INTEGERS = ("u16", "i16", "u32", "i32", "u64", "i64")
_FLOATS = ("f16", "f32", "f64")


def _binder(kinds: tuple[str, str], compare: Callable[..., Any], *, into_exec: bool) -> Binder:
    def bind(instruction: Instruction, machine: Machine) -> Step:
        encoding.check(instruction)
        if into_exec and machine.architecture.generation == 9:
            raise instruction.unknown("it writes more than exec there")
        *named, first, second = instruction.operands
        if len(named) > 1 or (into_exec and named):
            raise instruction.unknown()
        target = operand("exec" if machine.width == 64 else "exec_lo") if into_exec else None
        target = target or (named[0] if named else operand(condition(machine)))
        sources, lanes = encoding.inputs(instruction, [first, second], kinds, machine)
        sink = mask_sink(instruction, target, machine, lanes)
        return Step(bound(compare, sources), lambda value: sink(np.asarray(value)))

    return bind


def _class_f32(value: Any, classes: Any) -> Any:
    """Whether a float is of one of the classes whose bits are set."""
    bits = value.view(np.uint32)
    negative = np.signbit(value)
    magnitude = np.abs(value)
    nan, infinite, zero = np.isnan(value), np.isinf(value), value == 0
    small = (magnitude < np.float32(2.0**-126)) & ~zero
    normal = ~(nan | infinite | zero | small)
    quiet = (bits >> np.uint32(22)) & np.uint32(1) == 1
    members = (
        nan & ~quiet, nan & quiet, infinite & negative, normal & negative, small & negative, zero & negative,
        zero & ~negative, small & ~negative, normal & ~negative, infinite & ~negative,
    )  # fmt: skip
    result: Any = np.False_
    for bit, member in enumerate(members):
        result = result | (member & ((classes >> np.uint32(bit)) & np.uint32(1) == 1))
    return result


def _table() -> dict[str, Binder]:
    table: dict[str, Binder] = {}
    for prefix, into_exec in (("v_cmp", False), ("v_cmpx", True)):
        for names, comparisons in ((_INTEGERS, INTEGER), (_FLOATS, FLOAT)):
            for kind in names:
                for name, compare in comparisons.items():
                    table[f"{prefix}_{name}_{kind}"] = _binder((kind, kind), compare, into_exec=into_exec)
        table[f"{prefix}_class_f32"] = _binder(("f32", "u32"), _class_f32, into_exec=into_exec)
    return table


TABLE = _table()
