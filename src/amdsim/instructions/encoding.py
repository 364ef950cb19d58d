"""The encodings of vector instructions: which lanes, halves and parts the operands of any of them stand for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from amdsim.instructions import dpp, sdwa
from amdsim.machine import Machine
from amdsim.operands import Operand
from amdsim.program import Instruction
from amdsim.values import DTYPES, Sink, Source, mapped, sign_modifier, source, vector_sink

_SUFFIX = re.compile(r"_(e32|e64|sdwa|dpp|e64_dpp|dpp8|e64_dpp8)$")
OUTPUT = frozenset({"mul", "div"})


def base(mnemonic: str) -> str:
    """A mnemonic without its encoding: v_add_u32_e32 -> v_add_u32, v_dual_mov_b32 -> v_mov_b32."""
    return _SUFFIX.sub("", mnemonic).replace("v_dual_", "v_")


def is_dpp(instruction: Instruction) -> bool:
    """Whether the first source comes from another lane."""
    return "_dpp" in instruction.mnemonic


def is_sdwa(instruction: Instruction) -> bool:
    """Whether operands are parts of registers."""
    return instruction.mnemonic.endswith("_sdwa")


def check(instruction: Instruction, extra: frozenset[str] = frozenset(), flags: frozenset[str] = frozenset()) -> None:
    """Only the modifiers that the encoding has, and those of the instruction.

    Raises:
        UnknownInstruction: there is another.
    """
    if is_dpp(instruction):
        instruction.only(dpp.MODIFIERS | extra, dpp.FLAGS | flags)
    elif is_sdwa(instruction):
        instruction.only(sdwa.MODIFIERS | extra, flags)
    else:
        instruction.only(extra | {"op_sel"}, flags)


def inputs(
    instruction: Instruction, operands: Sequence[Operand], kinds: Sequence[str], machine: Machine
) -> tuple[list[Source], Source]:
    """(what an instruction reads, the lanes that it writes).

    Raises:
        UnknownInstruction: an operand cannot be read so.
    """
    if len(operands) != len(kinds):
        raise instruction.unknown(f"{len(operands)} sources: expected {len(kinds)}")
    if is_sdwa(instruction):
        parts = [
            sdwa.part_source(instruction, o, k, machine, i)
            for i, (o, k) in enumerate(zip(operands, kinds, strict=True))
        ]
        return parts, machine.lanes
    upper = [False] * len(kinds)
    if "op_sel" in instruction.modifiers:
        if any(DTYPES[k].itemsize != 2 for k in kinds):
            raise instruction.unknown("op_sel")
        upper = [bool(bit) for bit in instruction.bits("op_sel", ())][: len(kinds)]
    sources = [source(instruction, o, k, machine, high=h) for o, k, h in zip(operands, kinds, upper, strict=True)]
    if not is_dpp(instruction):
        return sources, machine.lanes
    first, kind = operands[0], kinds[0]
    dtype = DTYPES[kind]
    if (
        not first.vector
        or first.half
        or dtype.itemsize != 4
        or first.extend
        or (first.modified and kind[0] not in "fb")
    ):
        raise instruction.unknown(f"DPP of {first.text!r} as {kind}")
    move = dpp.move(instruction, machine.width, machine.architecture.generation)
    moved = dpp.moved(machine.row(first), move, machine)
    if first.modified:
        moved = mapped(sign_modifier(first, 4), moved)
    sources[0] = mapped(lambda value: value.view(dtype), moved)
    return sources, dpp.written(move, machine)


def output(instruction: Instruction, operand: Operand, kind: str, machine: Machine, lanes: Source) -> Sink:
    """Where a vector instruction's result goes."""
    if is_sdwa(instruction):
        return sdwa.part_sink(instruction, operand, kind, machine, lanes)
    return vector_sink(instruction, operand, kind, machine, lanes)
