"""Vector instructions against their definitions, lane by lane, under a mask."""

from __future__ import annotations

import re

import definitions
import emitted
import floats
import pytest
from bench import BITS, Bench, values
from definitions import VECTOR
from floats import FORMATS

ROUNDS = 4
"""Times that every lane is filled: 256 or 128 operands an instruction and architecture."""


TRIED = {name: definition for name, definition in VECTOR.items() if not name.startswith("v_accvgpr")}
"""The others move between files of registers."""


def _with(mnemonic: str) -> str:
    """An architecture that has an instruction."""
    if mnemonic in definitions.LATER_NAMES or mnemonic.endswith(("_b16", "maxmin_u32", "minmax_u32")):
        return "gfx1201"
    return "gfx950"


PLAIN = [
    (a, m) for a, m in emitted.instructions() if emitted.base(m) in TRIED and emitted.encoding(m) in ("", "e32", "e64")
]
EMITTED = {emitted.base(m) for _, m in emitted.instructions()}
OTHERS = [(_with(m), m) for m in sorted(TRIED.keys() - EMITTED)]
"""Those that are simulated though no kernel needs them now."""

COMPARE = re.compile(r"v_cmp(x?)_(\w+?)_([uif]\d+)")
COMPARED = [
    (a, m) for a, m in emitted.instructions()
    if COMPARE.fullmatch(emitted.base(m)) and emitted.encoding(m) in ("e32", "e64")
]  # fmt: skip


OTHER_COMPARISONS = [
    ("gfx950", f"v_cmp_{name}_{kind}_e64")
    for kind in BITS
    for name in (definitions.FLOAT_COMPARISONS if kind in FORMATS else ("lt", "le", "gt", "ge", "eq", "ne"))
    if f"v_cmp_{name}_{kind}" not in EMITTED
]


def as_operand(bits: int, kind: str) -> int:
    return definitions.signed(bits, BITS[kind]) if kind[0] == "i" else bits


def register(first: int, kind: str) -> str:
    return f"v[{first}:{first + 1}]" if BITS[kind] == 64 else f"v{first}"


def same(found: int, expected: int | None, kind: str) -> bool:
    """Equal bits; None stands for any NaN."""
    width = BITS[kind]
    if expected is None:
        return floats.is_nan(found & ((1 << width) - 1), FORMATS[kind])
    return found & ((1 << width) - 1) == expected & ((1 << width) - 1)


@pytest.mark.parametrize(("architecture", "mnemonic"), [*PLAIN, *OTHERS])
def test_a_result_is_as_defined_in_lanes_that_are_on(architecture: str, mnemonic: str) -> None:
    definition = VECTOR[emitted.base(mnemonic)]
    bench = Bench(architecture)
    sources = [register(10 + 2 * i, kind) for i, kind in enumerate(definition.sources)]
    target = register(20, definition.result)
    for turn in range(ROUNDS):
        operands = [values(kind, bench.width, (mnemonic, turn, i)) for i, kind in enumerate(definition.sources)]
        for name, given in zip(sources, operands, strict=True):
            bench.set_vector(name, given)
        on = 0x5A5A5A5A5A5A5A5A if turn else -1
        bench.exec(on)
        before = bench.vector(target)
        bench.run(f"{mnemonic} {target}, {', '.join(sources)}")
        for lane, found in enumerate(bench.vector(target)):
            given = [as_operand(o[lane], k) for o, k in zip(operands, definition.sources, strict=True)]
            if on >> lane & 1:
                expected = definition.compute(*given)
                assert same(found, expected, definition.result), (lane, [hex(g) for g in given], hex(found), expected)
            else:
                assert found == before[lane]


@pytest.mark.parametrize(("architecture", "mnemonic"), [*COMPARED, *OTHER_COMPARISONS])
def test_a_comparison_sets_bits_of_lanes_that_are_on_and_clears_the_others(architecture: str, mnemonic: str) -> None:
    match = COMPARE.fullmatch(emitted.base(mnemonic))
    assert match is not None
    into_exec, name, kind = match.groups()
    relation = definitions.comparison(name, kind)
    assert relation is not None
    bench = Bench(architecture)
    sources = [register(10, kind), register(12, kind)]
    named = emitted.encoding(mnemonic) == "e64" and not into_exec
    target = ("s[4:5]" if bench.width == 64 else "s4") if named else "vcc" if bench.width == 64 else "vcc_lo"
    words = ", ".join(sources if into_exec else [target, *sources])
    for turn in range(ROUNDS):
        operands = [values(kind, bench.width, (mnemonic, turn, i)) for i in range(2)]
        operands[1][::3] = operands[0][::3]
        for register_name, given in zip(sources, operands, strict=True):
            bench.set_vector(register_name, given)
        on = 0xF0F05A5A33335A5A if turn else -1
        bench.exec(on)
        bench.run(f"{mnemonic} {words}")
        found = bench.mask(126 if into_exec else 4 if named else 106)
        for lane in range(bench.width):
            given = [as_operand(o[lane], kind) for o in operands]
            expected = bool(on >> lane & 1) and relation(*given)
            assert bool(found >> lane & 1) == expected, (lane, [hex(g) for g in given])


@pytest.mark.parametrize("architecture", ["gfx942", "gfx950"])
def test_accumulation_registers(architecture: str) -> None:
    bench = Bench(architecture)
    given = values("u32", 64, "accumulators")
    bench.set_vector("v1", given)
    bench.exec(0x0FFFFFFFFFFFFFFF)
    before = bench.vector("v2")
    bench.run("v_accvgpr_write_b32 a3, v1", "v_accvgpr_read_b32 v2, a3")
    assert bench.vector("v2") == given[:60] + before[60:]
    bench.run("v_accvgpr_write_b32 a3, -16", "v_accvgpr_read_b32 v2, a3")
    assert bench.vector("v2")[:60] == [0xFFFFFFF0] * 60
