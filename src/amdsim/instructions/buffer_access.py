"""Global memory by buffer: an offset from a base, checked by the hardware against a size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from amdsim.instructions.addresses import Access, accesses
from amdsim.instructions.forms import Binder
from amdsim.instructions.global_access import (
    CACHE,
    CACHE_WORDS,
    Address,
    atomic_names,
    atomic_transfer,
    returns,
    transfer,
)
from amdsim.instructions.transfer import incoming, pieces
from amdsim.machine import Machine
from amdsim.operands import Operand
from amdsim.program import Instruction
from amdsim.values import Thunk, read, source


def _buffer_address(
    instruction: Instruction, machine: Machine, vector: Operand, resource: Operand, scalar: Operand, size: int
) -> tuple[Address, Callable[[], Any]]:
    """The address of lanes within the buffer's size, and the flat indices of the others that are on."""
    if resource.file != "s" or resource.count != 4 or ("offen" in instruction.flags) != vector.vector:
        raise instruction.unknown()
    offset = instruction.number("offset")
    base_of, upper_of, size_of = (machine.scalar(resource.index + i)[:, None] for i in range(3))
    more = source(instruction, scalar, "u32", machine)
    row = machine.row(vector) if vector.vector else np.zeros((1, 1), np.uint32)
    counts_scalar = machine.architecture.generation != 12

    def offsets() -> tuple[Any, Any, Any]:
        """(address, whether it is within the size, flat indices), of the lanes that are on."""
        if ((upper_of >> np.uint32(16)) & np.uint32(0x3FFF))[machine.active].any():
            raise instruction.unknown("a buffer with a stride")
        base = base_of.astype(np.int64) | ((upper_of.astype(np.int64) & 0xFFFF) << 32)
        extra = read(more).astype(np.int64)
        inner = row.astype(np.int64) + offset
        reach = inner + size + (extra if counts_scalar else 0)
        inside = np.broadcast_to(reach <= size_of.astype(np.int64), machine.lanes.shape)
        addresses = np.broadcast_to(base + extra + inner, machine.lanes.shape)
        lanes = machine.indices
        return addresses.reshape(-1)[lanes], inside.reshape(-1)[lanes], lanes

    def where() -> tuple[Any, Any]:
        addresses, inside, lanes = offsets()
        return addresses[inside], lanes[inside]

    def outside() -> Any:
        _, inside, lanes = offsets()
        return lanes[~inside]

    return where, outside


def _buffer(access: Access) -> Binder:
    """Loads beyond the size that the descriptor says give 0, stores beyond it do nothing."""

    def bind(instruction: Instruction, machine: Machine) -> Thunk:
        instruction.only({"offset"} | CACHE_WORDS, CACHE | {"offen"})
        data, vector, resource, scalar = instruction.operands
        where, outside = _buffer_address(instruction, machine, vector, resource, scalar, access.size)
        move = transfer(instruction, machine, access, data, where)
        if not access.load:
            return move

        def load() -> None:
            beyond = outside()
            move()
            if len(beyond):
                for piece, _ in enumerate(pieces(access.size)):
                    incoming(machine, data, access, piece, np.zeros(len(beyond), np.uint32), beyond)

        return load

    return bind


def _buffer_atomic(name: str, size: int) -> Binder:
    def bind(instruction: Instruction, machine: Machine) -> Thunk:
        instruction.only({"offset"} | CACHE_WORDS, CACHE | {"offen"})
        data, vector, resource, scalar = instruction.operands
        where, _ = _buffer_address(instruction, machine, vector, resource, scalar, size)
        target = None
        if returns(instruction, machine):
            target = Operand(data.text, data.file, data.index, size // 4)
        return atomic_transfer(instruction, machine, name, size, data, target, where)

    return bind


TABLE: dict[str, Binder] = {name: _buffer(access) for name, access in accesses("buffer").items()}
for _words, (_name, _size) in atomic_names().items():
    TABLE[f"buffer_atomic_{_words}"] = _buffer_atomic(_name, _size)
