"""Vector instructions on two values in one register, or on two registers at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from amdsim.instructions import arithmetic as a
from amdsim.instructions.forms import Binder, Step, renamed
from amdsim.machine import Machine
from amdsim.operands import Operand
from amdsim.program import Instruction
from amdsim.values import DTYPES, Source, bound, mapped, read, sign_modifier, source

_MODIFIERS = frozenset({"op_sel", "op_sel_hi", "neg_lo", "neg_hi"})
SHIFT = np.uint16(15)


def _selected(instruction: Instruction, count: int) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    """For the lower and the upper result: (which half of each source, which are negated)."""
    zeros, ones = (0,) * count, (1,) * count
    return (
        (instruction.bits("op_sel", zeros), instruction.bits("neg_lo", zeros)),
        (instruction.bits("op_sel_hi", ones), instruction.bits("neg_hi", zeros)),
    )


def _halves(kind: str, count: int, compute: Callable[..., Any]) -> Binder:
    """Two 16-bit results in one register."""

    def bind(instruction: Instruction, machine: Machine) -> Step:
        instruction.only(_MODIFIERS)
        target, *operands = instruction.operands
        if len(operands) != count or target.half or not target.vector:
            raise instruction.unknown()
        row, lanes = machine.row(target), machine.lanes
        lower, upper = (
            bound(compute, [_half(instruction, *each, kind, machine) for each in zip(operands, *choice, strict=True)])
            for choice in _selected(instruction, count)
        )

        def commit(value: Any) -> None:
            low, high = (half.view(np.uint16).astype(np.uint32) for half in value)
            np.copyto(row, low | (high << np.uint32(16)), where=lanes)

        return Step(lambda: (lower(), upper()), commit)

    return bind


def _half(instruction: Instruction, operand: Operand, high: int, negate: int, kind: str, machine: Machine) -> Source:
    if negate and kind != "f16":
        raise instruction.unknown("a negated integer")
    value = source(instruction, operand, kind, machine, high=bool(high))
    if not negate:
        return value
    flip = sign_modifier(Operand("", "v", negate=True), 2)
    return mapped(lambda x: flip(x.view(np.uint16)).view(np.float16), value)


def _pairs(count: int, compute: Callable[..., Any]) -> Binder:
    """Two 32-bit results in two registers."""

    def bind(instruction: Instruction, machine: Machine) -> Step:
        instruction.only(_MODIFIERS)
        target, *operands = instruction.operands
        if len(operands) != count or target.count != 2 or not target.vector:
            raise instruction.unknown()
        rows, lanes = (machine.row(target), machine.row(target, 1)), machine.lanes
        lower, upper = (
            bound(compute, [_word(instruction, *each, machine) for each in zip(operands, *choice, strict=True)])
            for choice in _selected(instruction, count)
        )

        def commit(value: Any) -> None:
            for row, word in zip(rows, value, strict=True):
                np.copyto(row, word.view(np.uint32), where=lanes)

        return Step(lambda: (np.array(lower()), np.array(upper())), commit)

    return bind


def _word(instruction: Instruction, operand: Operand, word: int, negate: int, machine: Machine) -> Source:
    if operand.modified or (operand.literal and word and operand.value != 0):
        raise instruction.unknown(f"operand {operand.text!r}")
    part = operand if operand.literal else Operand(operand.text, operand.file, operand.index + word)
    value = source(instruction, part, "f32", machine)
    if not negate:
        return value
    flip = sign_modifier(Operand("", "v", negate=True), 4)
    return mapped(lambda x: flip(x.view(np.uint32)).view(np.float32), value)


def _moved(instruction: Instruction, machine: Machine) -> Step:
    """v_pk_mov_b32: one register of each source; op_sel says which."""
    instruction.only(frozenset({"op_sel"}))
    target, first, second = instruction.operands
    if target.count != 2 or not target.vector or first.literal or second.literal:
        raise instruction.unknown()
    chosen = instruction.bits("op_sel", (0, 0))
    parts = [Operand(o.text, o.file, o.index + c) for o, c in zip((first, second), chosen, strict=True)]
    values = [source(instruction, part, "u32", machine) for part in parts]
    rows, lanes = (machine.row(target), machine.row(target, 1)), machine.lanes

    def commit(value: Any) -> None:
        for row, word in zip(rows, value, strict=True):
            np.copyto(row, word, where=lanes)

    return Step(lambda: tuple(np.array(read(value)) for value in values), commit)


def _mixed(result: str) -> Binder:
    """v_fma_mix: each source is a float32, or a half of a register as float16; so is the result."""

    def bind(instruction: Instruction, machine: Machine) -> Step:
        instruction.only(frozenset({"op_sel", "op_sel_hi"}))
        target, *operands = instruction.operands
        high, narrow = instruction.bits("op_sel", (0, 0, 0)), instruction.bits("op_sel_hi", (0, 0, 0))
        sources = [
            mapped(lambda x: x.astype(np.float32), source(instruction, o, "f16", machine, high=bool(h)))
            if n
            else source(instruction, o, "f32", machine)
            for o, h, n in zip(operands, high, narrow, strict=True)
        ]
        row, lanes = machine.row(target), machine.lanes
        if result == "whole":
            to = row.view(DTYPES["f32"])
            return Step(bound(a.fused, sources), lambda value: np.copyto(to, value, where=lanes))
        half = row.view(DTYPES["f16"])[:, int(result == "high") :: 2]
        return Step(bound(a.fused, sources), lambda value: np.copyto(half, value.astype(np.float16), where=lanes))

    return bind


_FORMS: dict[str, Binder] = {
    "v_pk_add_u16": _halves("u16", 2, np.add),
    "v_pk_add_i16": _halves("i16", 2, np.add),
    "v_pk_sub_u16": _halves("u16", 2, np.subtract),
    "v_pk_sub_i16": _halves("i16", 2, np.subtract),
    "v_pk_mul_lo_u16": _halves("u16", 2, np.multiply),
    "v_pk_max_u16": _halves("u16", 2, np.maximum),
    "v_pk_min_u16": _halves("u16", 2, np.minimum),
    "v_pk_max_i16": _halves("i16", 2, np.maximum),
    "v_pk_min_i16": _halves("i16", 2, np.minimum),
    "v_pk_lshlrev_b16": _halves("u16", 2, lambda x, y: y << (x & SHIFT)),
    "v_pk_lshrrev_b16": _halves("u16", 2, lambda x, y: y >> (x & SHIFT)),
    "v_pk_ashrrev_i16": _halves("i16", 2, lambda x, y: y >> (x & np.int16(15))),
    "v_pk_add_f16": _halves("f16", 2, np.add),
    "v_pk_mul_f16": _halves("f16", 2, np.multiply),
    "v_pk_max_f16": _halves("f16", 2, a.maximum_number),
    "v_pk_min_f16": _halves("f16", 2, a.minimum_number),
    "v_pk_add_f32": _pairs(2, np.add),
    "v_pk_mul_f32": _pairs(2, np.multiply),
    "v_pk_fma_f32": _pairs(3, a.fused),
    "v_pk_mov_b32": _moved,
    "v_fma_mix_f32": _mixed("whole"),
    "v_fma_mixlo_f16": _mixed("low"),
    "v_fma_mixhi_f16": _mixed("high"),
}

TABLE = _FORMS | renamed(_FORMS, {"v_pk_max_num_f16": "v_pk_max_f16", "v_pk_min_num_f16": "v_pk_min_f16"})
