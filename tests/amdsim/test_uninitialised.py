"""What nobody wrote: it may be carried around, but nothing may depend on it."""

from __future__ import annotations

import numpy as np
import pytest
from bench import NAMES, WAVE64
from test_control import launched, written

from amdsim import Argument, Grid, Memory, Options, program, run
from amdsim.errors import Uninitialised

START = """
\t{load} s[4:5], s[0:1], 0x0
\tv_lshlrev_b32_e32 v1, 2, v0
"""
FAULTS = {
    "a register that is stored": ("{store} v1, v9, s[4:5]", "what is stored depends"),
    "a register in a sum that is stored": ("{add} v9, v9, v0\n\t{store} v1, v9, s[4:5]", "what is stored depends"),
    "an address": ("{add} v9, v9, v1\n\t{store} v9, v0, s[4:5]", "an address depends"),
    "a scalar address": ("{load} s[8:9], s[30:31], 0x0", "an address depends"),
    "an LDS address": ("{write} v9, v0", "an LDS address depends"),
    "LDS": ("{read} v2, v1\n\t{store} v1, v2, s[4:5]", "what is stored depends"),
    "a branch": ("s_cmp_eq_u32 s30, 0\n\ts_bitcmp1_b32 s30, 3\n\ts_cbranch_scc1 .LBB0_9", "the branch depends"),
    "scc": ("s_cbranch_scc1 .LBB0_9", "the branch depends"),
    "the exec mask": ("v_cmp_gt_i32_e32 {vcc}, 0, v9\n\t{save}\n\t{store} v1, v0, s[4:5]", "exec mask depends"),
    "a lane's number": ("v_readlane_b32 s8, v0, s30", "the lane's number depends"),
}


def body_of(architecture: str, text: str) -> str:
    return written(architecture, f"{START}\t{text}\n.LBB0_9:\n\ts_endpgm")


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize("fault", FAULTS)
def test_what_may_not_depend_on_it(architecture: str, fault: str) -> None:
    text, message = FAULTS[fault]
    body = body_of(architecture, text)
    for seed in range(4):
        with pytest.raises(Uninitialised, match=message):
            launched(architecture, body, lds=1024, seed=seed)


@pytest.mark.parametrize("architecture", NAMES)
def test_it_is_harmless_where_it_is_selected_away(architecture: str) -> None:
    text = """v_cmp_gt_u32_e32 {vcc}, 32, v0
\t{add} v2, v9, v0
\tv_cndmask_b32_e64 v2, v0, 5, {vcc}
\t{store} v1, v2, s[4:5]"""
    data = launched(architecture, body_of(architecture, text))
    assert data[:32].tolist() == [5] * 32


def test_twins_can_be_left_out() -> None:
    launched("gfx950", body_of("gfx950", "{store} v1, v9, s[4:5]"), twins=False)


@pytest.mark.parametrize("architecture", NAMES)
@pytest.mark.parametrize("known", [0, 128, 256])
def test_memory_of_which_some_bytes_are_known(architecture: str, known: int) -> None:
    wave = 64 if architecture in WAVE64 else 32
    from bench import assembly

    word = "global_load_dword" if architecture in WAVE64 else "global_load_b32"
    body = body_of(architecture, f"{word} v2, v1, s[4:5]\n\t{{store}} v1, v2, s[4:5] offset:512")
    kernel = program(assembly(architecture, body, arguments=[(8, "global_buffer")]))
    data, mask = np.arange(1024, dtype=np.uint32), np.zeros(4096, np.bool_)
    mask[:known] = True
    memory = Memory()
    address = memory.add("half known", data, known=mask)
    if known < 4 * wave:
        with pytest.raises(Uninitialised):
            run(kernel, Grid(1), [Argument("ptr", address)], memory)
        return
    run(kernel, Grid(1), [Argument("ptr", address)], memory)
    assert data[128 : 128 + wave].tolist() == list(range(wave))
    assert mask[512 : 512 + 4 * wave].all()  # what a kernel stores is known
    assert not mask[512 + 4 * wave :].any()


def test_atomic_updates_make_memory_known_and_need_it_known() -> None:
    from bench import assembly

    body = body_of("gfx950", "global_atomic_add v2, v1, v0, s[4:5] sc0\n\t{store} v1, v2, s[4:5]")
    kernel = program(assembly("gfx950", body, arguments=[(8, "global_buffer")]))
    for known in (True, False):
        memory = Memory()
        address = memory.add("counters", np.zeros(64, np.uint32), known=np.full(256, known))
        if known:
            run(kernel, Grid(1), [Argument("ptr", address)], memory, Options(races=False))
        else:
            with pytest.raises(Uninitialised):
                run(kernel, Grid(1), [Argument("ptr", address)], memory, Options(races=False))
