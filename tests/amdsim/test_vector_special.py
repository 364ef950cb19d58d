"""Vector instructions that need more than their operands in one lane: carries, masks, tables, parts of registers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import definitions
import floats
import pytest
from bench import NAMES, WAVE32, WAVE64, Bench, values
from floats import F16, F32

from amdsim.errors import UnknownInstruction

MASK = 0xF0F0123456789ABC


def masks(bench: Bench) -> tuple[str, str]:
    """(the register that short encodings imply, another one)."""
    return ("vcc", "s[4:5]") if bench.width == 64 else ("vcc_lo", "s4")


def mnemonics_with_carry(architecture: str) -> list[tuple[str, bool, bool, bool]]:
    """(mnemonic, whether it subtracts, in reverse, with a carry from before)."""
    if architecture in WAVE64:
        names = {"add": "v_addc_co_u32", "sub": "v_subb_co_u32", "subrev": "v_subbrev_co_u32"}
        plain = [
            (f"v_{name}_co_u32_{suffix}", name != "add", name == "subrev", False)
            for name in names
            for suffix in ("e32", "e64")
        ]
    else:
        names = {"add": "v_add_co_ci_u32", "sub": "v_sub_co_ci_u32", "subrev": "v_subrev_co_ci_u32"}
        plain = [("v_add_co_u32", False, False, False), ("v_sub_co_u32", True, False, False)]
    return plain + [
        (f"{name}_{suffix}", kind != "add", kind == "subrev", True)
        for kind, name in names.items()
        for suffix in ("e32", "e64")
    ]


@pytest.mark.parametrize(
    ("architecture", "mnemonic", "subtracts", "reverse", "takes"),
    [(a, *case) for a in NAMES for case in mnemonics_with_carry(a)],
)
def test_sums_with_a_carry(architecture: str, mnemonic: str, subtracts: bool, reverse: bool, takes: bool) -> None:
    bench = Bench(architecture)
    implied, other = masks(bench)
    short = mnemonic.endswith("e32")
    carry_in = implied if short else "s[6:7]" if bench.width == 64 else "s6"
    first, second = (values("u32", bench.width, (mnemonic, i)) for i in range(2))
    second[::4] = first[::4]
    bench.set_vector("v1", first)
    bench.set_vector("v2", second)
    incoming = random.Random(mnemonic).getrandbits(bench.width)
    bench.set_mask(106 if short else 6, incoming)
    bench.exec(MASK)
    before = bench.vector("v3")
    target = implied if short else other
    bench.run(f"{mnemonic} v3, {target}, v1, v2{', ' + carry_in if takes else ''}")
    carried = bench.mask(106 if short else 4)
    for lane, found in enumerate(bench.vector("v3")):
        if not MASK >> lane & 1:
            assert found == before[lane]
            assert not carried >> lane & 1
            continue
        x, y = (second[lane], first[lane]) if reverse else (first[lane], second[lane])
        bit = incoming >> lane & 1 if takes else 0
        exact = x - y - bit if subtracts else x + y + bit
        assert found == exact & 0xFFFFFFFF
        assert bool(carried >> lane & 1) == (not 0 <= exact <= 0xFFFFFFFF)


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize("signed", [False, True])
def test_sums_of_products(architecture: str, signed: bool) -> None:
    bench = Bench(architecture)
    name = "v_mad_i64_i32" if signed else "v_mad_u64_u32"
    if architecture == "gfx1201":
        name = name.replace("v_mad_", "v_mad_co_")
    first, second, third = values("u32", bench.width, 1), values("u32", bench.width, 2), values("u64", bench.width, 3)
    for register, given in (("v1", first), ("v2", second), ("v[4:5]", third)):
        bench.set_vector(register, given)
    _, other = masks(bench)
    bench.run(f"{name} v[6:7], {other}, v1, v2, v[4:5]")
    carried = bench.mask(4)
    for lane, found in enumerate(bench.vector("v[6:7]")):
        x, y, z = first[lane], second[lane], third[lane]
        if signed:
            x, y, z = definitions.signed(x, 32), definitions.signed(y, 32), definitions.signed(z, 64)
        exact = x * y + z
        assert found == exact & 0xFFFFFFFFFFFFFFFF
        assert carried >> lane & 1 == exact >> 64 & 1


@pytest.mark.parametrize("architecture", NAMES)
def test_selection_by_a_mask(architecture: str) -> None:
    bench = Bench(architecture)
    implied, other = masks(bench)
    first, second = (values("u32", bench.width, i) for i in range(2))
    bench.set_vector("v1", first)
    bench.set_vector("v2", second)
    bench.set_mask(106, MASK)
    bench.set_mask(4, ~MASK)
    chosen = [s if MASK >> lane & 1 else f for lane, (f, s) in enumerate(zip(first, second, strict=True))]
    bench.run(f"v_cndmask_b32_e32 v3, v1, v2, {implied}", f"v_cndmask_b32_e64 v4, v2, v1, {other}")
    assert bench.vector("v3") == chosen
    assert bench.vector("v4") == chosen
    bench.run(f"v_cndmask_b32_e64 v5, 0, 1, {implied}", f"v_cndmask_b32_e64 v6, -v1, 1.0, {implied}")
    assert bench.vector("v5") == [MASK >> lane & 1 for lane in range(bench.width)]
    expected = [0x3F800000 if MASK >> lane & 1 else f ^ 0x80000000 for lane, f in enumerate(first)]
    assert bench.vector("v6") == expected


@pytest.mark.parametrize("architecture", NAMES)
def test_a_product_added_to_the_destination(architecture: str) -> None:
    bench = Bench(architecture)
    given = [values("f32", bench.width, ("fmac", i)) for i in range(3)]
    for register, operand in zip(("v1", "v2", "v3"), given, strict=True):
        bench.set_vector(register, operand)
    bench.run("v_fmac_f32_e32 v3, v1, v2")
    for lane, found in enumerate(bench.vector("v3")):
        expected = floats.multiply_add(given[0][lane], given[1][lane], given[2][lane], F32)
        assert floats.is_nan(found, F32) if expected is None else found == expected


@pytest.mark.parametrize("architecture", NAMES)
def test_the_steps_of_a_division(architecture: str) -> None:
    bench = Bench(architecture)
    _, other = masks(bench)
    denominators, numerators = values("f32", bench.width, "d"), values("f32", bench.width, "n")
    bench.set_vector("v1", denominators)
    bench.set_vector("v2", numerators)
    for first, register in (("v1", denominators), ("v2", numerators)):
        bench.run(f"v_div_scale_f32 v3, {other}, {first}, v1, v2")
        flags = bench.mask(4)
        for lane, found in enumerate(bench.vector("v3")):
            expected, flag = definitions.division_scale(register[lane], denominators[lane], numerators[lane])
            assert floats.is_nan(found, F32) if expected is None else found == expected, lane
            assert bool(flags >> lane & 1) == flag, lane
    third = values("f32", bench.width, "q")
    bench.set_vector("v4", third)
    bench.set_mask(106, MASK)
    bench.run("v_div_fmas_f32 v5, v1, v2, v4")
    for lane, found in enumerate(bench.vector("v5")):
        power = 64 if floats.exponent_of(third[lane], F32) > 127 else -64
        exponent = power if MASK >> lane & 1 else 0
        expected = floats.multiply_add(denominators[lane], numerators[lane], third[lane], F32, exponent)
        assert floats.is_nan(found, F32) if expected is None else found == expected, lane


@pytest.mark.parametrize("architecture", NAMES)
def test_a_division_as_the_compiler_writes_it_is_rounded_correctly(architecture: str) -> None:
    """LLVM's sequence for an exact float32 division, on 1,280 or 2,560 pairs."""
    bench = Bench(architecture)
    implied, other = masks(bench)
    nothing = other if bench.width == 64 else "null"
    for turn in range(40):
        denominators, numerators = values("f32", bench.width, ("d", turn)), values("f32", bench.width, ("n", turn))
        bench.set_vector("v1", denominators)
        bench.set_vector("v2", numerators)
        bench.run(
            f"v_div_scale_f32 v3, {nothing}, v1, v1, v2",
            "v_rcp_f32_e32 v4, v3",
            "v_fma_f32 v5, -v3, v4, 1.0",
            "v_fmac_f32_e32 v4, v5, v4",
            f"v_div_scale_f32 v5, {implied}, v2, v1, v2",
            "v_mul_f32_e32 v6, v5, v4",
            "v_fma_f32 v7, -v3, v6, v5",
            "v_fmac_f32_e32 v6, v7, v4",
            "v_fma_f32 v3, -v3, v6, v5",
            "v_div_fmas_f32 v3, v3, v4, v6",
            "v_div_fixup_f32 v3, v3, v1, v2",
        )
        for lane, found in enumerate(bench.vector("v3")):
            expected = floats.quotient(numerators[lane], denominators[lane], F32)
            given = hex(numerators[lane]), hex(denominators[lane])
            assert floats.is_nan(found, F32) if expected is None else found == expected, given


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize(
    ("instruction", "function"),
    [
        ("v_exp_f32_e32 v2, v1", lambda x: 2.0**x),
        ("v_exp_f32_e64 v2, -v1", lambda x: 2.0**-x),
        ("v_log_f32_e32 v2, v1", math.log2),
    ],
)
def test_exponentials_and_logarithms_are_within_half_an_ulp(
    architecture: str, instruction: str, function: Callable[[float], float]
) -> None:
    bench = Bench(architecture)
    given = [floats.bits_of(Fraction(lane * 37 + 1, 64), F32) for lane in range(bench.width)]
    bench.set_vector("v1", given)
    bench.run(instruction)
    for bits, found in zip(given, bench.vector("v2"), strict=True):
        exact = Fraction(function(float(floats.value_of(bits, F32))))
        step = floats.value_of(found + 1, F32) - floats.value_of(found, F32)
        assert abs(floats.value_of(found, F32) - exact) <= abs(step) * Fraction(501, 1000)


def test_scalar_exponential_and_logarithm_of_generation_12() -> None:
    bench = Bench("gfx1201")
    for power, value in ((0x40400000, 0x41000000), (0xC0000000, 0x3E800000), (0xFF800000, 0)):
        bench.set_scalar(4, power)
        bench.run("v_s_exp_f32 s5, s4")
        assert bench.scalar(5) == value
        bench.run("v_s_log_f32 s4, s5")
        assert bench.scalar(4) == power


def test_scalar_float_comparisons_of_generation_12() -> None:
    bench = Bench("gfx1201")
    one, two, nan = 0x3F800000, 0x40000000, 0x7FC00000
    cases = (
        ("ge", one, one, True), ("ge", one, two, False), ("le", one, two, True), ("le", nan, one, False),
        ("lt", one, two, True), ("gt", two, one, True), ("eq", 0, 0x80000000, True), ("u", nan, one, True),
    )  # fmt: skip
    for name, first, second, expected in cases:
        bench.set_scalar(4, first)
        bench.set_scalar(5, second)
        bench.run(f"s_cmp_{name}_f32 s4, s5")
        assert bool(bench.machine.scc[0]) == expected, name


@pytest.mark.parametrize("table", [0x6C, 0xC8, 0xF8, 0x00, 0xFF, 0x96, 0x01])
def test_three_operands_through_a_table(table: int) -> None:
    bench = Bench("gfx950")
    given = [values("u32", 64, ("bitop3", i)) for i in range(3)]
    for register, operand in zip(("v1", "v2", "v3"), given, strict=True):
        bench.set_vector(register, operand)
    bench.set_vector("v5", [0xABCD1234] * 64)
    bench.run(f"v_bitop3_b32 v4, v1, v2, v3 bitop3:{table:#x}", f"v_bitop3_b16 v5, v1, v2, v3 bitop3:{table:#x}")
    for lane, (wide, narrow) in enumerate(zip(bench.vector("v4"), bench.vector("v5"), strict=True)):
        bits = [[operand[lane] >> place & 1 for operand in given] for place in range(32)]
        expected = sum((table >> (4 * x + 2 * y + z) & 1) << place for place, (x, y, z) in enumerate(bits))
        assert wide == expected
        assert narrow & 0xFFFF == expected & 0xFFFF


@pytest.mark.parametrize("architecture", NAMES)
def test_bits_of_a_mask_below_each_lane(architecture: str) -> None:
    bench = Bench(architecture)
    bench.set_scalar(4, MASK, 2)
    bench.set_vector("v1", [100] * bench.width)
    bench.run("v_mbcnt_lo_u32_b32 v2, s4, v1")
    if bench.width == 64:
        bench.run("v_mbcnt_hi_u32_b32 v2, s5, v2")
    mask = MASK & ((1 << bench.width) - 1)
    assert bench.vector("v2") == [100 + (mask & ((1 << lane) - 1)).bit_count() for lane in range(bench.width)]


@pytest.mark.parametrize("architecture", NAMES)
def test_unsigned_sums_that_do_not_wrap_around(architecture: str) -> None:
    bench = Bench(architecture)
    name = "v_{}_u32_e64" if architecture in WAVE64 else "v_{}_nc_u32_e64"
    first, second = (values("u32", bench.width, ("clamp", i)) for i in range(2))
    bench.set_vector("v1", first)
    bench.set_vector("v2", second)
    bench.run(f"{name.format('sub')} v3, v1, v2 clamp", f"{name.format('add')} v4, v1, v2 clamp")
    for lane, (x, y) in enumerate(zip(first, second, strict=True)):
        assert bench.vector("v3")[lane] == max(0, x - y)
        assert bench.vector("v4")[lane] == min(0xFFFFFFFF, x + y)


PARTS = {"BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_3": (24, 8), "WORD_0": (0, 16), "WORD_1": (16, 16), "DWORD": (0, 32)}


@pytest.mark.parametrize("architecture", WAVE64)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("sign", [False, True])
def test_parts_of_registers_as_sources(architecture: str, part: str, sign: bool) -> None:
    bench = Bench(architecture)
    first, second = (values("u32", 64, ("sdwa", i)) for i in range(2))
    bench.set_vector("v1", first)
    bench.set_vector("v2", second)
    bench.exec(MASK)
    operand = "sext(v1)" if sign else "v1"
    tail = f"src0_sel:{part} src1_sel:DWORD"
    bench.run(
        f"v_min_i32_sdwa v3, {operand}, v2 dst_sel:DWORD dst_unused:UNUSED_PAD {tail}",
        f"v_cmp_le_i32_sdwa s[4:5], {operand}, v2 {tail}",
        f"v_cmp_lt_i32_sdwa s[6:7], v2, {operand} src0_sel:DWORD src1_sel:{part}",
    )
    start, width = PARTS[part]
    flags, above = bench.mask(4), bench.mask(6)
    for lane in range(64):
        if not MASK >> lane & 1:
            assert not (flags | above) >> lane & 1
            continue
        taken = first[lane] >> start & ((1 << width) - 1)
        value = definitions.signed(taken, width) if sign else definitions.signed(taken, 32)
        other = definitions.signed(second[lane], 32)
        assert bench.vector("v3")[lane] == min(value, other) & 0xFFFFFFFF
        assert bool(flags >> lane & 1) == (value <= other)
        assert bool(above >> lane & 1) == (value > other)


@pytest.mark.parametrize("architecture", WAVE64)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("unused", ["UNUSED_PAD", "UNUSED_PRESERVE"])
@pytest.mark.parametrize(("name", "compute"), [("and", lambda x, y: x & y), ("or", lambda x, y: x | y)])
def test_parts_of_registers_as_destinations(
    architecture: str, part: str, unused: str, name: str, compute: Callable[[int, int], int]
) -> None:
    bench = Bench(architecture)
    first, second = (values("u32", 64, ("sdwa", i)) for i in range(2))
    bench.set_vector("v1", first)
    bench.set_vector("v2", second)
    before = bench.vector("v3")
    bench.run(f"v_{name}_b32_sdwa v3, v1, v2 dst_sel:{part} dst_unused:{unused} src0_sel:DWORD src1_sel:BYTE_1")
    start, width = PARTS[part]
    mask = ((1 << width) - 1) << start
    for lane, found in enumerate(bench.vector("v3")):
        value = compute(first[lane], second[lane] >> 8 & 255) << start & mask
        kept = before[lane] & ~mask if unused == "UNUSED_PRESERVE" else 0
        assert found == value | kept


@pytest.mark.parametrize("architecture", WAVE64)
def test_other_instructions_on_parts(architecture: str) -> None:
    bench = Bench(architecture)
    given = values("f16", 64, "f16")
    words = [0x1234 | value << 16 for value in given]
    bench.set_vector("v1", words)
    bench.set_vector("v2", [lane % 16 for lane in range(64)])
    bench.set_scalar(8, 0x7C00)
    bench.run(
        "v_cvt_f32_f16_sdwa v3, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1",
        "v_cmp_eq_u16_sdwa s[4:5], v1, s8 src0_sel:WORD_1 src1_sel:DWORD",
        "v_cmp_ne_u16_sdwa s[10:11], v1, s8 src0_sel:WORD_1 src1_sel:DWORD",
        "v_cmp_lg_f16_sdwa s[12:13], v1, s8 src0_sel:WORD_1 src1_sel:DWORD",
        "v_cmp_lt_u32_sdwa s[14:15], v1, v2 src0_sel:WORD_1 src1_sel:DWORD",
        "v_ashrrev_i32_sdwa v4, v2, sext(v1) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:WORD_1",
    )
    for lane, half in enumerate(given):
        expected = floats.converted(half, F16, F32)
        found = bench.vector("v3")[lane]
        assert floats.is_nan(found, F32) if expected is None else found == expected
        assert bool(bench.mask(4) >> lane & 1) == (half == 0x7C00)
        assert bool(bench.mask(10) >> lane & 1) == (half != 0x7C00)
        assert bool(bench.mask(12) >> lane & 1) == (half != 0x7C00 and not floats.is_nan(half, F16))
        assert bool(bench.mask(14) >> lane & 1) == (half < lane % 16)
        assert bench.vector("v4")[lane] == definitions.signed(half, 16) >> (lane % 16) & 0xFFFFFFFF


@pytest.mark.parametrize("architecture", WAVE64)
@pytest.mark.parametrize("part", PARTS)
def test_sums_shifts_and_products_of_parts(architecture: str, part: str) -> None:
    bench = Bench(architecture)
    first, second = (values("u32", 64, ("parts", i)) for i in range(2))
    bench.set_vector("v1", first)
    bench.set_vector("v2", second)
    tail = "dst_sel:DWORD dst_unused:UNUSED_PAD"
    bench.run(
        f"v_add_u32_sdwa v3, v1, v2 {tail} src0_sel:{part} src1_sel:WORD_1",
        f"v_lshlrev_b32_sdwa v4, v2, v1 {tail} src0_sel:BYTE_3 src1_sel:{part}",
        f"v_mul_u32_u24_sdwa v5, v1, v2 {tail} src0_sel:{part} src1_sel:BYTE_0",
        f"v_add_u16_sdwa v6, v1, v2 {tail} src0_sel:{part} src1_sel:DWORD",
        f"v_sub_u16_sdwa v7, v2, v1 {tail} src0_sel:WORD_1 src1_sel:{part}",
    )
    start, width = PARTS[part]
    for lane, (word, other) in enumerate(zip(first, second, strict=True)):
        taken = word >> start & ((1 << width) - 1)
        expected = (taken + (other >> 16), taken << (other >> 24 & 31), (taken & 0xFFFFFF) * (other & 255))
        found = tuple(bench.vector(register)[lane] for register in ("v3", "v4", "v5"))
        assert found == tuple(value & 0xFFFFFFFF for value in expected), (hex(word), hex(other))
        halves = taken + other, (other >> 16) - taken
        assert tuple(bench.vector(register)[lane] for register in ("v6", "v7")) == tuple(v & 0xFFFF for v in halves)


@pytest.mark.parametrize("architecture", WAVE32)
def test_halves_of_registers_by_name_and_by_op_sel(architecture: str) -> None:
    bench = Bench(architecture)
    words = values("u32", 32, "halves")
    bench.set_vector("v1", words)
    bench.set_vector("v2", [0xAAAABBBB] * 32)
    bench.set_vector("v3", [0xAAAABBBB] * 32)
    bench.run("v_mov_b16_e32 v2.h, v1.l", "v_mov_b16_e32 v3.l, v1.h")
    assert bench.vector("v2") == [(w & 0xFFFF) << 16 | 0xBBBB for w in words]
    assert bench.vector("v3") == [0xAAAA0000 | w >> 16 for w in words]
    bench.set_vector("v4", [0xAAAABBBB] * 32)
    bench.run("v_add_nc_u16 v4, v1, v1 op_sel:[1,0,1]")
    assert bench.vector("v4") == [((w >> 16) + w & 0xFFFF) << 16 | 0xBBBB for w in words]


@pytest.mark.parametrize(("architecture", "kept"), [("gfx942", 0), ("gfx950", 0), ("gfx1100", 0xAAAA0000)])
def test_the_other_half_of_a_16_bit_result(architecture: str, kept: int) -> None:
    """Generation 9 clears it, later ones keep it."""
    bench = Bench(architecture)
    bench.set_vector("v1", [0x12345678] * bench.width)
    bench.set_vector("v2", [0xAAAABBBB] * bench.width)
    name = "v_add_u16_e32" if architecture in WAVE64 else "v_add_nc_u16"
    bench.run(f"{name} v2, v1, v1")
    assert bench.vector("v2") == [kept | 0xACF0] * bench.width


@pytest.mark.parametrize("architecture", WAVE64)
def test_two_floats_at_once(architecture: str) -> None:
    bench = Bench(architecture)
    pairs = [values("f32", 64, ("pair", i)) for i in range(4)]
    bench.set_vector("v[2:3]", [a | b << 32 for a, b in zip(pairs[0], pairs[1], strict=True)])
    bench.set_vector("v[4:5]", [a | b << 32 for a, b in zip(pairs[2], pairs[3], strict=True)])
    bench.run(
        "v_pk_add_f32 v[6:7], v[2:3], v[4:5]",
        "v_pk_mul_f32 v[8:9], v[2:3], v[4:5] op_sel:[0,1] op_sel_hi:[1,0]",
        "v_pk_add_f32 v[10:11], v[2:3], v[4:5] neg_lo:[0,1] neg_hi:[0,1]",
        "v_pk_mul_f32 v[12:13], v[2:3], 0.5 op_sel_hi:[1,0]",
    )

    def expect(register: str, lane: int, low: int | None, high: int | None) -> None:
        found = bench.vector(register)[lane]
        for part, value in ((found & 0xFFFFFFFF, low), (found >> 32, high)):
            assert floats.is_nan(part, F32) if value is None else part == value

    for lane in range(64):
        a, b, c, d = (pair[lane] for pair in pairs)
        expect("v[6:7]", lane, floats.add(a, c, F32), floats.add(b, d, F32))
        expect("v[8:9]", lane, floats.multiply(a, d, F32), floats.multiply(b, c, F32))
        expect("v[10:11]", lane, floats.add(a, c ^ F32.sign, F32), floats.add(b, d ^ F32.sign, F32))
        expect("v[12:13]", lane, floats.multiply(a, 0x3F000000, F32), floats.multiply(b, 0x3F000000, F32))


CLASSES = (
    (0x7F800001, 0), (0xFFC00000, 1), (0xFF800000, 2), (0xBF800000, 3), (0x80000001, 4), (0x80000000, 5), (0, 6),
    (0x007FFFFF, 7), (0x00800000, 8), (0x7F800000, 9),
)  # fmt: skip
"""A float32, and the bit of its class: signalling NaN, quiet NaN, -inf, and so on up to +inf."""


@pytest.mark.parametrize("architecture", NAMES)
def test_classes_of_floats(architecture: str) -> None:
    bench = Bench(architecture)
    given = [CLASSES[lane % len(CLASSES)] for lane in range(bench.width)]
    bench.set_vector("v1", [bits for bits, _ in given])
    implied, _ = masks(bench)
    for classes in (*(1 << bit for bit in range(10)), 0x1F8, 0x260, 0):
        bench.set_vector("v2", [classes] * bench.width)
        bench.run(f"v_cmp_class_f32_e32 {implied}, v1, v2")
        assert bench.mask() == sum(1 << lane for lane, (_, bit) in enumerate(given) if classes >> bit & 1)


PACKED: dict[str, tuple[str, Callable[..., int | None]]] = {
    "v_pk_add_u16": ("u16", lambda x, y: x + y),
    "v_pk_add_i16": ("i16", lambda x, y: x + y),
    "v_pk_sub_u16": ("u16", lambda x, y: x - y),
    "v_pk_sub_i16": ("i16", lambda x, y: x - y),
    "v_pk_mul_lo_u16": ("u16", lambda x, y: x * y),
    "v_pk_max_u16": ("u16", max),
    "v_pk_min_u16": ("u16", min),
    "v_pk_max_i16": ("i16", max),
    "v_pk_min_i16": ("i16", min),
    "v_pk_lshlrev_b16": ("u16", lambda x, y: y << (x & 15)),
    "v_pk_lshrrev_b16": ("u16", lambda x, y: y >> (x & 15)),
    "v_pk_ashrrev_i16": ("i16", lambda x, y: y >> (x & 15)),
    "v_pk_add_f16": ("f16", lambda x, y: floats.add(x, y, F16)),
    "v_pk_mul_f16": ("f16", lambda x, y: floats.multiply(x, y, F16)),
    "v_pk_max_f16": ("f16", definitions.number_maximum(F16)),
    "v_pk_min_f16": ("f16", definitions.number_minimum(F16)),
}
RENAMED = {("gfx1201", "v_pk_max_f16"), ("gfx1201", "v_pk_min_f16")}
"""Generation 12 has them by other names."""


@pytest.mark.parametrize(
    ("architecture", "mnemonic"),
    [(a, m) for a in NAMES for m in PACKED if (a, m) not in RENAMED],
)
@pytest.mark.parametrize(("low", "high"), [((0, 0), (1, 1)), ((1, 0), (0, 1)), ((0, 1), (0, 1))])
def test_two_halves_at_once(architecture: str, mnemonic: str, low: tuple[int, int], high: tuple[int, int]) -> None:
    """Which halves make the lower result, and which the upper one."""
    kind, compute = PACKED[mnemonic]
    bench = Bench(architecture)
    words = [
        [a | b << 16 for a, b in zip(*(values(kind, bench.width, (i, half)) for half in (0, 1)), strict=True)]
        for i in (1, 2)
    ]
    for register, operand in zip(("v1", "v2"), words, strict=True):
        bench.set_vector(register, operand)
    bench.run(f"{mnemonic} v3, v1, v2 op_sel:[{low[0]},{low[1]}] op_sel_hi:[{high[0]},{high[1]}]")
    for lane, found in enumerate(bench.vector("v3")):
        for part, chosen in ((found & 0xFFFF, low), (found >> 16, high)):
            taken = [word[lane] >> (16 * half) & 0xFFFF for word, half in zip(words, chosen, strict=True)]
            taken = [definitions.signed(value, 16) if kind == "i16" else value for value in taken]
            expected = compute(*taken)
            assert floats.is_nan(part, F16) if expected is None else part == expected & 0xFFFF


@pytest.mark.parametrize(
    ("mnemonic", "place"), [("v_fma_mix_f32", None), ("v_fma_mixlo_f16", 0), ("v_fma_mixhi_f16", 16)]
)
def test_products_of_mixed_formats(mnemonic: str, place: int | None) -> None:
    """The first operand is a float32, the second the lower, the third the upper half of a register."""
    bench = Bench("gfx1100")
    first, second, third = values("f32", 32, "a"), values("f16", 32, "b"), values("f16", 32, "c")
    bench.set_vector("v1", first)
    bench.set_vector("v2", [0xABCD0000 | half for half in second])
    bench.set_vector("v3", [half << 16 | 0x1234 for half in third])
    bench.set_vector("v4", [0x11112222] * 32)
    bench.run(f"{mnemonic} v4, v1, v2, v3 op_sel:[0,0,1] op_sel_hi:[0,1,1]")
    for lane, found in enumerate(bench.vector("v4")):
        low, high = (floats.converted(half[lane], F16, F32) for half in (second, third))
        whole = None if low is None or high is None else floats.multiply_add(first[lane], low, high, F32)
        if place is None:
            assert floats.is_nan(found, F32) if whole is None else found == whole
            continue
        half = None if whole is None else floats.converted(whole, F32, F16)
        assert floats.is_nan(found >> place & 0xFFFF, F16) if half is None else found >> place & 0xFFFF == half
        assert found >> (16 - place) & 0xFFFF == 0x11112222 >> (16 - place) & 0xFFFF


def test_two_floats_narrowed_into_one_register() -> None:
    bench = Bench("gfx950")
    first, second = values("f32", 64, 1), values("f32", 64, 2)
    bench.set_vector("v1", first)
    bench.set_vector("v2", second)
    bench.run("v_cvt_pk_f16_f32 v3, v1, v2")
    for lane, found in enumerate(bench.vector("v3")):
        for half, bits in ((found & 0xFFFF, first[lane]), (found >> 16, second[lane])):
            expected = floats.converted(bits, F32, F16)
            assert floats.is_nan(half, F16) if expected is None else half == expected


@pytest.mark.parametrize("architecture", WAVE32)
def test_selection_of_halves_and_exchange_of_registers(architecture: str) -> None:
    bench = Bench(architecture)
    first, second = values("u32", 32, 1), values("u32", 32, 2)
    bench.set_vector("v1", first)
    bench.set_vector("v2", second)
    bench.set_vector("v3", [0xAAAABBBB] * 32)
    bench.set_mask(106, MASK)
    bench.run("v_cndmask_b16 v3.l, v1.l, v2.h, vcc_lo")
    expected = [0xAAAA0000 | (s >> 16 if MASK >> lane & 1 else f & 0xFFFF)
                for lane, (f, s) in enumerate(zip(first, second, strict=True))]  # fmt: skip
    assert bench.vector("v3") == expected
    bench.exec(MASK)
    bench.run("v_swap_b32 v1, v2")
    on = [bool(MASK >> lane & 1) for lane in range(32)]
    assert bench.vector("v1") == [s if o else f for f, s, o in zip(first, second, on, strict=True)]
    assert bench.vector("v2") == [f if o else s for f, s, o in zip(first, second, on, strict=True)]


def test_constants_of_64_bit_operations() -> None:
    """A literal is the upper half of a double, the lower half of an unsigned number; small ones keep their sign."""
    bench = Bench("gfx950")
    bench.set_vector("v[2:3]", [0] * 64)
    bench.run(
        "v_add_f64 v[4:5], v[2:3], 0x40690000", "v_add_f64 v[6:7], v[2:3], -4.0", "v_lshrrev_b64 v[8:9], 4, -1",
        "s_mov_b64 s[4:5], 0xf0000000", "s_mov_b64 s[6:7], -2",
    )  # fmt: skip
    assert bench.vector("v[4:5]")[0] == 0x4069000000000000  # 200.0
    assert bench.vector("v[6:7]")[0] == 0xC010000000000000
    assert bench.vector("v[8:9]")[0] == 0x0FFFFFFFFFFFFFFF
    assert bench.scalar(4, 2) == 0xF0000000
    assert bench.scalar(6, 2) == 0xFFFFFFFFFFFFFFFE


@pytest.mark.parametrize("chosen", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_two_registers_moved_at_once(chosen: tuple[int, int]) -> None:
    bench = Bench("gfx950")
    first, second = values("u64", 64, 1), values("u64", 64, 2)
    bench.set_vector("v[2:3]", first)
    bench.set_vector("v[4:5]", second)
    bench.exec(MASK)
    bench.run(f"v_pk_mov_b32 v[4:5], v[2:3], v[4:5] op_sel:[{chosen[0]},{chosen[1]}]")  # onto its own source
    for lane, found in enumerate(bench.vector("v[4:5]")):
        low, high = (w[lane] >> (32 * c) & 0xFFFFFFFF for w, c in zip((first, second), chosen, strict=True))
        assert found == (low | high << 32 if MASK >> lane & 1 else second[lane])


@pytest.mark.parametrize("architecture", NAMES)
def test_sign_modifiers_and_what_is_done_to_a_result(architecture: str) -> None:
    bench = Bench(architecture)
    given = values("f32", bench.width, "signs")
    bench.set_vector("v1", given)
    bench.set_vector("v2", [0] * bench.width)
    maximum = "v_max_num_f32_e64" if architecture == "gfx1201" else "v_max_f32_e64"
    bench.run("v_mul_f32_e64 v3, -|v1|, 1.0", f"{maximum} v4, v1, v1 clamp")
    bench.run("v_mul_f32_e64 v5, v1, 1.0 mul:2", "v_mul_f32_e64 v6, v1, 1.0 div:2")
    for lane, bits in enumerate(given):
        if floats.is_nan(bits, F32):
            assert bench.vector("v4")[lane] == 0
            continue
        assert bench.vector("v3")[lane] == bits | F32.sign
        assert bench.vector("v5")[lane] == floats.multiply(bits, 0x40000000, F32)
        assert bench.vector("v6")[lane] == floats.multiply(bits, 0x3F000000, F32)
        if bits & F32.sign:
            assert bench.vector("v4")[lane] & ~F32.sign == 0
        else:
            assert bench.vector("v4")[lane] == min(bits, 0x3F800000)


@pytest.mark.parametrize("architecture", WAVE32)
@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("v_dual_mov_b32 v1, v2 :: v_dual_mov_b32 v2, v1", "v2", "v1"),
        ("v_dual_add_nc_u32 v1, v2, v3 :: v_dual_lshlrev_b32 v2, 4, v1", "v2 + v3", "v1 << 4"),
        ("v_dual_and_b32 v1, v2, v3 :: v_dual_mov_b32 v2, v1", "v2 & v3", "v1"),
        ("v_dual_mov_b32 v1, 7 :: v_dual_and_b32 v2, v1, v3", "7", "v1 & v3"),
    ],
)
def test_halves_of_a_dual_instruction_read_before_either_writes(
    architecture: str, text: str, first: str, second: str
) -> None:
    bench = Bench(architecture)
    given = {name: values("u32", 32, name) for name in ("v1", "v2", "v3")}
    for name, operand in given.items():
        bench.set_vector(name, operand)
    bench.run(text)
    for lane in range(32):
        scope = {name: operand[lane] for name, operand in given.items()}
        assert bench.vector("v1")[lane] == eval(first, {}, scope) & 0xFFFFFFFF
        assert bench.vector("v2")[lane] == eval(second, {}, scope) & 0xFFFFFFFF


@pytest.mark.parametrize("architecture", WAVE32)
def test_dual_instructions_on_floats(architecture: str) -> None:
    bench = Bench(architecture)
    given = {f"v{i}": values("f32", 32, ("dual", i)) for i in range(1, 9)}
    for name, operand in given.items():
        bench.set_vector(name, operand)
    bench.set_mask(106, MASK)
    maximum = "v_dual_max_num_f32" if architecture == "gfx1201" else "v_dual_max_f32"
    bench.run(
        "v_dual_add_f32 v11, v1, v2 :: v_dual_mul_f32 v12, v3, v4",
        "v_dual_sub_f32 v13, v1, v2 :: v_dual_subrev_f32 v14, v3, v4",
        f"{maximum} v15, v1, v2 :: v_dual_fmac_f32 v5, v3, v4",
        f"{maximum.replace('max', 'min')} v18, v1, v2 :: v_dual_mov_b32 v19, v3",
        "v_dual_cndmask_b32 v16, v1, v2 :: v_dual_mov_b32 v17, v3",
    )
    for lane in range(32):
        a, b, c, d, e = (given[f"v{i}"][lane] for i in range(1, 6))
        expected = {
            "v11": floats.add(a, b, F32),
            "v12": floats.multiply(c, d, F32),
            "v13": floats.add(a, b ^ F32.sign, F32),
            "v14": floats.add(d, c ^ F32.sign, F32),
            "v15": definitions.number_maximum(F32)(a, b),
            "v5": floats.multiply_add(c, d, e, F32),
            "v18": definitions.number_minimum(F32)(a, b),
            "v16": b if MASK >> lane & 1 else a,
            "v17": c,
        }
        for register, value in expected.items():
            found = bench.vector(register)[lane]
            assert floats.is_nan(found, F32) if value is None else found == value, (register, lane)


@pytest.mark.parametrize(
    "text",
    [
        "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]",
        "v_add_u32_e32 v1, v2, v3 gds",
        "v_add_u32_e32 v1, v2",
        "v_add_u32_e32 v1, -v2, v3",
        "v_mov_b32_e32 s1, v2",
        "v_add_f32_e32 v1.h, v2, v3",
        "v_mov_b32_e32 v1, src_lds_direct",
        "v_add_u32_e64 v1, v2, v3 op_sel:[1,0,0]",
        "v_and_b32_sdwa v1, v2, v3 dst_sel:BYTE_7",
        "v_cndmask_b32_e64 v1, v2, v3, v4",
        "s_mov_b64 s[1:2], s[4:5]",
        "v_cmp_gt_i64_e32 vcc, 0x80000000, v[2:3]",
        "v_cmpx_eq_u32_e32 v1, v2",
    ],
)
def test_what_is_not_known_is_refused_by_name(text: str) -> None:
    with pytest.raises(UnknownInstruction) as raised:
        Bench("gfx950").run(text)
    assert text in str(raised.value)
