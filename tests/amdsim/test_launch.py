"""Launches: what waves find in their registers, arguments, and what no GPU would accept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from bench import NAMES, WAVE64, assembly
from test_control import names, written

from amdsim import Argument, Grid, Memory, Options, Simulator, program, run
from amdsim.errors import LaunchFault

ONE = Grid(1)


def stored(architecture: str, register: str, *, grid: Grid = ONE, **more: Any) -> np.ndarray:
    """What a scalar register holds, by workgroup: stored at 4 * (x + 8 * (y + 8 * z))."""
    words = names(architecture)
    if architecture == "gfx1201":
        coordinates = "\ts_and_b32 s21, ttmp7, 0xffff\n\ts_lshr_b32 s22, ttmp7, 16\n\ts_mov_b32 s20, ttmp9"
    else:
        first = 2 + int(more.get("preload", 0))
        coordinates = f"\ts_mov_b32 s20, s{first}\n\ts_mov_b32 s21, s{first + 1}\n\ts_mov_b32 s22, s{first + 2}"
    body = f"""
\ts_mov_b32 s23, {register}
{coordinates}
\ts_lshl_b32 s22, s22, 3
\ts_or_b32 s22, s22, s21
\ts_lshl_b32 s22, s22, 3
\ts_or_b32 s22, s22, s20
\t{words["load"]} s[24:25], s[0:1], 0x0
\tv_mov_b32_e32 v1, s22
\tv_lshlrev_b32_e32 v1, 2, v1
\tv_mov_b32_e32 v2, s23
\t{words["store"]} v1, v2, s[24:25]
\ts_endpgm"""
    return launch_with(architecture, body, [], grid, **more)


def launch_with(
    architecture: str, body: str, more: Sequence[tuple[int, str, Argument | None]], grid: Grid = ONE, **options: Any
) -> np.ndarray:
    """Run a body whose first argument is some memory, with others after it; that memory, as words."""
    fields = [(8, "global_buffer"), *((size, kind) for size, kind, _ in more)]
    data = np.full(1024, 0xFFFFFFFF, np.uint32)
    memory = Memory()
    address = memory.add("the data", data)
    arguments = [Argument("ptr", address), *(argument for _, _, argument in more if argument is not None)]
    run(program(assembly(architecture, body, arguments=fields, **options)), grid, arguments, memory)
    return data


@pytest.mark.parametrize("architecture", NAMES)
def test_coordinates_of_workgroups(architecture: str) -> None:
    grid = Grid(3, 4, 2)
    for axis, count in enumerate((3, 4, 2)):
        register = {0: "ttmp9", 1: "ttmp7", 2: "ttmp7"}[axis] if architecture == "gfx1201" else f"s{2 + axis}"
        data = stored(architecture, register, grid=grid)
        for x in range(3):
            for y in range(4):
                for z in range(2):
                    found = int(data[x + 8 * (y + 8 * z)])
                    if architecture == "gfx1201" and axis:
                        found = found & 0xFFFF if axis == 1 else found >> 16
                    assert found == (x, y, z)[axis]
        assert np.count_nonzero(data != 0xFFFFFFFF) == 24, count


@pytest.mark.parametrize("architecture", NAMES)
def test_numbers_of_work_items(architecture: str) -> None:
    wave = 64 if architecture in WAVE64 else 32
    body = written(architecture, """
\t{load} s[4:5], s[0:1], 0x0
\tv_lshlrev_b32_e32 v1, 2, v0
\t{store} v1, v0, s[4:5]
\ts_endpgm""")  # fmt: skip
    assert launch_with(architecture, body, [], threads=4 * wave)[: 4 * wave].tolist() == list(range(4 * wave))


def test_the_number_of_a_wave_in_generation_12() -> None:
    body = """
\ts_load_b64 s[4:5], s[0:1], 0x0
\ts_bfe_u32 s6, ttmp8, 0x50019
\tv_mov_b32_e32 v2, s6
\tv_lshlrev_b32_e32 v1, 2, v0
\tglobal_store_b32 v1, v2, s[4:5]
\ts_endpgm"""
    data = launch_with("gfx1201", body, [], threads=128)
    assert data[:128].tolist() == [lane // 32 for lane in range(128)]


ARGUMENTS = [
    (4, "by_value", Argument("i32", -7)),
    (8, "by_value", Argument("i64", -(2**40))),
    (4, "by_value", Argument("fp32", 1.5)),
    (2, "by_value", Argument("i16", -2)),
]


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize(("offset", "expected"), [(8, 2**32 - 7), (16, 0), (20, 2**32 - 256), (24, 0x3FC00000)])
def test_arguments_in_memory(architecture: str, offset: int, expected: int) -> None:
    word = "s_load_dword" if architecture in WAVE64 else "s_load_b32"
    body = written(architecture, f"""
\t{{load}} s[4:5], s[0:1], 0x0
\t{word} s6, s[0:1], {offset:#x}
\tv_mov_b32_e32 v1, s6
\tv_lshlrev_b32_e32 v2, 2, v0
\t{{store}} v2, v1, s[4:5]
\ts_endpgm""")  # fmt: skip
    assert launch_with(architecture, body, ARGUMENTS)[0] == expected


@pytest.mark.parametrize("architecture", WAVE64)
def test_arguments_in_registers(architecture: str) -> None:
    """Preloaded: hardware that does so starts behind the first branch's target."""
    prologue = """
\ts_load_dwordx2 s[2:3], s[0:1], 0x0
\ts_mov_b32 s4, 13
\ts_branch .LBB0_0
\ts_trap 2
.LBB0_0:
"""
    body = f"""{prologue}
\tv_mov_b32_e32 v1, s4
\tv_lshlrev_b32_e32 v2, 2, v0
\tglobal_store_dword v2, v1, s[2:3]
\tv_mov_b32_e32 v1, s5
\tglobal_store_dword v2, v1, s[2:3] offset:256
\ts_endpgm""".replace("\ts_trap 2\n", "")
    data = launch_with(architecture, body, [(4, "by_value", Argument("i32", 77))], preload=3)
    assert data[0] == 77  # not the 13 of the prologue, which is for other hardware
    assert data[64] == 0  # the workgroup follows


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize(("axis", "expected"), [("x", 5), ("y", 3), ("z", 2)])
def test_hidden_arguments(architecture: str, axis: str, expected: int) -> None:
    """What tl.num_programs reads."""
    word = "s_load_dword" if architecture in WAVE64 else "s_load_b32"
    hidden = [(4, f"hidden_block_count_{a}", None) for a in "xyz"] + [(2, "hidden_group_size_x", None)]
    offset = 8 + 4 * "xyz".index(axis)
    body = written(architecture, f"""
\t{{load}} s[4:5], s[0:1], 0x0
\t{word} s6, s[0:1], {offset:#x}
\tv_mov_b32_e32 v1, s6
\tv_lshlrev_b32_e32 v2, 2, v0
\t{{store}} v2, v1, s[4:5]
\ts_endpgm""")  # fmt: skip
    assert launch_with(architecture, body, hidden, Grid(5, 3, 2))[0] == expected


END = "\n\ts_endpgm"


@pytest.mark.parametrize(
    ("architecture", "more", "grid", "message"),
    [
        ("gfx950", {"threads": 1088}, Grid(1), "1088 work items: a workgroup may have 1024"),
        ("gfx1100", {"threads": 1056}, Grid(1), "1056 work items"),
        ("gfx950", {"threads": 100}, Grid(1), "whole waves"),
        ("gfx942", {"lds": 65537}, Grid(1), "65537 bytes of LDS: gfx942 has 65536"),
        ("gfx950", {}, Grid(0), "grid 0 x 1 x 1"),
        ("gfx950", {}, Grid(1, 65536), "grid 1 x 65536 x 1"),
    ],
)
def test_what_no_gpu_would_accept(architecture: str, more: dict[str, Any], grid: Grid, message: str) -> None:
    with pytest.raises(LaunchFault, match=message):
        run(program(assembly(architecture, END, **more)), grid, [], Memory())


def test_lds_of_gfx950_is_larger() -> None:
    run(program(assembly("gfx950", END, lds=160 * 1024)), Grid(1), [], Memory())


def test_arguments_that_are_not_the_kernels() -> None:
    kernel = program(assembly("gfx950", END, arguments=[(8, "global_buffer"), (4, "by_value")]))
    with pytest.raises(LaunchFault, match="1 arguments: expected 2"):
        run(kernel, Grid(1), [Argument("ptr", 0)], Memory())
    with pytest.raises(LaunchFault, match="i64 at byte 8: expected 4 bytes"):
        run(kernel, Grid(1), [Argument("ptr", 0), Argument("i64", 0)], Memory())
    with pytest.raises(LaunchFault, match="argument kind 'complex'"):
        run(kernel, Grid(1), [Argument("ptr", 0), Argument("complex", 0)], Memory())


def test_what_is_no_kernel_or_for_another_card() -> None:
    with pytest.raises(LaunchFault, match="no amdgcn kernel"):
        program("\t.target sm_90\n")
    with pytest.raises(LaunchFault, match="'gfx906' is not simulated: expected one of gfx942, gfx950"):
        program(assembly("gfx950", END).replace("gfx950", "gfx906"))


def test_a_simulator_keeps_what_it_prepared_and_nothing_else() -> None:
    body = written("gfx950", """
\t{load} s[4:5], s[0:1], 0x0
\tv_lshlrev_b32_e32 v1, 2, v0
\t{store} v1, v0, s[4:5]
\ts_endpgm""")  # fmt: skip
    kernel = program(assembly("gfx950", body, arguments=[(8, "global_buffer")]))
    simulator = Simulator(Options(seed=1))
    for _ in range(3):
        data = np.zeros(64, np.uint32)
        memory = Memory()
        simulator.run(kernel, Grid(1), [Argument("ptr", memory.add("data", data))], memory)
        assert data.tolist() == list(range(64))
        assert len(memory.buffers) == 1  # the arguments' is gone
