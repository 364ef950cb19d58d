"""Scalar instructions against their definitions."""

from __future__ import annotations

import random

import definitions
import emitted
import floats
import numpy as np
import pytest
from bench import BITS, Bench, values
from definitions import SCALAR
from floats import F32

from amdsim import instructions

EMITTED = [(a, m) for a, m in emitted.instructions() if m in SCALAR]
OTHERS = [("gfx1201", m) for m in sorted(SCALAR.keys() - {m for _, m in EMITTED}) if instructions.known(m)]
ROUNDS = 64


def drawn(kind: str, noise: random.Random) -> int:
    if kind == "k16":
        return noise.choice((0, 1, -1, 32767, -32768, noise.randint(-32768, 32767)))
    if kind == "u16":
        return noise.choice((0, 1, 0x7FFF, 0x8000, 0xFFFF, noise.getrandbits(16)))
    if kind == "field":
        return noise.choice((0, 1, 8, 31)) | noise.choice((0, 1, 8, 16, 32)) << 16
    return values("u32" if kind == "old" else kind, 1, noise.random())[0]


@pytest.mark.parametrize(("architecture", "mnemonic"), [*EMITTED, *OTHERS])
def test_a_result_and_scc_are_as_defined(architecture: str, mnemonic: str) -> None:
    definition = SCALAR[mnemonic]
    noise = random.Random(mnemonic)
    bench = Bench(architecture)
    for _ in range(ROUNDS):
        given = [drawn(kind, noise) for kind in definition.sources]
        if len(given) > 1 and noise.random() < 0.3 and not definition.constant:
            given[1] = given[0]
        scc = noise.random() < 0.5
        bench.machine.scc[...] = scc
        words, reads = [], []
        for place, (kind, value) in enumerate(zip(definition.sources, given, strict=True)):
            signed = definitions.signed(value, BITS[kind]) if kind[0] == "i" and kind in BITS else value
            reads.append(signed)
            if kind in ("k16", "u16"):
                words.append(hex(value & 0xFFFF))
                continue
            first = 30 if kind == "old" or (definition.constant and definition.result) else 10 + 4 * place
            wide = kind in BITS and BITS[kind] == 64
            bench.set_scalar(first, value, 2 if wide else 1)
            if kind != "old" and first != 30:
                words.append(f"s[{first}:{first + 1}]" if wide else f"s{first}")
        result_wide = definition.result in ("u64", "i64")
        target = ["s[30:31]" if result_wide else "s30"] if definition.result else []
        bench.run(f"{mnemonic} {', '.join([*target, *words])}")
        expected, flag = definition.compute(*reads, scc)
        assert bool(bench.machine.scc[0]) == (scc if flag is None else flag), (given, scc)
        if not definition.result:
            continue
        found = bench.scalar(30, 2 if result_wide else 1)
        if expected is None:
            assert floats.is_nan(found, F32), given
        else:
            mask = (1 << (64 if result_wide else 32)) - 1
            assert found == expected & mask, ([hex(g) for g in given], scc, hex(found), hex(expected & mask))


def test_a_scalar_instruction_is_executed_for_active_waves_only() -> None:
    bench = Bench("gfx950", waves=2)
    bench.set_scalar(4, 7)
    bench.machine.activate(np.array([True, False]))
    bench.run("s_add_i32 s4, s4, 1")
    assert [bench.scalar(4, wave=w) for w in (0, 1)] == [8, 7]
