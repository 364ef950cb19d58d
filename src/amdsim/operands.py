"""Operands of an instruction, from their text."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace

from amdsim.errors import UnknownInstruction

TTMP, VCC, M0, EXEC, SCALARS = 108, 106, 124, 126, 128
"""Rows of the scalar register file. M0 is at 124 on every generation here; where null is 124, m0 is at 125."""

_NAMED = {
    "vcc": ("s", VCC, 2),
    "vcc_lo": ("s", VCC, 1),
    "vcc_hi": ("s", VCC + 1, 1),
    "exec": ("s", EXEC, 2),
    "exec_lo": ("s", EXEC, 1),
    "exec_hi": ("s", EXEC + 1, 1),
    "m0": ("s", M0, 1),
    "null": ("null", 0, 1),
    "off": ("null", 0, 1),
    "scc": ("scc", 0, 1),
    "src_scc": ("scc", 0, 1),
}
_REGISTER = re.compile(r"(v|s|a|ttmp)(?:(\d+)(?:\.([lh]))?|\[(\d+):(\d+)\])")
_CALL = re.compile(r"(neg|abs|sext|lit|lit64)\((.*)\)")
_INTEGER = re.compile(r"-?(?:0x[0-9a-f]+|\d+)", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Operand:
    """One operand.

    Attributes:
        text: as it stands in the instruction.
        file: "v", "a" and "s" for vector, accumulation and scalar registers, "integer", "number", "null" or "scc".
        index, count: the first register, and how many there are.
        half: "l" or "h" where half of a vector register is named.
        value: of an integer, an int; of a number, a float.
        negate, absolute, extend: modifiers of a source, in the order absolute, negate; `extend` is sext().
    """

    text: str
    file: str
    index: int = 0
    count: int = 1
    half: str = ""
    value: int | float = 0
    negate: bool = False
    absolute: bool = False
    extend: bool = False

    @property
    def vector(self) -> bool:
        """Whether it differs from lane to lane."""
        return self.file in ("v", "a")

    @property
    def literal(self) -> bool:
        """Whether it is a constant."""
        return self.file in ("integer", "number")

    @property
    def modified(self) -> bool:
        """Whether a modifier changes what is read."""
        return self.negate or self.absolute or self.extend


@functools.cache
def operand(text: str) -> Operand:
    """Parse one.

    Raises:
        UnknownInstruction: it is none that is simulated.
    """
    return replace(_parsed(text), text=text)


def _parsed(text: str) -> Operand:
    if text in _NAMED:
        return Operand(text, *_NAMED[text])
    if match := _REGISTER.fullmatch(text):
        file, single, half, first, last = match.groups()
        index = int(single if single is not None else first)
        count = 1 if single is not None else int(last) - index + 1
        return Operand(text, "s" if file == "ttmp" else file, index + TTMP * (file == "ttmp"), count, half or "")
    if _INTEGER.fullmatch(text):
        return Operand(text, "integer", value=int(text, 0))
    if _NUMBER.fullmatch(text):
        return Operand(text, "number", value=float(text))
    if match := _CALL.fullmatch(text):
        inner = _parsed(match[2])
        call = match[1]
        return replace(
            inner,
            negate=inner.negate or call == "neg",
            absolute=inner.absolute or call == "abs",
            extend=inner.extend or call == "sext",
        )
    if text.startswith("-"):
        return replace(_parsed(text[1:]), negate=True)
    if text.startswith("|") and text.endswith("|"):
        return replace(_parsed(text[1:-1]), absolute=True)
    raise UnknownInstruction(f"operand {text!r}")
