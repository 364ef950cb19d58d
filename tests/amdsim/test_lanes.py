"""Values that move between lanes, and between lanes and scalar registers."""

from __future__ import annotations

import random

import pytest
from bench import NAMES, WAVE32, WAVE64, Bench, values

from amdsim.errors import UnknownInstruction

ON = (-1, 0x00F0A5A5C3C30F10)


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize("on", [*ON, 0])
def test_the_first_lane_that_is_on(architecture: str, on: int) -> None:
    bench = Bench(architecture)
    given = values("u32", bench.width, "first")
    bench.set_vector("v1", given)
    bench.exec(on)
    on &= (1 << bench.width) - 1
    bench.run("v_readfirstlane_b32 s4, v1")
    assert bench.scalar(4) == given[(on & -on).bit_length() - 1 if on else 0]


@pytest.mark.parametrize("architecture", NAMES)
def test_a_lane_by_number_whatever_exec_says(architecture: str) -> None:
    bench = Bench(architecture)
    given = values("u32", bench.width, "lane")
    bench.set_vector("v1", given)
    bench.exec(1)
    bench.set_scalar(8, 5 + bench.width)  # modulo the width
    bench.run("v_readlane_b32 s4, v1, 9", "v_readlane_b32 s5, v1, s8")
    assert (bench.scalar(4), bench.scalar(5)) == (given[9], given[5])
    bench.set_scalar(9, 0xCAFE)
    bench.run("v_writelane_b32 v1, s9, 7", "v_writelane_b32 v1, -1, s8")
    expected = list(given)
    expected[7], expected[5] = 0xCAFE, 0xFFFFFFFF
    assert bench.vector("v1") == expected


def test_lanes_of_each_wave_are_its_own() -> None:
    bench = Bench("gfx950", waves=2)
    bench.set_vector("v1", [1] * 64, wave=0)
    bench.set_vector("v1", [2] * 64, wave=1)
    bench.run("v_readfirstlane_b32 s4, v1")
    assert [bench.scalar(4, wave=w) for w in (0, 1)] == [1, 2]


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize("on", ON)
def test_each_lane_reads_the_lane_that_its_address_names(architecture: str, on: int) -> None:
    bench = Bench(architecture)
    given = values("u32", bench.width, "bpermute")
    noise = random.Random(1)
    addresses = [noise.randrange(0, 1024) for _ in range(bench.width)]
    bench.set_vector("v1", addresses)
    bench.set_vector("v2", given)
    bench.exec(on)
    before = bench.vector("v3")
    bench.run("ds_bpermute_b32 v3, v1, v2 offset:8")
    for lane, found in enumerate(bench.vector("v3")):
        source = (addresses[lane] + 8) // 4 % bench.width
        expected = given[source] if on >> source & 1 else 0
        assert found == (expected if on >> lane & 1 else before[lane])


@pytest.mark.parametrize("architecture", NAMES)
def test_each_lane_writes_the_lane_that_its_address_names(architecture: str) -> None:
    bench = Bench(architecture)
    given = values("u32", bench.width, "permute")
    bench.set_vector("v1", [4 * (lane ^ 3) for lane in range(bench.width)])
    bench.set_vector("v2", given)
    bench.run("ds_permute_b32 v3, v1, v2")
    assert bench.vector("v3") == [given[lane ^ 3] for lane in range(bench.width)]


SWIZZLES = {
    "swizzle(SWAP,16)": lambda lane: lane ^ 16,
    "swizzle(REVERSE,8)": lambda lane: lane // 8 * 8 + 7 - lane % 8,
    "swizzle(BROADCAST,8,3)": lambda lane: lane // 8 * 8 + 3,
    "swizzle(QUAD_PERM,0,1,2,2)": lambda lane: lane // 4 * 4 + (0, 1, 2, 2)[lane % 4],
    "0x80b1": lambda lane: lane // 4 * 4 + (1, 0, 3, 2)[lane % 4],
    "0x401f": lambda lane: lane ^ 16,
    "0x1c0f": lambda lane: lane // 32 * 32 + ((lane % 32 & 15) ^ 7),
}


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize("pattern", SWIZZLES)
@pytest.mark.parametrize("on", ON)
def test_swizzles(architecture: str, pattern: str, on: int) -> None:
    bench = Bench(architecture)
    given = values("u32", bench.width, "swizzle")
    bench.set_vector("v1", given)
    bench.exec(on)
    before = bench.vector("v2")
    bench.run(f"ds_swizzle_b32 v2, v1 offset:{pattern}")
    for lane, found in enumerate(bench.vector("v2")):
        source = SWIZZLES[pattern](lane)
        expected = given[source] if on >> source & 1 else 0
        assert found == (expected if on >> lane & 1 else before[lane])


@pytest.mark.parametrize("architecture", WAVE32)
@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("inactive", [False, True])
@pytest.mark.parametrize("on", ON)
def test_permutations_within_and_across_rows(architecture: str, across: bool, inactive: bool, on: int) -> None:
    bench = Bench(architecture)
    given = values("u32", 32, "permlane")
    bench.set_vector("v1", given)
    selector = 0x0123456789ABCDEF
    bench.set_scalar(4, selector, 2)
    bench.exec(on)
    before = bench.vector("v2")
    mnemonic = "v_permlanex16_b32" if across else "v_permlane16_b32"
    bench.run(f"{mnemonic} v2, v1, s4, s5{' op_sel:[1,0]' if inactive else ''}")
    for lane, found in enumerate(bench.vector("v2")):
        source = (lane // 16 ^ across) * 16 + (selector >> (4 * (lane % 16)) & 15)
        there = inactive or on >> source & 1
        assert found == (given[source] if on >> lane & 1 and there else before[lane])


@pytest.mark.parametrize("distance", [16, 32])
def test_rows_swapped_between_registers(distance: int) -> None:
    bench = Bench("gfx950")
    first, second = values("u32", 64, 1), values("u32", 64, 2)
    bench.set_vector("v1", first)
    bench.set_vector("v2", second)
    bench.run(f"v_permlane{distance}_swap_b32_e32 v1, v2")
    for lane in range(64):
        odd = lane & distance
        assert bench.vector("v1")[lane] == (second[lane - distance] if odd else first[lane])
        assert bench.vector("v2")[lane] == (second[lane] if odd else first[lane + distance])
    bench.exec(1)
    with pytest.raises(UnknownInstruction, match="lanes that are off"):
        bench.run(f"v_permlane{distance}_swap_b32_e32 v1, v2")


@pytest.mark.parametrize("architecture", NAMES)
def test_exec_is_saved_and_narrowed(architecture: str) -> None:
    bench = Bench(architecture)
    width = bench.width
    old, mask = 0xFF00FF00FF00FF00 & ((1 << width) - 1), 0xF0F0F0F0F0F0F0F0 & ((1 << width) - 1)
    pair, other, everything = ("s[4:5]", "s[6:7]", "exec") if width == 64 else ("s4", "s6", "exec_lo")
    without = "andn2" if architecture in WAVE64 else "and_not1"
    for name, expected in (("and", old & mask), (without, mask & ~old), ("or", old | mask), ("xor", old ^ mask)):
        bench.exec(old)
        bench.set_mask(6, mask)
        bench.run(f"s_{name}_saveexec_b{width} {pair}, {other}", "v_mov_b32_e32 v1, 0")
        assert bench.mask(126) == expected
        assert bench.mask(4) == old
        assert bool(bench.machine.scc[0]) == (expected != 0)
    bench.exec(old)
    bench.set_vector("v2", [9] * width)
    bench.run(f"s_mov_b{width} {everything}, {other}", "v_mov_b32_e32 v2, 5")
    assert bench.vector("v2") == [5 if mask >> lane & 1 else 9 for lane in range(width)]


@pytest.mark.parametrize("architecture", NAMES)
def test_exec_is_narrowed_and_kept(architecture: str) -> None:
    bench = Bench(architecture)
    width = bench.width
    old, mask = 0xFF00FF00FF00FF00 & ((1 << width) - 1), 0xF0F0F0F0F0F0F0F0 & ((1 << width) - 1)
    pair, other = ("s[4:5]", "s[6:7]") if width == 64 else ("s4", "s6")
    bench.exec(old)
    bench.set_mask(6, mask)
    bench.run(f"s_{'andn1' if architecture in WAVE64 else 'and_not0'}_wrexec_b{width} {pair}, {other}")
    assert bench.mask(126) == bench.mask(4) == ~mask & old


def test_exec_of_another_width_is_refused() -> None:
    with pytest.raises(UnknownInstruction, match="exec has 64 bits"):
        Bench("gfx950").run("s_and_saveexec_b32 s4, s6")
