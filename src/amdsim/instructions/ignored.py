"""Instructions that change no value: waits, hints, and cache control, since memory here is always up to date.

What makes a cache forget, for the whole device, comes with an acquire: it orders accesses of different workgroups.
"""

from __future__ import annotations

from amdsim.instructions.forms import Binder
from amdsim.machine import Machine
from amdsim.program import Instruction
from amdsim.values import Thunk

NAMES = frozenset(
    {
        "s_waitcnt", "s_waitcnt_vscnt", "s_waitcnt_vmcnt", "s_waitcnt_lgkmcnt", "s_waitcnt_expcnt", "s_waitcnt_depctr",
        "s_wait_alu", "s_wait_idle", "s_wait_event", "s_wait_loadcnt", "s_wait_storecnt", "s_wait_samplecnt",
        "s_wait_bvhcnt", "s_wait_expcnt", "s_wait_dscnt", "s_wait_kmcnt", "s_wait_loadcnt_dscnt",
        "s_wait_storecnt_dscnt", "s_delay_alu", "s_nop", "v_nop", "s_clause", "s_setprio", "s_sleep", "s_sendmsg",
        "s_code_end", "s_icache_inv", "s_inst_prefetch", "s_set_inst_prefetch_distance", "s_sched_barrier",
        "s_prefetch_inst", "s_prefetch_inst_pc_rel", "buffer_wbl2", "buffer_gl0_inv", "global_wb",
    }
)  # fmt: skip


def _nothing(instruction: Instruction, machine: Machine) -> Thunk:
    if instruction.mnemonic == "s_sendmsg" and "MSG_DEALLOC_VGPRS" not in instruction.statement.text:
        raise instruction.unknown("a message")
    return nothing


def nothing() -> None:
    """What needs no time to be executed."""


def _forgotten(instruction: Instruction, machine: Machine) -> Thunk:
    text, flags = instruction.modifiers.get("scope", ""), instruction.flags
    wide = {
        "buffer_inv": "sc1" in flags,
        "buffer_gl1_inv": True,
        "global_inv": text in ("SCOPE_DEV", "SCOPE_SYS"),
        "global_wbinv": text in ("SCOPE_DEV", "SCOPE_SYS"),
    }
    if not wide[instruction.mnemonic]:
        return nothing
    return lambda: machine.local.acquire(machine.active)


TABLE: dict[str, Binder] = {
    **dict.fromkeys(NAMES, _nothing),
    **dict.fromkeys(("buffer_inv", "buffer_gl1_inv", "global_inv", "global_wbinv"), _forgotten),
}
