"""Branches, barriers and ends: waves part and meet again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bench import NAMES, WAVE64, assembly

from amdsim import Argument, Grid, Memory, Options, program, run
from amdsim.errors import BarrierFault, Runaway, UnknownInstruction


def launched(
    architecture: str, body: str, *, waves: int = 1, grid: int = 1, size: int = 4096, lds: int = 0, **options: Any
) -> np.ndarray:
    """Run a body whose one argument is some memory; that memory, as words."""
    wave = 64 if architecture in WAVE64 else 32
    text = assembly(architecture, body, threads=waves * wave, arguments=[(8, "global_buffer")], lds=lds)
    data = np.zeros(size // 4, np.uint32)
    memory = Memory()
    address = memory.add("the data", data)
    run(program(text), Grid(grid), [Argument("ptr", address)], memory, Options(**options))
    return data


OLD_NAMES = {
    "load": "s_load_dwordx2",
    "store": "global_store_dword",
    "vcc": "vcc",
    "add": "v_add_u32_e32",
    "group": "s2",
    "barrier": "s_barrier",
    "sadd": "s_add_i32",
    "write": "ds_write_b32",
    "read": "ds_read_b32",
    "save": "s_and_saveexec_b64 s[20:21], vcc",
    "exec": "s_mov_b64 exec, s[20:21]",
}
NEW_NAMES = {
    "load": "s_load_b64",
    "store": "global_store_b32",
    "vcc": "vcc_lo",
    "add": "v_add_nc_u32_e32",
    "group": "s2",
    "barrier": "s_barrier",
    "sadd": "s_add_i32",
    "write": "ds_store_b32",
    "read": "ds_load_b32",
    "save": "s_and_saveexec_b32 s20, vcc_lo",
    "exec": "s_mov_b32 exec_lo, s20",
}
NEWEST_NAMES = NEW_NAMES | {
    "group": "ttmp9",
    "sadd": "s_add_co_i32",
    "barrier": "s_barrier_signal -1\n\ts_barrier_wait -1",
}


def names(architecture: str) -> dict[str, str]:
    """What the same things are called."""
    if architecture in WAVE64:
        return OLD_NAMES
    return NEWEST_NAMES if architecture == "gfx1201" else NEW_NAMES


def written(architecture: str, body: str) -> str:
    return body.format(**names(architecture))


@pytest.mark.parametrize("architecture", NAMES)
def test_waves_take_loops_of_their_own_lengths(architecture: str) -> None:
    """Wave w counts w + 1 times; then all meet and store."""
    wave = 64 if architecture in WAVE64 else 32
    shift = 6 if wave == 64 else 5
    body = written(architecture, f"""
\t{{load}} s[4:5], s[0:1], 0x0
\tv_lshrrev_b32_e32 v1, {shift}, v0
\tv_readfirstlane_b32 s6, v1
\ts_mov_b32 s7, 0
.LBB0_1:
\t{{sadd}} s7, s7, 10
\t{{sadd}} s6, s6, -1
\ts_cmp_ge_i32 s6, 0
\ts_cbranch_scc1 .LBB0_1
\tv_mov_b32_e32 v2, s7
\tv_lshlrev_b32_e32 v3, 2, v0
\t{{store}} v3, v2, s[4:5]
\ts_endpgm""")  # fmt: skip
    data = launched(architecture, body, waves=4)
    assert data[: 4 * wave].tolist() == [10 * (w + 1) for w in range(4) for _ in range(wave)]


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize("lanes", [32, 4096])
def test_workgroups_of_a_grid(architecture: str, lanes: int) -> None:
    """Each workgroup stores its number, whether they run together or one after the other."""
    body = written(architecture, """
\t{load} s[4:5], s[0:1], 0x0
\tv_mov_b32_e32 v1, {group}
\tv_lshlrev_b32_e32 v2, 2, v1
\tv_cmp_eq_u32_e32 {vcc}, 0, v0
\t{save}
\ts_cbranch_execz .LBB0_2
\t{store} v2, v1, s[4:5]
.LBB0_2:
\ts_endpgm""")  # fmt: skip
    data = launched(architecture, body, grid=37, lanes=lanes, seed=5)
    assert data[:38].tolist() == [*range(37), 0]


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize("barrier", [True, False])
def test_a_barrier_orders_what_waves_exchange(architecture: str, barrier: bool) -> None:
    from amdsim.errors import Race

    wave = 64 if architecture in WAVE64 else 32
    body = written(architecture, f"""
\t{{load}} s[4:5], s[0:1], 0x0
\tv_lshlrev_b32_e32 v1, 2, v0
\t{{write}} v1, v0
{'{barrier}' if barrier else 's_nop 0'}
\tv_xor_b32_e32 v2, {4 * wave}, v1
\t{{read}} v3, v2
\t{{store}} v1, v3, s[4:5]
\ts_endpgm""")  # fmt: skip
    if not barrier:
        with pytest.raises(Race):
            launched(architecture, body, waves=2, lds=1024)
        return
    data = launched(architecture, body, waves=2, lds=1024)
    assert data[: 2 * wave].tolist() == [lane ^ wave for lane in range(2 * wave)]


FAULTS = {
    "a wave that does not come": """
\ts_cmp_eq_u32 s6, 0
\ts_cbranch_scc1 .LBB0_1
\t{barrier}
.LBB0_1:
\ts_endpgm""",
    "waves at different barriers": """
\ts_cmp_eq_u32 s6, 0
\ts_cbranch_scc1 .LBB0_1
\t{barrier}
\ts_endpgm
.LBB0_1:
\t{barrier}
\ts_endpgm""",
    "lanes that are off": """
\tv_cmp_eq_u32_e32 {vcc}, 0, v0
\t{save}
\t{barrier}
\ts_endpgm""",
}


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize("fault", FAULTS)
def test_barriers_that_are_not_met_properly(architecture: str, fault: str) -> None:
    shift = 6 if architecture in WAVE64 else 5
    start = f"\n\tv_lshrrev_b32_e32 v1, {shift}, v0\n\tv_readfirstlane_b32 s6, v1"
    body = start + written(architecture, FAULTS[fault])
    with pytest.raises(BarrierFault, match="lanes switched off" if "lanes" in fault else "do not meet"):
        launched(architecture, body, waves=2)


def test_a_far_jump() -> None:
    body = """
\ts_load_b64 s[4:5], s[0:1], 0x0
\ts_getpc_b64 s[8:9]
.Lpost_getpc0:
\ts_add_co_u32 s8, s8, (.LBB0_9-.Lpost_getpc0)&4294967295
\ts_add_co_ci_u32 s9, s9, (.LBB0_9-.Lpost_getpc0)>>32
\ts_setpc_b64 s[8:9]
\tv_mov_b32_e32 v1, 1
\ts_endpgm
.LBB0_9:
\tv_mov_b32_e32 v1, 42
\tv_lshlrev_b32_e32 v2, 2, v0
\tglobal_store_b32 v2, v1, s[4:5]
\ts_endpgm"""
    assert launched("gfx1201", body)[:32].tolist() == [42] * 32


@pytest.mark.parametrize("architecture", NAMES)
def test_conditions_on_masks(architecture: str) -> None:
    """vccz, vccnz, execz and execnz, each taken and not."""
    wave = 64 if architecture in WAVE64 else 32
    cases = (
        ("ne", "vccz", "s_nop 0"), ("eq", "vccz", "s_nop 0"), ("eq", "vccnz", "s_nop 0"), ("ne", "vccnz", "s_nop 0"),
        ("ne", "execz", "{save}"), ("eq", "execz", "{save}"), ("eq", "execnz", "{save}"), ("ne", "execnz", "{save}"),
    )  # fmt: skip
    steps = "".join(
        f"""
\tv_cmp_{compare}_u32_e32 {{vcc}}, v0, v0
\t{setup}
\ts_cbranch_{branch} .LBB0_{2 * number}
\ts_branch .LBB0_{2 * number + 1}
.LBB0_{2 * number}:
\t{{exec}}
\tv_or_b32_e32 v1, {1 << number}, v1
.LBB0_{2 * number + 1}:
\t{{exec}}"""
        for number, (compare, branch, setup) in enumerate(cases)
    )
    everything = "s_mov_b64 s[20:21], exec" if wave == 64 else "s_mov_b32 s20, exec_lo"
    body = written(architecture, f"""
\t{{load}} s[4:5], s[0:1], 0x0
\tv_mov_b32_e32 v1, 0
\t{everything}{steps}
\tv_lshlrev_b32_e32 v2, 2, v0
\t{{store}} v2, v1, s[4:5]
\ts_endpgm""")  # fmt: skip
    assert launched(architecture, body)[:wave].tolist() == [0b01010101] * wave


def test_a_loop_that_does_not_end() -> None:
    with pytest.raises(Runaway, match="1000"):
        launched("gfx950", "\n.LBB0_0:\n\ts_mov_b32 s4, 0\n\ts_branch .LBB0_0\n\ts_endpgm", limit=1000)


def test_a_kernel_is_refused_before_it_runs_for_what_it_does_not_reach() -> None:
    with pytest.raises(UnknownInstruction, match="v_mfma_f32_16x16x4_f32, v_nonsense"):
        launched("gfx950", "\n\ts_endpgm\n\tv_nonsense v1\n\tv_mfma_f32_16x16x4_f32 v[0:3], v1, v2, v[0:3]")


def test_a_barrier_in_two_parts_with_an_access_between() -> None:
    body = "\n\ts_barrier_signal -1\n\tds_load_b32 v1, v0\n\ts_barrier_wait -1\n\ts_endpgm"
    with pytest.raises(UnknownInstruction, match="ds_load_b32 v1, v0 between"):
        launched("gfx1201", body, lds=1024)


def test_a_fault_names_the_instruction_its_line_and_the_source() -> None:
    body = """
\t.loc\t1 12 34 ; kernel.py:12:34 @[ other.py:1:2 ]
\tv_mov_b32_e32 v2, 0
\tv_mov_b32_e32 v3, 0
\tglobal_load_dword v1, v[2:3], off
\ts_endpgm"""
    with pytest.raises(Exception, match=r"`global_load_dword v1, v\[2:3\], off` \(assembly line 7, kernel.py:12:34\)"):
        launched("gfx950", body)
