"""What the scalar unit loads: arguments, and values that are the same for a wave."""

from __future__ import annotations

from typing import Any

import numpy as np

from amdsim.errors import Uninitialised
from amdsim.instructions.addresses import Access
from amdsim.instructions.forms import Binder
from amdsim.instructions.transfer import pieces
from amdsim.machine import Machine
from amdsim.operands import operand
from amdsim.program import Instruction
from amdsim.values import Thunk, read, wave_source


def _binder(access: Access) -> Binder:
    def bind(instruction: Instruction, machine: Machine) -> Thunk:
        instruction.only({"offset"})
        target, base, *more = instruction.operands
        if target.file != "s" or target.count != max(1, access.size // 4) or len(more) > 1:
            raise instruction.unknown()
        start = wave_source(instruction, base, "i64", machine)
        extra = wave_source(instruction, more[0] if more else operand("0"), "i32", machine)
        offset, statement = instruction.number("offset"), instruction.statement

        def run() -> None:
            waves = np.flatnonzero(machine.active)
            every = read(start) + read(extra).astype(np.int64) + offset
            addresses = every[waves]
            half = len(waves) // 2 if machine.twins else len(waves)
            if not np.array_equal(addresses[:half], addresses[half:]) and machine.twins:
                raise Uninitialised(f"{statement.place}: an address depends on what nobody wrote")
            stamps = machine.local.stamps[waves[:half] * machine.width]
            for piece, (skipped, size) in enumerate(pieces(access.size)):
                values, unknown = machine.memory.load(
                    statement, addresses[:half] + skipped, size, machine.local.spans, stamps
                )
                words = _signed(machine.doubled(values, unknown), access)
                machine.scalar(target.index + piece)[waves] = words

        return run

    return bind


def _signed(values: Any, access: Access) -> Any:
    words = values.astype(np.uint32)
    if access.signed and access.size < 4:
        shift = np.int32(32 - 8 * access.size)
        words = ((words.view(np.int32) << shift) >> shift).view(np.uint32)
    return words


TABLE: dict[str, Binder] = {}
for _words, _size in (("dword", 4), ("dwordx2", 8), ("dwordx4", 16), ("dwordx8", 32), ("dwordx16", 64)):
    TABLE[f"s_load_{_words}"] = _binder(Access(True, _size))
for _bits in (32, 64, 96, 128, 256, 512):
    TABLE[f"s_load_b{_bits}"] = _binder(Access(True, _bits // 8))
for _name, _size, _sign in (("u8", 1, False), ("i8", 1, True), ("u16", 2, False), ("i16", 2, True)):
    TABLE[f"s_load_{_name}"] = _binder(Access(True, _size, _sign))
