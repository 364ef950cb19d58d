"""SDWA: bytes and halves of 32-bit registers as sources and destinations, on generation 9."""

from __future__ import annotations

import numpy as np

from amdsim.arrays import Array
from amdsim.machine import Machine
from amdsim.operands import Operand
from amdsim.program import Instruction
from amdsim.values import BITS, DTYPES, Sink, Source, mapped, read, sign_modifier, source

MODIFIERS = frozenset({"src0_sel", "src1_sel", "dst_sel", "dst_unused"})
_PARTS = {
    "BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8), "WORD_0": (0, 16), "WORD_1": (16, 16),
    "DWORD": (0, 32),
}  # fmt: skip


def _part(instruction: Instruction, modifier: str) -> tuple[int, int]:
    """(first bit, bits) that a modifier selects."""
    selected = instruction.modifiers.get(modifier, "DWORD")
    if selected not in _PARTS:
        raise instruction.unknown(f"{modifier}:{selected}")
    return _PARTS[selected]


def part_source(instruction: Instruction, operand: Operand, kind: str, machine: Machine, place: int) -> Source:
    """A source as src0_sel or src1_sel selects it; `place` is 0 or 1."""
    first, bits = _part(instruction, f"src{place}_sel")
    dtype = DTYPES[kind]
    if dtype.itemsize == 8:
        raise instruction.unknown(f"SDWA on {kind}")
    plain = Operand(operand.text, operand.file, operand.index, operand.count, value=operand.value)
    word = source(instruction, plain, "u32", machine)

    def select(value: Array) -> Array:
        value = np.asarray(value)
        if operand.extend:
            value = ((value << np.uint32(32 - first - bits)).view(np.int32) >> np.int32(32 - bits)).view(np.uint32)
        elif bits < 32:
            value = (value >> np.uint32(first)) & np.uint32((1 << bits) - 1)
        return value.astype(BITS[dtype.itemsize])

    result = mapped(select, word)
    if operand.negate or operand.absolute:
        if kind[0] not in "fb":
            raise instruction.unknown(f"operand {operand.text!r} as {kind}")
        result = mapped(sign_modifier(operand, dtype.itemsize), result)
    return mapped(lambda value: value.view(dtype), result)


def part_sink(instruction: Instruction, operand: Operand, kind: str, machine: Machine, lanes: Source) -> Sink:
    """A destination as dst_sel and dst_unused select it."""
    first, bits = _part(instruction, "dst_sel")
    unused = instruction.modifiers.get("dst_unused", "UNUSED_PAD")
    size = DTYPES[kind].itemsize
    if not operand.vector or operand.modified or operand.half or size == 8:
        raise instruction.unknown(f"destination {operand.text!r}")
    if unused not in ("UNUSED_PAD", "UNUSED_PRESERVE"):
        raise instruction.unknown(f"dst_unused:{unused}")
    row = machine.row(operand)
    mask = np.uint32(((1 << bits) - 1) << first)
    others = np.uint32(~int(mask) & 0xFFFFFFFF)

    def store(value: Array) -> None:
        word = value.view(BITS[size]).astype(np.uint32)
        if bits < 32:
            word = (word << np.uint32(first)) & mask
            if unused == "UNUSED_PRESERVE":
                word = word | (row & others)
        np.copyto(row, word, where=read(lanes))

    return store
