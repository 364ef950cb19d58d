"""DPP: a source that comes from another lane of the same wave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from amdsim.arrays import Array
from amdsim.machine import Machine
from amdsim.program import Instruction
from amdsim.values import Source

ROW, BANK = 16, 4
CONTROLS = (
    "quad_perm", "row_shl", "row_shr", "row_ror", "row_share", "row_newbcast", "row_xmask", "row_bcast", "wave_shl",
    "wave_shr", "wave_rol", "wave_ror", "dpp8",
)  # fmt: skip
MODIFIERS = frozenset({*CONTROLS, "row_mask", "bank_mask", "bound_ctrl", "fi"})
FLAGS = frozenset({"row_mirror", "row_half_mirror"})
_OF_GENERATION_9 = ("row_bcast", "wave_shl", "wave_shr", "wave_rol", "wave_ror")
_LATER = ("row_share", "row_xmask", "dpp8")


@dataclass(frozen=True)
class Move:
    """Where each lane reads.

    Attributes:
        lane: the lane that is read; any where there is none.
        inside: whether there is one.
        enabled: whether row_mask and bank_mask let the lane be written.
        zero: whether a lane with none reads 0 and is written; it is left alone otherwise.
        inactive: whether lanes that are off may be read.
    """

    lane: Array
    inside: Array
    enabled: Array
    zero: bool
    inactive: bool


def move(instruction: Instruction, width: int, generation: int) -> Move:
    """The move that an instruction's modifiers describe.

    Raises:
        UnknownInstruction: the architecture has none such.
    """
    lanes = np.arange(width)
    lane, inside = _control(instruction, lanes, generation)
    rows = instruction.number("row_mask", 0xF)
    banks = instruction.number("bank_mask", 0xF)
    enabled = ((rows >> (lanes // ROW)) & (banks >> (lanes % ROW // BANK)) & 1).astype(np.bool_)
    return Move(
        lane=np.where(inside, lane, 0),
        inside=inside,
        enabled=enabled,
        # "bound_ctrl:0" is how older assemblers wrote the bit that newer ones write "bound_ctrl:1".
        zero="bound_ctrl" in instruction.modifiers,
        inactive=bool(instruction.number("fi")),
    )


def _control(instruction: Instruction, lanes: Array, generation: int) -> tuple[Array, Array]:
    """(the lane that is read, whether there is one)."""
    row, place = lanes // ROW * ROW, lanes % ROW
    every = np.ones(len(lanes), np.bool_)
    if "row_mirror" in instruction.flags:
        return row + ROW - 1 - place, every
    if "row_half_mirror" in instruction.flags:
        return lanes // 8 * 8 + 7 - lanes % 8, every
    name = next((c for c in CONTROLS if c in instruction.modifiers), "")
    if not name or name in (_LATER if generation == 9 else _OF_GENERATION_9):
        raise instruction.unknown("DPP without a control that the architecture has")
    if name in ("quad_perm", "dpp8"):
        chosen = np.array(instruction.bits(name, ()))
        return lanes // len(chosen) * len(chosen) + chosen[lanes % len(chosen)], every
    amount = instruction.number(name)
    fixed = _FIXED.get((name, amount))
    if fixed is None and name not in _SHIFTED:
        raise instruction.unknown(f"{name}:{amount}")
    lane, inside = fixed(lanes) if fixed else _SHIFTED[name](row, place, amount)
    return lane, np.broadcast_to(inside, lanes.shape)


_SHIFTED: dict[str, Callable[[Array, Array, int], tuple[Array, Any]]] = {
    "row_shl": lambda row, place, n: (row + place + n, place + n < ROW),
    "row_shr": lambda row, place, n: (row + place - n, place >= n),
    "row_ror": lambda row, place, n: (row + (place - n) % ROW, True),
    "row_share": lambda row, place, n: (row + n, True),
    "row_newbcast": lambda row, place, n: (row + n, True),
    "row_xmask": lambda row, place, n: (row + (place ^ n), True),
}
_FIXED: dict[tuple[str, int], Callable[[Array], tuple[Array, Any]]] = {
    ("row_bcast", 15): lambda lanes: (lanes // ROW * ROW - 1, lanes >= ROW),  # a row's last lane, to the next row
    ("row_bcast", 31): lambda lanes: (np.full(len(lanes), 31), lanes > 31),  # the first half's last, to the second
    ("wave_shl", 1): lambda lanes: (lanes + 1, lanes + 1 < len(lanes)),
    ("wave_shr", 1): lambda lanes: (lanes - 1, lanes > 0),
    ("wave_rol", 1): lambda lanes: ((lanes + 1) % len(lanes), True),
    ("wave_ror", 1): lambda lanes: ((lanes - 1) % len(lanes), True),
}


def moved(row: Array, move: Move, machine: Machine) -> Source:
    """A vector register's value as the move brings it, u32 [wave, lane]."""
    everywhere = bool(move.inside.all())
    lane, inside = move.lane, move.inside
    keep = np.where(inside, np.uint32(0xFFFFFFFF), np.uint32(0))

    def value() -> Array:
        values = row.take(lane, axis=1)
        if machine.full or move.inactive:
            return values if everywhere else values & keep
        return np.where(inside & machine.lanes.take(lane, axis=1), values, np.uint32(0))

    return value


def written(move: Move, machine: Machine) -> Source:
    """The lanes that an instruction with the move writes, bool [wave, lane]."""
    always = move.enabled & (move.inside | move.zero)
    everywhere = bool(always.all())
    if move.zero and everywhere:
        return machine.lanes

    def lanes() -> Array:
        if machine.full or move.zero or move.inactive:
            return machine.lanes if everywhere else machine.lanes & always
        return machine.lanes & always & machine.lanes.take(move.lane, axis=1)

    return lanes
