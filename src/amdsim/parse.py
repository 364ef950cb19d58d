"""The compiler's text -> records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from amdsim import architectures
from amdsim.errors import LaunchFault
from amdsim.program import Argument, Entry, Instruction, Program, Statement

WORD = 4
"""Bytes that an instruction takes in the addresses that a program computes of itself."""

_MODIFIERS = (
    "offset", "offset0", "offset1", "row_shr", "row_shl", "row_ror", "row_share", "row_newbcast", "row_xmask",
    "row_bcast", "wave_shl", "wave_shr", "wave_rol", "wave_ror", "quad_perm", "dpp8", "row_mask", "bank_mask",
    "bound_ctrl", "fi", "op_sel", "op_sel_hi", "neg_lo", "neg_hi", "scope", "th", "src0_sel", "src1_sel", "dst_sel",
    "dst_unused", "mul", "div", "bitop3", "byte_sel", "cbsz", "abid", "blgp",
)  # fmt: skip
_FLAGS = (
    "glc", "slc", "dlc", "sc0", "sc1", "nt", "offen", "idxen", "clamp", "row_mirror", "row_half_mirror", "lds", "gds",
    "scale_offset", "nv", "tfe",
)  # fmt: skip
_MODIFIER = re.compile(rf"({'|'.join(_MODIFIERS)}):(.*)")
_PART = re.compile(r"(?:[^\s\[(]|\[[^\]]*\]|\([^)]*\))+")
_OPERAND = re.compile(r"(?:[^,\[(]|\[[^\]]*\]|\([^)]*\))+")
_DISTANCE = re.compile(r"\((\.L\w+)-(\.L\w+)\)(&4294967295|>>32)")
_LABEL = re.compile(r"([.\w$]+):")
_USER = (
    ("private_segment_buffer", 4), ("dispatch_ptr", 2), ("queue_ptr", 2), ("kernarg_segment_ptr", 2),
    ("dispatch_id", 2), ("flat_scratch_init", 2), ("private_segment_size", 1),
)  # fmt: skip


def program(text: str, lds: int = 0) -> Program:
    """The kernel of an assembly text. `lds`: bytes that its launch adds to those that the text declares.

    Raises:
        LaunchFault: there is no kernel in it, or it is for another architecture.
    """
    target = re.search(r"\.amdgcn_target\s+\"[^\"]*-(gfx\w+)", text)
    name = re.search(r"\.amdhsa_kernel\s+(\S+)", text)
    if target is None or name is None:
        raise LaunchFault("the text holds no amdgcn kernel: expected what Triton calls asm['amdgcn']")
    statements, labels = _body(text, name[1])
    entry = _entry(text)
    return Program(
        name=name[1],
        architecture=architectures.named(target[1]),
        statements=statements,
        labels=labels,
        start=_start(statements, labels) if entry.preload_length else 0,
        arguments=_arguments(text),
        kernarg_size=_metadata(text, "kernarg_segment_size"),
        entry=entry,
        threads=_metadata(text, "max_flat_workgroup_size"),
        lds=_metadata(text, "group_segment_fixed_size") + lds,
        scratch=_metadata(text, "private_segment_fixed_size"),
        vectors=_highest("v", statements) + 1,
        accumulators=_highest("a", statements) + 1,
        mnemonics=frozenset(m for s in statements for m in s.mnemonics),
    )


def instruction(statement: Statement) -> Instruction:
    """Take a statement apart."""
    halves = [_instruction(half.strip(), statement) for half in statement.text.split("::")]
    first, *rest = halves
    if not rest:
        return first
    return Instruction(first.mnemonic, first.words, first.modifiers, first.flags, statement, second=rest[0])


def _instruction(text: str, statement: Statement) -> Instruction:
    mnemonic, _, rest = text.partition(" ")
    words = [word.strip() for word in (_OPERAND.findall(rest) if "[" in rest or "(" in rest else rest.split(","))]
    modifiers: dict[str, str] = {}
    flags: set[str] = set()
    last = words[-1] if words else ""
    if " " in last or ":" in last or last in _FLAGS:  # modifiers follow the last operand, separated by blanks
        kept = []
        for part in _PART.findall(words[-1]):
            if match := _MODIFIER.fullmatch(part):
                modifiers[match[1]] = match[2]
            elif part in _FLAGS:
                flags.add(part)
            else:
                kept.append(part)
        words[-1] = " ".join(kept)
    return Instruction(mnemonic, tuple(w for w in words if w), modifiers, frozenset(flags), statement)


def _body(text: str, name: str) -> tuple[tuple[Statement, ...], dict[str, int]]:
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith(f"{name}:"))
    statements: list[Statement] = []
    labels: dict[str, int] = {}
    source = ""
    for number, raw in enumerate(lines[first + 1 :], first + 2):
        code, _, comment = raw.partition(";")
        code = code.partition("//")[0].strip()
        if code.startswith(".Lfunc_end"):
            break
        if match := _LABEL.fullmatch(code):
            labels[match[1]] = len(statements)
        elif code.startswith(".loc"):
            source = comment.strip().partition(" ")[0]
        elif code and not code.startswith("."):
            statements.append(Statement(re.sub(r"\s+", " ", code), number, source, len(statements)))
    return tuple(_resolved(s, labels) for s in statements), labels


def _resolved(statement: Statement, labels: Mapping[str, int]) -> Statement:
    """Distances between labels as numbers: far jumps are computed from them."""
    if "(.L" not in statement.text:
        return statement

    def number(match: re.Match[str]) -> str:
        distance = (labels[match[1]] - labels[match[2]]) * WORD
        return hex((distance if match[3].startswith("&") else distance >> 32) & 0xFFFFFFFF)

    return replace(statement, text=_DISTANCE.sub(number, statement.text))


def _start(statements: tuple[Statement, ...], labels: Mapping[str, int]) -> int:
    """Hardware that preloads arguments starts behind the prologue that loads them for hardware that does not."""
    branch = next(s for s in statements if s.text.startswith("s_branch"))
    return labels[branch.text.split()[1]]


def _entry(text: str) -> Entry:
    return Entry(
        user=tuple((name, words) for name, words in _USER if _directive(text, f"user_sgpr_{name}")),
        preload_length=_directive(text, "user_sgpr_kernarg_preload_length"),
        preload_offset=_directive(text, "user_sgpr_kernarg_preload_offset"),
        user_count=_directive(text, "user_sgpr_count"),
        workgroup=(
            bool(_directive(text, "system_sgpr_workgroup_id_x")),
            bool(_directive(text, "system_sgpr_workgroup_id_y")),
            bool(_directive(text, "system_sgpr_workgroup_id_z")),
        ),
    )


def _arguments(text: str) -> tuple[Argument, ...]:
    """The metadata's list, which is YAML as LLVM writes it: one key a line."""
    found = re.search(r"^  [- ] \.args:\s*\n(.*?)^    \.\w", text, re.MULTILINE | re.DOTALL)
    if found is None:
        return ()
    fields = [dict(re.findall(r"\.(\w+):\s+(\S+)", item)) for item in re.split(r"^      - ", found[1], flags=re.M)[1:]]
    return tuple(Argument(int(f["offset"]), int(f["size"]), f["value_kind"]) for f in fields)


def _metadata(text: str, key: str) -> int:
    found = re.search(rf"^\s+\.{key}:\s+(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 0


def _directive(text: str, key: str) -> int:
    found = re.search(rf"\.amdhsa_{key}\s+(\d+)", text)
    return int(found[1]) if found else 0


def _highest(file: str, statements: tuple[Statement, ...]) -> int:
    """The highest register of a file, -1 without one."""
    pattern = re.compile(rf"(?<![\w.]){file}(?:(\d+)|\[\d+:(\d+)\])")
    return max((int(a or b) for s in statements for a, b in pattern.findall(s.text)), default=-1)
