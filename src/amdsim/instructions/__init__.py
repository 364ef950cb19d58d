"""The instructions that are simulated, a file a family."""

from __future__ import annotations

from collections.abc import Iterable

from amdsim.errors import UnknownInstruction
from amdsim.instructions import (
    buffer_access,
    control,
    conversions,
    division,
    encoding,
    global_access,
    ignored,
    lanes,
    local_access,
    private_access,
    scalar_compare,
    scalar_exec,
    scalar_float,
    scalar_integer,
    scalar_memory,
    selection,
    vector_carry,
    vector_compare,
    vector_float,
    vector_half,
    vector_integer,
    vector_packed,
    vector_wide,
)
from amdsim.instructions.forms import Binder, Step
from amdsim.machine import Machine
from amdsim.program import Instruction
from amdsim.values import Thunk

_FAMILIES = (
    buffer_access, control, conversions, division, global_access, ignored, lanes, local_access, private_access,
    scalar_compare, scalar_exec, scalar_float, scalar_integer, scalar_memory, selection, vector_carry,
    vector_compare, vector_float, vector_half, vector_integer, vector_packed, vector_wide,
)  # fmt: skip
BINDERS: dict[str, Binder] = {name: binder for family in _FAMILIES for name, binder in family.TABLE.items()}


def known(mnemonic: str) -> bool:
    """Whether there is such an instruction here."""
    return encoding.base(mnemonic) in BINDERS or mnemonic in control.ENDINGS


def check(mnemonics: Iterable[str]) -> None:
    """Refuse a kernel before it runs.

    Raises:
        UnknownInstruction: it holds instructions that are not simulated.
    """
    if unknown := sorted(m for m in mnemonics if not known(m)):
        raise UnknownInstruction(f"not simulated: {', '.join(unknown)}")


def bind(instruction: Instruction, machine: Machine) -> Thunk | None:
    """What executes an instruction on a machine; None where there is nothing to be done.

    Raises:
        UnknownInstruction: it is not simulated, or not with its operands and modifiers.
    """
    bound = _binder(instruction)(instruction, machine)
    if instruction.second is None:
        if isinstance(bound, Step):
            return bound.thunk()
        return None if bound is ignored.nothing else bound
    other = _binder(instruction.second)(instruction.second, machine)
    if not isinstance(bound, Step) or not isinstance(other, Step):
        raise instruction.unknown("as a half of a dual instruction")
    return _dual(bound, other)


def _binder(instruction: Instruction) -> Binder:
    name = encoding.base(instruction.mnemonic)
    if name not in BINDERS:
        raise instruction.unknown()
    return BINDERS[name]


def _dual(first: Step, second: Step) -> Thunk:
    """Both halves read before either writes."""

    def run() -> None:
        one = first.compute()
        two = second.compute()
        two = two.copy() if hasattr(two, "copy") else two
        first.commit(one)
        second.commit(two)

    return run
