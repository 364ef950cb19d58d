"""What instructions read and where they write: operands bound to the arrays of a machine.

A source is an array, a view where that is possible, or a function that makes one. A kind is what an instruction takes a
value for: u32, i32, f32 and so on; b32 and b16 are bits that may have the modifiers of floats.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from amdsim.arrays import Array
from amdsim.machine import Machine
from amdsim.operands import EXEC, Operand
from amdsim.program import Instruction

Source = Array | Callable[[], Array]
Sink = Callable[[Array], None]
Thunk = Callable[[], object]

DTYPES: dict[str, np.dtype[Any]] = {
    "u16": np.dtype(np.uint16), "i16": np.dtype(np.int16), "f16": np.dtype(np.float16), "b16": np.dtype(np.uint16),
    "u32": np.dtype(np.uint32), "i32": np.dtype(np.int32), "f32": np.dtype(np.float32), "b32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64), "i64": np.dtype(np.int64), "f64": np.dtype(np.float64), "b64": np.dtype(np.uint64),
}  # fmt: skip
BITS: dict[int, np.dtype[Any]] = {2: np.dtype(np.uint16), 4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}
_FLOAT = {2: "<e", 4: "<f", 8: "<d"}


def bound(compute: Callable[..., Array], sources: Sequence[Source]) -> Callable[[], Array]:
    """`compute` of what the sources are when it is called."""
    if not any(callable(s) for s in sources):
        return functools.partial(compute, *sources)
    readers = [s if callable(s) else (lambda s=s: s) for s in sources]
    if len(readers) == 1:
        (first,) = readers
        return lambda: compute(first())
    if len(readers) == 2:
        first, second = readers
        return lambda: compute(first(), second())
    return lambda: compute(*[read() for read in readers])


def mapped(change: Callable[[Array], Array], source: Source) -> Source:
    """A source whose value is changed; constants are changed once."""
    if callable(source):
        return lambda: change(source())
    return change(source) if source.ndim == 0 else (lambda: change(source))


def read(source: Source) -> Array:
    """The value now."""
    return source() if callable(source) else source


def source(instruction: Instruction, operand: Operand, kind: str, machine: Machine, *, high: bool = False) -> Source:
    """An operand's value, [wave, lane] or what broadcasts to it. `high`: the upper half, of a 16-bit value.

    Raises:
        UnknownInstruction: such an operand cannot be read so.
    """
    if operand.vector:
        size = DTYPES[kind].itemsize
        if operand.half and size != 2:
            raise instruction.unknown(f"operand {operand.text!r} as {kind}")
        return _finished(instruction, operand, kind, _vector(operand, size, machine, high or operand.half == "h"))
    value = wave_source(instruction, operand, kind, machine, high=high)
    if callable(value):
        return lambda: value()[:, None]
    return value[:, None] if value.ndim else value


def wave_source(
    instruction: Instruction, operand: Operand, kind: str, machine: Machine, *, high: bool = False
) -> Source:
    """The same of an operand that every lane of a wave shares, [wave] or what broadcasts to it."""
    size = DTYPES[kind].itemsize
    bits: Source
    if operand.literal:
        bits = BITS[size].type(_literal(instruction, operand, kind, high))
    elif operand.file == "null":
        bits = BITS[size].type(0)
    elif operand.file == "scc":
        bits = functools.partial(machine.scc.astype, BITS[size])
    elif operand.file == "s":
        bits = _scalar(instruction, operand, size, machine, high)
    else:
        raise instruction.unknown(f"operand {operand.text!r}: expected a scalar")
    return _finished(instruction, operand, kind, bits)


def _finished(instruction: Instruction, operand: Operand, kind: str, bits: Source) -> Source:
    """Bits with the operand's modifiers, as the kind."""
    dtype = DTYPES[kind]
    if operand.modified:
        if kind[0] not in "fb" or operand.extend:
            raise instruction.unknown(f"operand {operand.text!r} as {kind}")
        bits = mapped(sign_modifier(operand, dtype.itemsize), bits)
    if callable(bits):
        return lambda: bits().view(dtype)
    return bits.view(dtype)


def sign_modifier(operand: Operand, size: int) -> Callable[[Array], Array]:
    """The modifiers abs and neg, on bits: they change nothing of a NaN but its sign."""
    sign = BITS[size].type(1 << (8 * size - 1))
    keep = BITS[size].type(sign - 1) if operand.absolute else BITS[size].type(2 * int(sign) - 1)
    flip = sign if operand.negate else BITS[size].type(0)
    return lambda bits: (bits & keep) ^ flip


def _vector(operand: Operand, size: int, machine: Machine, high: bool) -> Source:
    row = machine.row(operand)
    if size == 2:
        return row.view(np.uint16)[:, int(high) :: 2]
    if size == 4:
        return row
    upper = machine.row(operand, 1)
    both = np.empty((*row.shape, 2), np.uint32)
    joined, first, second = both.view(np.uint64)[..., 0], both[..., 0], both[..., 1]

    def join() -> Array:
        np.copyto(first, row)
        np.copyto(second, upper)
        return joined

    return join


def _scalar(instruction: Instruction, operand: Operand, size: int, machine: Machine, high: bool) -> Array:
    index = operand.index
    if size == 8:
        if index % 2:
            raise instruction.unknown(f"operand {operand.text!r}: a pair at an odd register")
        return machine.pair(index)
    return machine.half(index, high) if size == 2 else machine.scalar(index)


def _literal(instruction: Instruction, operand: Operand, kind: str, high: bool) -> int:
    size = DTYPES[kind].itemsize
    every = (1 << (8 * size)) - 1
    if operand.file == "number":
        return int.from_bytes(struct.pack(_FLOAT[size], operand.value), "little")
    value = int(operand.value)
    inline = -16 <= value <= 64
    if size == 2 and high:
        return (value >> 16) & 0xFFFF
    if size == 8 and not inline:
        if kind == "f64":  # a 32-bit literal is the upper half of a double
            return (value & 0xFFFFFFFF) << 32
        if kind == "i64" and 0x80000000 <= value <= 0xFFFFFFFF:
            raise instruction.unknown(f"literal {operand.text!r} as a signed 64-bit number")
    return value & every


def scalar_sink(instruction: Instruction, operand: Operand, kind: str, machine: Machine) -> Sink:
    """Where a value for each wave goes."""
    dtype, active = DTYPES[kind], machine.active
    if operand.file == "null":
        return lambda value: None
    if operand.file != "s" or operand.modified:
        raise instruction.unknown(f"destination {operand.text!r}")
    target = _scalar(instruction, operand, dtype.itemsize, machine, False).view(dtype)
    if operand.index >= EXEC:

        def store(value: Array) -> None:
            np.copyto(target, value, where=active)
            machine.refresh()

        return store
    return lambda value: np.copyto(target, value, where=active)


def vector_sink(instruction: Instruction, operand: Operand, kind: str, machine: Machine, lanes: Source) -> Sink:
    """Where a value for each lane goes; `lanes`: bool [wave, lane], those that are written."""
    size, dtype = DTYPES[kind].itemsize, DTYPES[kind]
    if not operand.vector or operand.modified or (operand.half and size != 2):
        raise instruction.unknown(f"destination {operand.text!r}")
    row = machine.row(operand)
    if size == 8:
        return _pair_sink(row, machine.row(operand, 1), lanes)
    if size == 2:
        return _half_sink(instruction, operand, row, machine, lanes)
    target = row.view(dtype)
    if callable(lanes):
        return lambda value: np.copyto(target, value, where=lanes())
    return lambda value: np.copyto(target, value, where=lanes)


def _pair_sink(lower: Array, upper: Array, lanes: Source) -> Sink:
    def store(value: Array) -> None:
        words, where = np.ascontiguousarray(value)[..., None].view(np.uint32), read(lanes)
        np.copyto(lower, words[..., 0], where=where)
        np.copyto(upper, words[..., 1], where=where)

    return store


_KEEP_UPPER_HALF = ("v_mad_u16", "v_mad_i16", "v_mad_f16", "v_fma_f16", "v_div_fixup_f16", "v_bitop3_b16")


def _half_sink(instruction: Instruction, operand: Operand, row: Array, machine: Machine, lanes: Source) -> Sink:
    """Generation 9 clears the upper half of most 16-bit results, later ones keep it."""
    selected = instruction.bits("op_sel", (0,))
    upper = operand.half == "h" or (len(selected) == len(instruction.words) and bool(selected[-1]))
    clears = machine.architecture.generation == 9 and not instruction.mnemonic.startswith(_KEEP_UPPER_HALF)
    if clears and upper:
        raise instruction.unknown("a result in the upper half")
    if clears:
        return lambda value: np.copyto(row, value.view(np.uint16), where=read(lanes))
    half = row.view(np.uint16)[:, int(upper) :: 2]
    return lambda value: np.copyto(half, value.view(np.uint16), where=read(lanes))


def mask_source(instruction: Instruction, operand: Operand, machine: Machine) -> Source:
    """A bit for each lane, bool [wave, lane]."""
    if operand.file == "integer":
        value = int(operand.value) & ((1 << machine.width) - 1)
        return np.array([[bool(value >> lane & 1) for lane in range(machine.width)]])
    if operand.file != "s":
        raise instruction.unknown(f"mask {operand.text!r}")
    packed = machine.mask(operand.index)
    return lambda: np.unpackbits(packed, axis=1, bitorder="little").view(np.bool_)


def mask_sink(instruction: Instruction, operand: Operand, machine: Machine, lanes: Source) -> Sink:
    """Where a bit for each lane goes; it is 0 for lanes that are off."""
    if operand.file == "null":
        return lambda value: None
    if operand.file != "s":
        raise instruction.unknown(f"destination {operand.text!r}")
    packed, active, is_exec = machine.mask(operand.index), machine.active[:, None], operand.index >= EXEC

    def store(value: Array) -> None:
        bits = np.packbits(value & read(lanes), axis=1, bitorder="little")
        np.copyto(packed, bits, where=active)
        if is_exec:
            machine.refresh()

    return store
