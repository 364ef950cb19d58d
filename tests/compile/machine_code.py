"""What a compiled kernel needs, read off the assembler's words, and whether its float additions were fused.

Fusion. Rule 9 of the semantics rounds each multiplication and each addition of the weight. A compiler that fuses makes
one instruction of the two, and an addition disappears. Fused multiply-adds are in order where they swallow none:

- AMD converts floats to 64-bit integers, and divides such integers, by taking a number apart by 2**32, exactly;
- AMD refines the reciprocal in a division of floats by five of them before v_div_fixup;
- AMD takes the quotient of small integers, a float without its fraction, times the divisor off the dividend by one;
- NVIDIA's library has them in its logarithm, by name, from LLVM's representation down to PTX.

So they are accepted where they are of the first two kinds, or where there may be some of the others and every addition
and subtraction of LLVM's representation is still found below it: in AMD's assembly, in NVIDIA's PTX (ptxas packs some
in pairs). Ratios and logarithms steer searches; the weight has neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Needs:
    """What one thread, and for `shared` one program, of a kernel takes.

    Attributes:
        registers: vector registers, on AMD with accumulation registers.
        scalar_registers: on AMD; 0 on NVIDIA, which has a fixed number beside the others.
        spills: bytes of spill stores and loads on NVIDIA; vector registers spilled on AMD.
        scalar_spills: scalar registers that AMD keeps in lanes of vector registers; it costs no memory.
        scratch: bytes of memory for what has no register.
        shared: bytes of shared memory.
    """

    registers: int
    scalar_registers: int
    spills: int
    scalar_spills: int
    scratch: int
    shared: int


@dataclass(frozen=True)
class Additions:
    """Additions and subtractions of floats, and what may have swallowed some.

    Attributes:
        meant: how many LLVM's representation has.
        found: how many are left below it.
        fused: fused multiply-adds in the machine code, without those of a kind that is recognised.
        named: fused multiply-adds that LLVM's representation calls by name.
    """

    meant: int
    found: int
    fused: int
    named: int

    def may_be_fused(self, backend: str) -> bool:
        """Whether an addition may have become part of a fused multiply-add.

        Of AMD's fewer than none are left over where a sequence has become shorter, and could then hide one. NVIDIA's
        are known one by one; its additions may be fewer than were meant, where LLVM works on vectors of which it then
        leaves lanes aside.
        """
        if backend == "cuda":
            return self.fused != 0
        return self.fused != 0 and self.found != self.meant


MEMORY = re.compile(r"^(?:@!?%p\d+ )?(?:ld\.(?!param)|st\.|atom|red\.|cp\.async|bra)", re.MULTILINE)
"""Instructions of PTX that touch memory, or that lead somewhere else."""


def waits_first(ptx: str) -> bool:
    """Whether a kernel waits for the launch before it ahead of whatever it reads or writes, on every way through it."""
    lines = "\n".join(line.strip() for line in ptx.splitlines())
    wait, memory = lines.find("griddepcontrol.wait;"), MEMORY.search(lines)
    return wait >= 0 and (memory is None or wait < memory.start())


def nvidia_needs(ptxas_log: str, shared: int) -> Needs:
    """From what ptxas -v prints."""
    stack, stores, loads = _numbers(
        r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", ptxas_log
    )
    (registers,) = _numbers(r"Used (\d+) registers", ptxas_log)
    return Needs(registers, 0, stores + loads, 0, stack, shared)


def amd_needs(assembly: str, shared: int) -> Needs:
    """From the notes at the end of the assembly. Their own figure of shared memory is 0: Triton asks for it later."""
    keys = ("vgpr_count", "sgpr_count", "vgpr_spill_count", "sgpr_spill_count", "private_segment_fixed_size")
    registers, scalars, spills, scalar_spills, scratch = (_numbers(rf"\.{key}:\s+(\d+)", assembly)[0] for key in keys)
    return Needs(registers, scalars, spills, scalar_spills, scratch, shared)


def _numbers(pattern: str, text: str) -> tuple[int, ...]:
    """The groups of the one match."""
    matches = re.findall(pattern, text)
    if len(matches) != 1:
        raise ValueError(f"expected one {pattern!r} in what the assembler says, found {len(matches)}")
    return tuple(int(group) for group in ([matches[0]] if isinstance(matches[0], str) else matches[0]))


def meant_additions(llvm: str) -> int:
    """fadd and fsub of fp32 in LLVM's representation, one a lane."""
    found = re.findall(r"= f(?:add|sub)(?: [a-z]+)* (?:float|<(\d+) x float>) ", llvm)
    return sum(int(lanes or 1) for lanes in found)


def named_fusions(llvm: str) -> int:
    """Calls of LLVM's fma, fmuladd and their kin."""
    return len(re.findall(r"call [^@\n]*@llvm\.(?:fma|fmuladd|nvvm\.fma|amdgcn\.fmad?)\b", llvm))


def nvidia_additions(llvm: str, ptx: str, sass: str) -> Additions:
    """Of NVIDIA's PTX, and of its machine code as cuobjdump prints it."""
    named = named_fusions(llvm)
    added = re.findall(r"\b(?:add|sub)(?:\.\w+)*\.f32(x2)?\b", ptx)
    in_ptx = len(re.findall(r"\bfma(?:\.\w+)*\.f32\b", ptx))
    by_llvm = sum(_fused_by_llvm(llvm, ptx, flushing) for flushing in ("", ".ftz"))
    in_sass = len(re.findall(r"\*/\s+(?:@!?U?P\w+ )?U?FFMA2?\b", sass))
    fused = by_llvm + abs(in_sass - in_ptx)  # the second by ptxas
    return Additions(meant_additions(llvm), sum(2 if pair else 1 for pair in added), fused, named)


def _fused_by_llvm(llvm: str, ptx: str, flushing: str) -> int:
    """Of those that flush subnormals or not: libdevice names both, for a branch of which LLVM leaves one."""
    named = len(re.findall(rf"call [^@\n]*@llvm\.nvvm\.fma\.rn{re.escape(flushing)}\.f\(", llvm))
    if not flushing:
        named += len(re.findall(r"call [^@\n]*@llvm\.(?:fma|fmuladd)\.f32\(", llvm))
    found = len(re.findall(rf"\bfma\.rn{re.escape(flushing)}\.f32\b", ptx))
    return min(abs(found - named), found)


_AMD_ADD = re.compile(r"[vs]_(pk_|dual_)?(?:add|sub|subrev)_f32")
_AMD_FUSED = re.compile(r"[vs]_(?:pk_|dual_)?(?:fma|mad|mac)(?:c|ak|mk|_mix)?(?:_legacy|_dx9_zero)?_f32")
_AMD_FUSED_IN_DIVISION = 5
_AMD_REGISTERS = re.compile(r"\b([vs])(?:(\d+)|\[(\d+):(\d+)\])")
_AMD_WORD = re.compile(r"0x[c4]f800000\b")
"""2**32 or its negative as fp32."""


def amd_additions(llvm: str, assembly: str) -> Additions:
    """Of AMD's assembly."""
    added = fused = 0
    words: set[str] = set()  # registers that hold 2**32 or its negative
    quotients: set[str] = set()  # registers that hold a float without its fraction
    for instruction in _amd_instructions(assembly):
        if match := _AMD_ADD.match(instruction):
            added += 2 if match[1] == "pk_" else 1
        if instruction.startswith("v_div_fixup_f32"):
            fused -= _AMD_FUSED_IN_DIVISION
        if _AMD_FUSED.match(instruction):
            known = _AMD_WORD.search(instruction) or words & _registers(instruction)
            fused += not (known or quotients & _registers(" ".join(re.findall(r"-v\d+", instruction))))
        written = _registers(instruction.partition(",")[0])
        words -= written
        quotients -= written
        if re.match(r"v_trunc_f32", instruction):
            quotients |= written
        if re.match(r"[vs]_(?:dual_)?mov_b32", instruction) and _AMD_WORD.search(instruction):
            words |= written
    return Additions(meant_additions(llvm), added, fused, named_fusions(llvm))


def _amd_instructions(assembly: str) -> Iterator[str]:
    """One instruction at a time, also where a line has two that issue together."""
    for line in assembly.splitlines():
        for part in line.partition(";")[0].split("::"):
            yield part.strip()


def _registers(operands: str) -> set[str]:
    """The names of single registers in a piece of an instruction, ranges taken apart."""
    return {
        f"{kind}{number}"
        for kind, one, first, last in _AMD_REGISTERS.findall(operands)
        for number in range(int(one or first), int(one or last) + 1)
    }
