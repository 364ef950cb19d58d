"""Vector instructions that move values between lanes, or between lanes and scalar registers."""

from __future__ import annotations

from typing import Any

import numpy as np

from amdsim.errors import Uninitialised
from amdsim.instructions import encoding
from amdsim.instructions.forms import Binder, Step
from amdsim.machine import Machine
from amdsim.program import Instruction
from amdsim.values import Thunk, bound, read, scalar_sink, source, wave_source

ROW = 16


def _first_lane(instruction: Instruction, machine: Machine) -> Step:
    """v_readfirstlane_b32: the lowest lane that is on, lane 0 where none is."""
    instruction.only()
    target, operand = instruction.operands
    sink = scalar_sink(instruction, target, "u32", machine)
    if not operand.vector:
        return Step(bound(np.asarray, [wave_source(instruction, operand, "u32", machine)]), sink)
    row = machine.row(operand)
    waves, first = np.arange(machine.size), row[:, 0]
    return Step(lambda: first if machine.full else row[waves, machine.lanes.argmax(axis=1)], sink)


def _read_lane(instruction: Instruction, machine: Machine) -> Step:
    """v_readlane_b32: whatever exec says."""
    instruction.only()
    target, operand, place = instruction.operands
    row = machine.row(operand)
    sink = scalar_sink(instruction, target, "u32", machine)
    if place.literal:
        fixed = row[:, int(place.value) % machine.width]
        return Step(lambda: fixed, sink)
    lane, waves = source(instruction, place, "u32", machine), np.arange(machine.size)
    return Step(lambda: row[waves, _defined(instruction, machine, read(lane))[:, 0]], sink)


def _write_lane(instruction: Instruction, machine: Machine) -> Step:
    """v_writelane_b32: whatever exec says."""
    instruction.only()
    target, operand, place = instruction.operands
    if operand.vector or not target.vector:
        raise instruction.unknown()
    row, active = machine.row(target), machine.active[:, None]
    value, lane = source(instruction, operand, "u32", machine), source(instruction, place, "u32", machine)
    if place.literal:
        fixed = int(place.value) % machine.width
        column = row[:, fixed : fixed + 1]
        return Step(lambda: read(value), lambda word: np.copyto(column, word, where=active))

    def commit(word: Any) -> None:
        where = np.arange(machine.width) == _defined(instruction, machine, read(lane))
        np.copyto(row, word, where=where & active)

    return Step(lambda: read(value), commit)


def _defined(instruction: Instruction, machine: Machine, lane: Any) -> Any:
    """A lane's number, within the wave, the same in twins."""
    lane = np.broadcast_to(lane % np.uint32(machine.width), (machine.size, 1))
    if machine.twins:
        differ = (lane[: machine.real] != lane[machine.real :])[machine.active[: machine.real]]
        if differ.any():
            raise Uninitialised(f"{instruction.statement.place}: the lane's number depends on what nobody wrote")
    return lane


def _permuted_row(across: int) -> Binder:
    """v_permlane16_b32, and v_permlanex16_b32, which reads the other row of a pair; 64 bits select the lanes."""

    def bind(instruction: Instruction, machine: Machine) -> Step:
        instruction.only({"op_sel"})
        target, operand, lower, upper = instruction.operands
        row, to = machine.row(operand), machine.row(target)
        inactive, zero = (bool(bit) for bit in instruction.bits("op_sel", (0, 0))[:2])
        selectors = [source(instruction, o, "u32", machine) for o in (lower, upper)]
        lanes = np.arange(machine.width)
        base, nibble = (lanes // ROW * ROW) ^ across, (lanes % ROW % 8 * 4).astype(np.uint32)
        in_lower = lanes % ROW < 8

        def compute() -> Any:
            low, high = (read(s) for s in selectors)
            chosen = (np.where(in_lower, low, high) >> nibble) & np.uint32(15)
            lane = np.broadcast_to(base + chosen.astype(np.int64), row.shape)
            values = np.take_along_axis(row, lane, axis=1)
            valid = np.True_ if inactive else np.take_along_axis(machine.lanes, lane, axis=1)
            return np.where(valid, values, np.uint32(0)), valid

        def commit(value: Any) -> None:
            values, valid = value
            np.copyto(to, values, where=machine.lanes & (valid | np.bool_(zero)))

        return Step(compute, commit)

    return bind


def _swapped_rows(distance: int) -> Binder:
    """v_permlane16_swap_b32, v_permlane32_swap_b32: odd rows of the first with even rows of the second register."""

    def bind(instruction: Instruction, machine: Machine) -> Thunk:
        encoding.check(instruction)
        first, second = (machine.row(o) for o in instruction.operands)
        lanes = np.arange(machine.width)
        odd, partner = (lanes & distance) != 0, lanes ^ distance

        def run() -> None:
            if not machine.full:
                raise instruction.unknown("with lanes that are off")
            one, two = first.copy(), second.copy()
            np.copyto(first, np.where(odd, two[:, partner], one), where=machine.lanes)
            np.copyto(second, np.where(odd, two, one[:, partner]), where=machine.lanes)

        return run

    return bind


def _swap(instruction: Instruction, machine: Machine) -> Thunk:
    """v_swap_b32."""
    instruction.only()
    first, second = (machine.row(o) for o in instruction.operands)

    def run() -> None:
        one = first.copy()
        np.copyto(first, second, where=machine.lanes)
        np.copyto(second, one, where=machine.lanes)

    return run


def _count_below(upper: bool) -> Binder:
    """v_mbcnt_lo, v_mbcnt_hi: the bits of a mask below the lane, plus a number."""

    def bind(instruction: Instruction, machine: Machine) -> Step:
        encoding.check(instruction)
        target, *operands = instruction.operands
        sources, lanes = encoding.inputs(instruction, operands, ("u32", "u32"), machine)
        below = np.array([_ones_below(lane - 32 * upper) for lane in range(machine.width)], np.uint32)
        compute = bound(lambda mask, more: np.bitwise_count(mask & below).astype(np.uint32) + more, sources)
        return Step(compute, encoding.output(instruction, target, "u32", machine, lanes))

    return bind


def _ones_below(place: int) -> int:
    return (1 << min(max(place, 0), 32)) - 1


TABLE: dict[str, Binder] = {
    "v_readfirstlane_b32": _first_lane,
    "v_readlane_b32": _read_lane,
    "v_writelane_b32": _write_lane,
    "v_permlane16_b32": _permuted_row(0),
    "v_permlanex16_b32": _permuted_row(ROW),
    "v_permlane16_swap_b32": _swapped_rows(16),
    "v_permlane32_swap_b32": _swapped_rows(32),
    "v_swap_b32": _swap,
    "v_mbcnt_lo_u32_b32": _count_below(upper=False),
    "v_mbcnt_hi_u32_b32": _count_below(upper=True),
}
