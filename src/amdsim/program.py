"""A kernel as records: what `amdsim.parse` makes of the compiler's text."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from amdsim.architectures import Architecture
from amdsim.errors import UnknownInstruction
from amdsim.operands import Operand, operand


@dataclass(frozen=True)
class Statement:
    """An instruction before its operands are looked at: kernels have tens of thousands, and few are reached.

    Attributes:
        text: the instruction in one line, without comments.
        line: where it stands in the assembly.
        source: "file.py:line:column" of the kernel's source, as the compiler tells, "" where it does not.
        index: the place among the kernel's instructions.
    """

    text: str
    line: int
    source: str
    index: int

    @property
    def mnemonics(self) -> tuple[str, ...]:
        """One, or two where the text is a dual instruction."""
        return tuple(half.split(None, 1)[0] for half in self.text.split("::"))

    @property
    def place(self) -> str:
        """For messages."""
        return f"`{self.text}` (assembly line {self.line}{', ' + self.source if self.source else ''})"


@dataclass(frozen=True)
class Instruction:
    """An instruction, taken apart.

    Attributes:
        mnemonic: with its encoding's suffix.
        words: the operands' texts.
        modifiers: name -> text of those written name:text.
        flags: the others.
        statement: where it comes from.
        second: the other half of a dual instruction.
    """

    mnemonic: str
    words: tuple[str, ...]
    modifiers: Mapping[str, str]
    flags: Set[str]
    statement: Statement
    second: Instruction | None = None

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Every operand.

        Raises:
            UnknownInstruction: one is none that is simulated.
        """
        try:
            return tuple(operand(word) for word in self.words)
        except UnknownInstruction as error:
            raise self.unknown(str(error)) from None

    def unknown(self, what: str = "") -> UnknownInstruction:
        """The error that says that this is not simulated."""
        return UnknownInstruction(f"not simulated: {self.statement.place}{': ' + what if what else ''}")

    def only(self, modifiers: Set[str] = frozenset(), flags: Set[str] = frozenset()) -> None:
        """Nothing that changes the meaning goes unnoticed.

        Raises:
            UnknownInstruction: there is another modifier or flag.
        """
        if unexpected := [*(self.modifiers.keys() - modifiers), *(self.flags - flags)]:
            raise self.unknown(f"modifier {', '.join(sorted(unexpected))}")

    def number(self, modifier: str, default: int = 0) -> int:
        """An integer modifier."""
        return int(self.modifiers[modifier], 0) if modifier in self.modifiers else default

    def bits(self, modifier: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """A list modifier such as op_sel:[0,1]."""
        if modifier not in self.modifiers:
            return default
        return tuple(int(word) for word in self.modifiers[modifier].strip("[]").split(","))


@dataclass(frozen=True)
class Argument:
    """A field of the kernarg segment. `kind` is the metadata's: by_value, global_buffer, hidden_block_count_x, ..."""

    offset: int
    size: int
    kind: str

    @property
    def hidden(self) -> bool:
        """Whether the runtime fills it in."""
        return self.kind.startswith("hidden_")


@dataclass(frozen=True)
class Entry:
    """What a wave finds in its registers when it starts.

    Attributes:
        user: scalar registers that the launch fills, in order: what, and how many.
        preload_length, preload_offset: words of the kernarg segment that are put into registers, and from where.
        user_count: user registers in all.
        workgroup: which of the coordinates x, y, z of the workgroup follow them.
    """

    user: tuple[tuple[str, int], ...]
    preload_length: int
    preload_offset: int
    user_count: int
    workgroup: tuple[bool, bool, bool]


@dataclass(frozen=True)
class Program:
    """A kernel.

    Attributes:
        name: the kernel's.
        architecture: what it was compiled for.
        statements: the instructions in order.
        labels: name -> index of the instruction that follows.
        start: the first instruction that is executed.
        arguments: the kernarg segment's fields.
        kernarg_size: its bytes.
        entry: the registers' first values.
        threads: work items of a workgroup.
        lds: bytes of LDS of a workgroup.
        scratch: bytes of private memory of a lane.
        vectors, accumulators: vector registers that the text names, counted from the first.
    """

    name: str
    architecture: Architecture
    statements: tuple[Statement, ...]
    labels: Mapping[str, int]
    start: int
    arguments: tuple[Argument, ...]
    kernarg_size: int
    entry: Entry
    threads: int
    lds: int
    scratch: int
    vectors: int
    accumulators: int
    mnemonics: frozenset[str] = field(default=frozenset())

    @property
    def waves(self) -> int:
        """Waves of a workgroup."""
        return -(-self.threads // self.architecture.wave)
