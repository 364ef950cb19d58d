"""Global memory: loads, stores and atomic updates at addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from amdsim.errors import Uninitialised
from amdsim.instructions import atomics
from amdsim.instructions.addresses import Access, accesses
from amdsim.instructions.forms import Binder
from amdsim.instructions.transfer import check_registers, incoming, outgoing, pieces
from amdsim.machine import Machine
from amdsim.operands import Operand
from amdsim.program import Instruction
from amdsim.values import Thunk, read, source

CACHE = frozenset({"glc", "slc", "dlc", "sc0", "sc1", "nt"})
CACHE_WORDS = frozenset({"th", "scope"})
Address = Callable[[], "tuple[Any, Any]"]
"""(addresses of the lanes that access memory, their flat indices)."""


def transfer(instruction: Instruction, machine: Machine, access: Access, data: Operand, where: Address) -> Thunk:
    """A load into `data`, or a store of it."""
    check_registers(instruction, data, access)
    statement = instruction.statement

    def load() -> None:
        machine.same_lanes(statement)
        addresses, lanes = where()
        if not len(addresses):
            return
        addresses = machine.first_half(statement, "an address", addresses)
        stamps = machine.local.stamps[lanes[: len(addresses)]]
        for piece, (start, size) in enumerate(pieces(access.size)):
            values, unknown = machine.memory.load(statement, addresses + start, size, machine.local.spans, stamps)
            incoming(machine, data, access, piece, machine.doubled(values, unknown), lanes)

    def store() -> None:
        machine.same_lanes(statement)
        addresses, lanes = where()
        if not len(addresses):
            return
        addresses = machine.first_half(statement, "an address", addresses)
        stamps = machine.local.stamps[lanes[: len(addresses)]]
        for (start, size), words in zip(pieces(access.size), outgoing(machine, data, access, lanes), strict=True):
            values = machine.first_half(statement, "what is stored", words)
            machine.memory.store(statement, addresses + start, values, size, machine.local.spans, stamps)

    return load if access.load else store


def atomic_transfer(
    instruction: Instruction,
    machine: Machine,
    name: str,
    size: int,
    data: Operand,
    target: Operand | None,
    where: Address,
) -> Thunk:
    statement, words, compares = instruction.statement, size // 4, name == "cmpswap"
    access = Access(load=True, size=size)
    wide = Access(load=True, size=size * (1 + compares))
    check_registers(instruction, data, wide)
    if target is not None:
        check_registers(instruction, target, access)

    def joined(rows: list[Any]) -> Any:
        if words == 1:
            return rows[0]
        return rows[0].astype(np.uint64) | (rows[1].astype(np.uint64) << np.uint64(32))

    def run() -> None:
        machine.same_lanes(statement)
        addresses, lanes = where()
        if not len(addresses):
            return
        addresses = machine.first_half(statement, "an address", addresses)
        mine = lanes[: len(addresses)]
        rows = [machine.first_half(statement, "an operand", r) for r in outgoing(machine, data, wide, lanes)]
        values = joined(rows[:words])
        expected = joined(rows[words:]) if compares else None
        order = machine.order(mine)
        before = np.empty_like(values)
        stamps = machine.local.stamps[mine]
        parts = machine.memory.cells(statement, addresses, size, machine.local.spans, stamps)
        for buffer, offsets, which in parts:
            if name != "swap" and buffer.unknown(offsets, size) is not None:
                raise Uninitialised(f"{statement.place}: it updates bytes of {buffer.name} that nobody wrote")
            chosen = order if isinstance(which, slice) else order[np.isin(order, which)]
            places = offsets // size if isinstance(which, slice) else _spread(offsets // size, which, len(values))
            view = buffer.view(size)
            wanted = None if expected is None else expected[chosen]
            before[chosen] = atomics.update(name, view, places[chosen], values[chosen], wanted)
            buffer.written(offsets, size)
        if target is not None:
            for piece in range(words):
                part = (before >> np.uint64(32 * piece)).astype(np.uint32) if words > 1 else before
                incoming(machine, target, access, piece, machine.doubled(part, None), lanes)

    return run


def _spread(values: Any, which: Any, size: int) -> Any:
    spread = np.zeros(size, values.dtype)
    spread[which] = values
    return spread


def returns(instruction: Instruction, machine: Machine) -> bool:
    """Whether an atomic update gives what was there before."""
    match machine.architecture.generation:
        case 9:
            return "sc0" in instruction.flags
        case 11:
            return "glc" in instruction.flags
    return "RETURN" in instruction.modifiers.get("th", "")


def _global_address(instruction: Instruction, machine: Machine, vector: Operand, scalar: Operand) -> Address:
    offset = instruction.number("offset")
    if scalar.file == "null":
        if not vector.vector or vector.count != 2:
            raise instruction.unknown()
        lower, upper = machine.row(vector), machine.row(vector, 1)

        def wide() -> tuple[Any, Any]:
            lanes = machine.indices
            low, high = lower.reshape(-1)[lanes].astype(np.int64), upper.reshape(-1)[lanes].astype(np.int64)
            return (low | (high << 32)) + offset, lanes

        return wide
    base, row = source(instruction, scalar, "i64", machine), machine.row(vector)

    def narrow() -> tuple[Any, Any]:
        lanes = machine.indices
        return (row.astype(np.int64) + (read(base) + offset)).reshape(-1)[lanes], lanes

    return narrow


def _global(access: Access) -> Binder:
    def bind(instruction: Instruction, machine: Machine) -> Thunk:
        instruction.only({"offset"} | CACHE_WORDS, CACHE)
        first, second, scalar = instruction.operands
        data, vector = (first, second) if access.load else (second, first)
        where = _global_address(instruction, machine, vector, scalar)
        return transfer(instruction, machine, access, data, where)

    return bind


def _global_atomic(name: str, size: int) -> Binder:
    def bind(instruction: Instruction, machine: Machine) -> Thunk:
        instruction.only({"offset"} | CACHE_WORDS, CACHE)
        operands = list(instruction.operands)
        gives = returns(instruction, machine)
        if len(operands) != 3 + gives:
            raise instruction.unknown()
        target = operands.pop(0) if gives else None
        vector, data, scalar = operands
        where = _global_address(instruction, machine, vector, scalar)
        return atomic_transfer(instruction, machine, name, size, data, target, where)

    return bind


def atomic_names() -> dict[str, tuple[str, int]]:
    """The words after "atomic_" in either style: (what, bytes)."""
    names: dict[str, tuple[str, int]] = {}
    signs = {"umax": "max_u", "umin": "min_u", "smax": "max_i", "smin": "min_i"}
    for size, old in ((4, ""), (8, "_x2")):
        bits = 8 * size
        for name in ("add", "sub", "umax", "umin", "smax", "smin", "and", "or", "xor", "swap", "cmpswap", "inc", "dec"):
            names[name + old] = (name, size)
            if name in signs:
                names[f"{signs[name]}{bits}"] = (name, size)
            else:
                names[f"{name}_{'u' if name in ('add', 'sub', 'inc', 'dec') else 'b'}{bits}"] = (name, size)
    return names


TABLE: dict[str, Binder] = {name: _global(access) for name, access in accesses("global").items()}
for _words, (_name, _size) in atomic_names().items():
    TABLE[f"global_atomic_{_words}"] = _global_atomic(_name, _size)
