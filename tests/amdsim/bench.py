"""A machine on which single instructions are tried, and assembly texts that are whole kernels."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from amdsim import instructions, parse
from amdsim.architectures import ARCHITECTURES
from amdsim.machine import Machine
from amdsim.operands import EXEC, VCC, operand
from amdsim.program import Statement

WAVE64, WAVE32 = ("gfx942", "gfx950"), ("gfx1100", "gfx1201")
NAMES = (*WAVE64, *WAVE32)


def assembly(
    architecture: str,
    body: str,
    *,
    threads: int | None = None,
    arguments: Sequence[tuple[int, str]] = (),
    lds: int = 0,
    scratch: int = 0,
    preload: int = 0,
    user: int | None = None,
) -> str:
    """A kernel's text as the compiler prints it. `arguments`: (bytes, kind) of each field of the kernarg segment."""
    fields, size = [], 0
    for width, kind in arguments:
        size = -(-size // width) * width
        fields.append(
            f"      - .offset:         {size}\n        .size:           {width}\n        .value_kind:     {kind}"
        )
        size += width
    wave = ARCHITECTURES[architecture].wave
    listed = "    .args:\n" + "\n".join(fields) + "\n" if fields else ""
    listed = listed.replace("    .args:", "  - .args:") if fields else "  - .agpr_count:     0\n"
    directives = {
        "user_sgpr_count": 2 + preload if user is None else user,
        "user_sgpr_kernarg_segment_ptr": 1,
        "user_sgpr_kernarg_preload_length": preload,
        "user_sgpr_kernarg_preload_offset": 0,
        "system_sgpr_workgroup_id_x": 1,
        "system_sgpr_workgroup_id_y": 1,
        "system_sgpr_workgroup_id_z": 1,
    }
    lines = "\n".join(f"\t\t.amdhsa_{name} {value}" for name, value in directives.items())
    return f"""\t.amdgcn_target "amdgcn-amd-amdhsa--{architecture}"
kernel:                                 ; @kernel
{body}
\t.amdhsa_kernel kernel
{lines}
\t.end_amdhsa_kernel
.Lfunc_end0:
\t.amdgpu_metadata
---
amdhsa.kernels:
{listed}    .group_segment_fixed_size: {lds}
    .kernarg_segment_size: {size}
    .max_flat_workgroup_size: {wave if threads is None else threads}
    .name:           kernel
    .private_segment_fixed_size: {scratch}
    .wavefront_size: {wave}
...
"""


class Bench:
    """One machine, every register of which is filled with noise."""

    def __init__(
        self, architecture: str, *, waves: int = 1, groups: int = 1, twins: bool = False, lds: int = 0, scratch: int = 0
    ) -> None:
        wave = ARCHITECTURES[architecture].wave
        text = assembly(
            architecture,
            "\tv_mov_b32_e32 v63, 0\n\tv_accvgpr_write_b32 a7, 0\n\ts_endpgm",
            threads=waves * wave,
            lds=lds,
            scratch=scratch,
        )
        self.machine = Machine(parse.program(text), groups, twins)
        self.machine.scramble(np.random.default_rng(1))
        self.machine.local.begin(0, fresh=True)
        self.exec(-1)

    @property
    def width(self) -> int:
        """Lanes of a wave."""
        return self.machine.width

    def exec(self, mask: int) -> None:
        """Set exec of every wave."""
        self.set_mask(EXEC, mask)
        self.machine.activate(np.ones(self.machine.size, np.bool_))

    def set_mask(self, index: int, mask: int) -> None:
        """Set a mask register of every wave."""
        raw = (mask & ((1 << self.width) - 1)).to_bytes(self.width // 8, "little")
        self.machine.mask(index)[...] = np.frombuffer(raw, np.uint8)

    def mask(self, index: int = VCC, wave: int = 0) -> int:
        """A mask register."""
        return int.from_bytes(self.machine.mask(index)[wave].tobytes(), "little")

    def set_scalar(self, index: int, value: int, words: int = 1) -> None:
        """Set scalar registers of every wave."""
        for word in range(words):
            self.machine.scalar(index + word)[...] = np.uint32(value >> (32 * word) & 0xFFFFFFFF)

    def scalar(self, index: int, words: int = 1, wave: int = 0) -> int:
        """What scalar registers hold."""
        return sum(int(self.machine.scalar(index + word)[wave]) << (32 * word) for word in range(words))

    def set_vector(self, name: str, values: Sequence[int], wave: int | None = None) -> None:
        """Set vector registers, of as many bits as "v3" or "v[3:4]" has."""
        register = operand(name)
        for word in range(register.count):
            row = self.machine.row(register, word)
            words = np.array([value >> (32 * word) & 0xFFFFFFFF for value in values], np.uint32)
            row[slice(None) if wave is None else wave] = words

    def vector(self, name: str, wave: int = 0) -> list[int]:
        """What vector registers hold, a number a lane."""
        register = operand(name)
        words = [self.machine.row(register, word)[wave] for word in range(register.count)]
        return [sum(int(row[lane]) << (32 * i) for i, row in enumerate(words)) for lane in range(self.width)]

    def run(self, *texts: str) -> None:
        """Execute instructions."""
        for text in texts:
            thunk = instructions.bind(parse.instruction(Statement(text, 0, "", 0)), self.machine)
            if thunk is not None:
                with np.errstate(all="ignore"):
                    thunk()


SPECIAL: dict[str, tuple[int, ...]] = {
    "u16": (0, 1, 2, 0x7FFF, 0x8000, 0xFFFF),
    "f16": (0, 0x8000, 1, 0x8001, 0x3C00, 0xBC00, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x7D01, 0x0400),
    "u32": (0, 1, 2, 31, 32, 33, 0xFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x00FFFFFF),
    "f32": (
        0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x3F000000, 0x3F800001,
        0x40490FDB, 0x0B800000, 0x0BFFFFFF, 0x0C000000, 0x4B000001, 0x4F000000, 0xCF000000, 0x4F7FFFFF, 0x7F7FFFFF,
        0xFF7FFFFF, 0x7F800000, 0xFF800000,
        0x7FC00000, 0xFFC00001, 0x7F800001, 0x33000001, 0x477FF000,
    ),
    "u64": (0, 1, 2, 0xFFFFFFFF, 0x100000000, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1),
    "f64": (
        0, 2**63, 1, 0x3FF0000000000000, 0xBFF0000000000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000,
        0xFFF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001, 0x3690000000000000, 0x3810000000000001,
        0x47EFFFFFF0000000, 0x3FF0000010000000,
    ),
}  # fmt: skip
"""Values at which an instruction is most likely to be wrong."""

BITS = {"u16": 16, "i16": 16, "f16": 16, "u32": 32, "i32": 32, "f32": 32, "u64": 64, "i64": 64, "f64": 64}


def values(kind: str, count: int, seed: Any) -> list[int]:
    """Bit patterns: special ones, and others around them and at random."""
    noise = random.Random(f"{kind} {seed}")
    width = BITS[kind]
    special = SPECIAL[kind if kind in SPECIAL else "u" + kind[1:]]
    chosen = []
    for _ in range(count):
        value = noise.choice(special) if noise.random() < 0.5 else noise.getrandbits(width)
        if noise.random() < 0.2:
            value += noise.choice((-1, 1))
        if kind == "f32" and noise.random() < 0.3:  # of ordinary size, so that sums cancel and quotients are normal
            value = noise.getrandbits(1) << 31 | (127 + noise.randint(-30, 30)) << 23 | noise.getrandbits(23)
        chosen.append(value & ((1 << width) - 1))
    return chosen
