"""Scratch: memory of a lane's own, where registers are spilled."""

from __future__ import annotations

from typing import Any

import numpy as np

from amdsim.errors import OutOfBounds
from amdsim.instructions.addresses import Access, accesses
from amdsim.instructions.forms import Binder
from amdsim.instructions.global_access import CACHE, CACHE_WORDS
from amdsim.instructions.transfer import check_registers, incoming, outgoing, pieces
from amdsim.machine import Machine
from amdsim.program import Instruction
from amdsim.values import Thunk, read, source


def _binder(access: Access) -> Binder:
    def bind(instruction: Instruction, machine: Machine) -> Thunk:
        instruction.only({"offset"} | CACHE_WORDS, CACHE)
        first, second, scalar = instruction.operands
        data, vector = (first, second) if access.load else (second, first)
        check_registers(instruction, data, access)
        offset, statement = instruction.number("offset"), instruction.statement
        base = source(instruction, scalar, "u32", machine)
        row = machine.row(vector) if vector.vector else np.zeros((1, 1), np.uint32)
        memory = machine.private.reshape(len(machine.private), -1)

        def places() -> tuple[Any, Any]:
            machine.same_lanes(statement)
            lanes = machine.indices
            every = row.astype(np.int64) + read(base).astype(np.int64) + offset
            found = np.broadcast_to(every, machine.lanes.shape).reshape(-1)[lanes]
            machine.first_half(statement, "a scratch address", found)
            if len(found) and (found.min() < 0 or found.max() + access.size > len(memory)):
                raise OutOfBounds(f"{statement.place}: scratch bytes {found.min()} to {found.max()} of {len(memory)}")
            return found, lanes

        def load() -> None:
            found, lanes = places()
            for piece, (start, size) in enumerate(pieces(access.size)):
                word: Any = np.zeros(len(found), np.uint32)
                for byte in range(size):
                    word |= memory[found + start + byte, lanes].astype(np.uint32) << np.uint32(8 * byte)
                incoming(machine, data, access, piece, word, lanes)

        def store() -> None:
            found, lanes = places()
            for (start, size), word in zip(pieces(access.size), outgoing(machine, data, access, lanes), strict=True):
                for byte in range(size):
                    memory[found + start + byte, lanes] = (word >> np.uint32(8 * byte)).astype(np.uint8)

        return load if access.load else store

    return bind


TABLE: dict[str, Binder] = {name: _binder(access) for name, access in accesses("scratch").items()}
