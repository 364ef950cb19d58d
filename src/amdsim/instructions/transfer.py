"""Between registers and memory: the words of a register for each lane, and values of 1 to 16 bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from amdsim.arrays import Array
from amdsim.instructions.addresses import Access
from amdsim.machine import Machine
from amdsim.operands import Operand
from amdsim.program import Instruction


def pieces(size: int) -> list[tuple[int, int]]:
    """(offset, bytes) of the pieces that a value is moved in, none wider than a register."""
    return [(offset, min(4, size - offset)) for offset in range(0, size, 4)]


def check_registers(instruction: Instruction, operand: Operand, access: Access) -> None:
    """The operand has the registers of the access.

    Raises:
        UnknownInstruction: it has others.
    """
    if not operand.vector or operand.modified or operand.count != max(1, access.size // 4):
        raise instruction.unknown(f"operand {operand.text!r} for {access.size} bytes")
    if operand.half and (access.size > 2 or access.half):
        raise instruction.unknown(f"operand {operand.text!r}")


def outgoing(machine: Machine, operand: Operand, access: Access, where: Any = None) -> list[Array]:
    """The pieces of what is stored, of the lanes that are on or of `where`, flat indices."""
    where = machine.chosen if where is None else where
    rows = [machine.flat[machine.number(operand) + i][where] for i in range(len(pieces(access.size)))]
    if access.half == "high" or operand.half == "h":
        rows = [row >> np.uint32(16) for row in rows]
    if access.size < 4:
        rows = [row & np.uint32((1 << (8 * access.size)) - 1) for row in rows]
    return rows


def incoming(machine: Machine, operand: Operand, access: Access, piece: int, values: Array, where: Any = None) -> None:
    """Put a piece of what was loaded into its register, of the lanes that are on or of `where`, flat indices."""
    row = machine.flat[machine.number(operand) + piece]
    where = machine.chosen if where is None else where
    words = values.astype(np.uint32)
    if access.signed and access.size < 4:
        shift = np.int32(32 - 8 * access.size)
        words = ((words.view(np.int32) << shift) >> shift).view(np.uint32)
    half = access.half or {"l": "low", "h": "high"}.get(operand.half, "")
    if half == "low":
        words = (row[where] & np.uint32(0xFFFF0000)) | (words & np.uint32(0xFFFF))
    elif half == "high":
        words = (row[where] & np.uint32(0xFFFF)) | (words << np.uint32(16))
    row[where] = words
