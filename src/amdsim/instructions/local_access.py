"""LDS: loads, stores, atomic updates, and the permutations that go through its crossbar."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from amdsim.arrays import Array
from amdsim.instructions import atomics
from amdsim.instructions.addresses import Access, local_accesses
from amdsim.instructions.forms import Binder
from amdsim.instructions.transfer import check_registers, incoming, outgoing, pieces
from amdsim.machine import Machine
from amdsim.operands import Operand
from amdsim.program import Instruction, Statement
from amdsim.values import Thunk

STRIDE = 64


def _addresses(machine: Machine, operand: Operand, lanes: Any) -> Any:
    return machine.flat[machine.number(operand)][lanes].astype(np.int64)


def _checked(machine: Machine, statement: Statement, addresses: Any) -> Any:
    machine.first_half(statement, "an LDS address", addresses)
    return addresses


def _single(access: Access) -> Binder:
    def bind(instruction: Instruction, machine: Machine) -> Thunk:
        instruction.only({"offset"})
        return _transfer(instruction, machine, access, [instruction.number("offset")])

    return bind


def _double(access: Access, stride: int) -> Binder:
    """Two values at two offsets, which count in the size of a value."""

    def bind(instruction: Instruction, machine: Machine) -> Thunk:
        instruction.only({"offset0", "offset1"})
        offsets = [instruction.number(f"offset{i}") * access.size * stride for i in (0, 1)]
        return _transfer(instruction, machine, access, offsets)

    return bind


def _transfer(instruction: Instruction, machine: Machine, access: Access, offsets: list[int]) -> Thunk:
    statement = instruction.statement
    if access.load:
        target, address = instruction.operands
        parts = _parts(instruction, target, access, len(offsets))
    else:
        address, *given = instruction.operands
        parts = given
        if len(given) != len(offsets):
            raise instruction.unknown()
        for part in parts:
            check_registers(instruction, part, access)
    local, unit = machine.local, min(4, access.size)
    starts = np.array([offset + start for offset in offsets for start, _ in pieces(access.size)])

    def load() -> None:
        machine.same_lanes(statement)
        lanes = machine.chosen
        base = _checked(machine, statement, _addresses(machine, address, lanes))
        values = iter(local.load(statement, lanes, base, starts, unit))
        for part in parts:
            for piece, _ in enumerate(pieces(access.size)):
                incoming(machine, part, access, piece, next(values))

    def store() -> None:
        machine.same_lanes(statement)
        lanes = machine.chosen
        base = _checked(machine, statement, _addresses(machine, address, lanes))
        words = np.stack([word for part in parts for word in outgoing(machine, part, access)])
        local.store(statement, lanes, base, starts, words, unit)

    return load if access.load else store


def _parts(instruction: Instruction, target: Operand, access: Access, count: int) -> list[Operand]:
    """The registers of each of the values that are loaded."""
    if count == 1:
        check_registers(instruction, target, access)
        return [target]
    words = access.size // 4
    if target.count != count * words or not target.vector:
        raise instruction.unknown(f"operand {target.text!r}")
    return [Operand(target.text, target.file, target.index + i * words, words) for i in range(count)]


def _atomic(name: str, size: int, *, returns: bool) -> Binder:
    def bind(instruction: Instruction, machine: Machine) -> Thunk:
        instruction.only({"offset"})
        operands = list(instruction.operands)
        target = operands.pop(0) if returns else None
        address, data = operands
        offset, statement, words = instruction.number("offset"), instruction.statement, size // 4
        access = Access(load=True, size=size)
        for part in (data, target):
            if part is not None:
                check_registers(instruction, part, access)

        def run() -> None:
            machine.same_lanes(statement)
            lanes = machine.chosen
            addresses = _checked(machine, statement, _addresses(machine, address, lanes))
            cells, places = machine.local.cells(statement, lanes, addresses, offset, size)
            rows = outgoing(machine, data, access)
            values = rows[0] if words == 1 else rows[0].astype(np.uint64) | (rows[1].astype(np.uint64) << np.uint64(32))
            order = machine.order(machine.indices)
            old = np.empty_like(values)
            old[order] = atomics.update(name, cells, places[order], values[order])
            if target is not None:
                for piece in range(words):
                    part = (old >> np.uint64(32 * piece)).astype(np.uint32) if words > 1 else old
                    incoming(machine, target, access, piece, part)

        return run

    return bind


def _named_lanes(machine: Machine, addresses: Array) -> Array:
    """The lane of the same wave that each address names, four bytes to a lane."""
    lanes: Array = ((addresses >> np.uint32(2)) % np.uint32(machine.width)).astype(np.int64)
    return lanes


def _gathered(instruction: Instruction, machine: Machine) -> Thunk:
    """ds_bpermute_b32: each lane reads the lane that its address names; 0 from a lane that is off."""
    instruction.only({"offset"})
    target, address, data = (machine.row(o) for o in instruction.operands)
    offset, statement = np.uint32(instruction.number("offset")), instruction.statement

    def run() -> None:
        machine.same_lanes(statement)
        lane = _named_lanes(machine, address + offset)
        values = np.take_along_axis(data, lane, axis=1)
        if not machine.full:
            values = np.where(np.take_along_axis(machine.lanes, lane, axis=1), values, np.uint32(0))
        np.copyto(target, values, where=machine.lanes)

    return run


def _scattered(instruction: Instruction, machine: Machine) -> Thunk:
    """ds_permute_b32: each lane writes the lane that its address names; the highest of several wins."""
    instruction.only({"offset"})
    target, address, data = (machine.row(o) for o in instruction.operands)
    offset, statement = np.uint32(instruction.number("offset")), instruction.statement

    def run() -> None:
        machine.same_lanes(statement)
        lane = _named_lanes(machine, address + offset)
        values = np.zeros_like(data)
        for place in range(machine.width):
            waves = np.flatnonzero(machine.lanes[:, place])
            values[waves, lane[waves, place]] = data[waves, place]
        np.copyto(target, values, where=machine.lanes)

    return run


def _swizzled(instruction: Instruction, machine: Machine) -> Thunk:
    """ds_swizzle_b32: lanes read within groups of four or thirty-two, as the offset says."""
    instruction.only({"offset"})
    target, data = (machine.row(o) for o in instruction.operands)
    lane = _swizzle(instruction, np.arange(machine.width))

    def run() -> None:
        machine.same_lanes(instruction.statement)
        values = data.take(lane, axis=1)
        if not machine.full:
            values = np.where(machine.lanes.take(lane, axis=1), values, np.uint32(0))
        np.copyto(target, values, where=machine.lanes)

    return run


_NAMED_SWIZZLE = re.compile(r"swizzle\((\w+),(.*)\)")
_SWIZZLES: dict[str, Callable[..., Any]] = {
    "SWAP": lambda lanes, size: lanes ^ size,
    "REVERSE": lambda lanes, size: lanes ^ (size - 1),
    "BROADCAST": lambda lanes, size, which: lanes // size * size + which,
    "QUAD_PERM": lambda lanes, *chosen: lanes // 4 * 4 + np.array(chosen)[lanes % 4],
}


def _swizzle(instruction: Instruction, lanes: Any) -> Any:
    text = instruction.modifiers.get("offset", "0")
    if match := _NAMED_SWIZZLE.fullmatch(text):
        if match[1] not in _SWIZZLES:
            raise instruction.unknown(f"swizzle {match[1]}")
        return _SWIZZLES[match[1]](lanes, *(int(word, 0) for word in match[2].split(",")))
    try:
        bits = int(text, 0)
    except ValueError:
        raise instruction.unknown(f"swizzle {text}") from None
    if bits & 0x8000:
        if bits & 0x7F00:
            raise instruction.unknown(f"swizzle {text}")
        return lanes // 4 * 4 + np.array([bits >> (2 * place) & 3 for place in range(4)])[lanes % 4]
    return lanes // 32 * 32 + ((((lanes % 32) & (bits & 31)) | (bits >> 5 & 31)) ^ (bits >> 10 & 31))


def _table() -> dict[str, Binder]:
    table: dict[str, Binder] = {
        "ds_bpermute_b32": _gathered,
        "ds_permute_b32": _scattered,
        "ds_swizzle_b32": _swizzled,
    }
    for verbs in (("read", "write"), ("load", "store")):
        table |= {name: _single(access) for name, access in local_accesses(*verbs).items()}
    for size in (4, 8):
        bits = 8 * size
        for loads, old, new in ((True, "read", "load"), (False, "write", "store")):
            access = Access(loads, size)
            table[f"ds_{old}2_b{bits}"] = table[f"ds_{new}_2addr_b{bits}"] = _double(access, 1)
            table[f"ds_{old}2st64_b{bits}"] = table[f"ds_{new}_2addr_stride64_b{bits}"] = _double(access, STRIDE)
        names = {
            "add": f"add_u{bits}", "sub": f"sub_u{bits}", "umax": f"max_u{bits}", "umin": f"min_u{bits}",
            "smax": f"max_i{bits}", "smin": f"min_i{bits}", "and": f"and_b{bits}", "or": f"or_b{bits}",
            "xor": f"xor_b{bits}", "inc": f"inc_u{bits}", "dec": f"dec_u{bits}",
        }  # fmt: skip
        for name, words in names.items():
            verb, kind = words.split("_")
            table[f"ds_{words}"] = _atomic(name, size, returns=False)
            table[f"ds_{verb}_rtn_{kind}"] = _atomic(name, size, returns=True)
        for words in (f"wrxchg_rtn_b{bits}", f"storexchg_rtn_b{bits}"):
            table[f"ds_{words}"] = _atomic("swap", size, returns=True)
    return table


TABLE = _table()
