"""DPP, lane by lane: the tables of "Data Parallel Processing" in AMD's documents for CDNA and RDNA."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from bench import NAMES, WAVE32, WAVE64, Bench

from amdsim.errors import UnknownInstruction

Source = Callable[[int, int], "int | None"]
"""The lane that a lane reads, by its number and the wave's width; None where there is none."""


def within_row(lane: int, place: int) -> int | None:
    return lane // 16 * 16 + place if 0 <= place < 16 else None


EVERYWHERE: dict[str, Source] = {
    "quad_perm:[1,0,3,2]": lambda lane, width: lane // 4 * 4 + (1, 0, 3, 2)[lane % 4],
    "quad_perm:[2,3,0,1]": lambda lane, width: lane // 4 * 4 + (2, 3, 0, 1)[lane % 4],
    "quad_perm:[3,3,3,3]": lambda lane, width: lane // 4 * 4 + 3,
    "row_shl:1": lambda lane, width: within_row(lane, lane % 16 + 1),
    "row_shl:4": lambda lane, width: within_row(lane, lane % 16 + 4),
    "row_shl:8": lambda lane, width: within_row(lane, lane % 16 + 8),
    "row_shr:1": lambda lane, width: within_row(lane, lane % 16 - 1),
    "row_shr:2": lambda lane, width: within_row(lane, lane % 16 - 2),
    "row_shr:4": lambda lane, width: within_row(lane, lane % 16 - 4),
    "row_shr:8": lambda lane, width: within_row(lane, lane % 16 - 8),
    "row_shr:15": lambda lane, width: within_row(lane, lane % 16 - 15),
    "row_ror:3": lambda lane, width: lane // 16 * 16 + (lane % 16 - 3) % 16,
    "row_mirror": lambda lane, width: lane // 16 * 16 + 15 - lane % 16,
    "row_half_mirror": lambda lane, width: lane // 8 * 8 + 7 - lane % 8,
}
GENERATION_9: dict[str, Source] = {
    "row_bcast:15": lambda lane, width: lane // 16 * 16 - 1 if lane >= 16 else None,
    "row_bcast:31": lambda lane, width: 31 if lane >= 32 else None,
    "wave_shl:1": lambda lane, width: lane + 1 if lane + 1 < width else None,
    "wave_shr:1": lambda lane, width: lane - 1 if lane else None,
    "wave_rol:1": lambda lane, width: (lane + 1) % width,
    "wave_ror:1": lambda lane, width: (lane - 1) % width,
    "row_newbcast:5": lambda lane, width: lane // 16 * 16 + 5,
}
LATER: dict[str, Source] = {
    "row_share:5": lambda lane, width: lane // 16 * 16 + 5,
    "row_xmask:6": lambda lane, width: lane // 16 * 16 + (lane % 16 ^ 6),
}
CASES = [(a, c, s) for a in NAMES for c, s in EVERYWHERE.items()]
CASES += [(a, c, s) for a in WAVE64 for c, s in GENERATION_9.items()]
CASES += [(a, c, s) for a in WAVE32 for c, s in LATER.items()]
MASKS = (-1, 0x0123456789ABCDEF, 0xFFFFFFFF0000FFFF)


@pytest.mark.parametrize(("architecture", "control", "source"), CASES)
@pytest.mark.parametrize("on", MASKS)
@pytest.mark.parametrize("more", ["", " row_mask:0xa bank_mask:0xf", " row_mask:0xf bank_mask:0x3", " fi:1"])
@pytest.mark.parametrize("zero", [False, True])
def test_each_lane_reads_its_lane(
    architecture: str, control: str, source: Source, on: int, more: str, zero: bool
) -> None:
    bench = Bench(architecture)
    width = bench.width
    bench.set_vector("v1", [1000 + lane for lane in range(width)])
    bench.set_vector("v2", [7 * lane for lane in range(width)])
    before = bench.vector("v3")
    bench.exec(on)
    masks = more if "row_mask" in more else " row_mask:0xf bank_mask:0xf" + more
    add = "v_add_u32_dpp" if architecture in WAVE64 else "v_add_nc_u32_dpp"
    bench.run(f"{add} v3, v1, v2 {control}{masks}{' bound_ctrl:1' if zero else ''}")
    rows = 0xA if "row_mask:0xa" in more else 0xF
    banks = 0x3 if "bank_mask:0x3" in more else 0xF
    for lane, found in enumerate(bench.vector("v3")):
        read = source(lane, width)
        there = read is not None and ("fi:1" in more or on >> read & 1)
        enabled = rows >> (lane // 16) & 1 and banks >> (lane % 16 // 4) & 1
        if not (on >> lane & 1 and enabled and (there or zero)):
            assert found == before[lane], lane
        else:
            assert found == (1000 + read if read is not None and there else 0) + 7 * lane, lane


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize(
    ("mnemonic", "compute"),
    [
        ("v_mov_b32_dpp", lambda moved, other: moved),
        ("v_max_i32_dpp", max),
        ("v_min_i32_dpp", min),
    ],
)
def test_instructions_of_a_scan(architecture: str, mnemonic: str, compute: Callable[..., int]) -> None:
    bench = Bench(architecture)
    first = [(lane * 37) % 64 for lane in range(bench.width)]
    second = [(lane * 11) % 64 for lane in range(bench.width)]
    bench.set_vector("v1", first)
    bench.set_vector("v2", second)
    words = "v3, v1" if mnemonic == "v_mov_b32_dpp" else "v3, v1, v2"
    bench.run(f"{mnemonic} {words} row_shr:2 row_mask:0xf bank_mask:0xf bound_ctrl:1")
    moved = [first[lane - 2] if lane % 16 >= 2 else 0 for lane in range(bench.width)]
    assert bench.vector("v3") == [compute(m, s) for m, s in zip(moved, second, strict=True)]


@pytest.mark.parametrize("architecture", WAVE32)
def test_a_sum_of_three_with_the_first_moved(architecture: str) -> None:
    bench = Bench(architecture)
    for register, scale in (("v1", 1), ("v2", 100), ("v3", 0x0F000000)):
        bench.set_vector(register, [scale * lane for lane in range(32)])
    bench.run("v_add3_u32_e64_dpp v4, v1, v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1")
    moved = [lane - 1 if lane % 16 else 0 for lane in range(32)]
    assert bench.vector("v4") == [m + 0x0F000064 * lane & 0xFFFFFFFF for lane, m in enumerate(moved)]


@pytest.mark.parametrize("architecture", NAMES)
def test_floats_with_a_sign_modifier(architecture: str) -> None:
    bench = Bench(architecture)
    bench.set_vector("v1", [0x3F800000 + lane for lane in range(bench.width)])  # 1.0 and a little
    bench.set_vector("v2", [0x40000000] * bench.width)  # 2.0
    bench.run("v_add_f32_dpp v3, -v1, v2 row_mirror row_mask:0xf bank_mask:0xf")
    first = bench.vector("v3")[15]
    assert first == 0x3F800000  # 2.0 - 1.0
    bench.run("v_sub_f32_dpp v4, |v1|, v2 row_mirror row_mask:0xf bank_mask:0xf")
    assert bench.vector("v4")[15] == 0xBF800000


@pytest.mark.parametrize("architecture", WAVE32)
def test_a_carry_of_moved_operands(architecture: str) -> None:
    bench = Bench(architecture)
    bench.set_vector("v1", [0xFFFFFFFF if lane % 2 else 5 for lane in range(32)])
    bench.set_vector("v2", [3] * 32)
    bench.run("v_add_co_u32_e64_dpp v3, s4, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1")
    moved = [0 if lane % 16 == 0 else 5 if lane % 2 else 0xFFFFFFFF for lane in range(32)]
    assert bench.vector("v3") == [(m + 3) & 0xFFFFFFFF for m in moved]
    assert bench.mask(4) == sum(1 << lane for lane, m in enumerate(moved) if m + 3 > 0xFFFFFFFF)


@pytest.mark.parametrize(
    ("architecture", "control"),
    [("gfx950", "row_share:1"), ("gfx950", "row_xmask:1"), ("gfx1100", "row_bcast:15"), ("gfx1201", "wave_shr:1"),
     ("gfx950", "row_bcast:7"), ("gfx950", "wave_shl:2")],
)  # fmt: skip
def test_a_control_that_the_architecture_has_not_is_refused(architecture: str, control: str) -> None:
    with pytest.raises(UnknownInstruction, match=control.partition(":")[0]):
        Bench(architecture).run(f"v_mov_b32_dpp v1, v2 {control} row_mask:0xf bank_mask:0xf")
