"""Every instruction that the project's kernels consist of is simulated, and has a test."""

from __future__ import annotations

import re
from pathlib import Path

import emitted
import pytest
from definitions import SCALAR, VECTOR, comparison

from amdsim import instructions
from amdsim.architectures import ARCHITECTURES
from amdsim.errors import UnknownInstruction

HERE = Path(__file__).parent
SPECIAL = "test_vector_special.py::"
ELSEWHERE = {
    r"v_accvgpr_(read|write)_b32": "test_vector_instructions.py::test_accumulation_registers",
    r"v_(add|add_nc)_u32_dpp": "test_dpp.py::test_each_lane_reads_its_lane",
    r"v_(mov_b32|max_i32|min_i32)_dpp": "test_dpp.py::test_instructions_of_a_scan",
    r"v_add_f32_dpp": "test_dpp.py::test_floats_with_a_sign_modifier",
    r"v_add_co_u32_e64_dpp": "test_dpp.py::test_a_carry_of_moved_operands",
    r"v_add3_u32_e64_dpp": "test_dpp.py::test_a_sum_of_three_with_the_first_moved",
    r"v_(min_i32|cmp_l[et]_i32)_sdwa": SPECIAL + "test_parts_of_registers_as_sources",
    r"v_(and|or)_b32_sdwa": SPECIAL + "test_parts_of_registers_as_destinations",
    r"v_(ashrrev_i32|cvt_f32_f16|cmp_(eq|ne)_u16|cmp_lg_f16|cmp_lt_u32)_sdwa": SPECIAL
    + "test_other_instructions_on_parts",
    r"v_((add|sub)_u16|add_u32|lshlrev_b32|mul_u32_u24)_sdwa": SPECIAL + "test_sums_shifts_and_products_of_parts",
    r"v_dual_\w+": "test_vector_special.py::test_dual_instructions_on_floats",
    r"v_(add|sub|subrev|addc|subb|subbrev)_co(_ci)?_u32\w*": "test_vector_special.py::test_sums_with_a_carry",
    r"v_mad(_co)?_[ui]64_[ui]32": "test_vector_special.py::test_sums_of_products",
    r"v_cndmask_b32_e(32|64)": "test_vector_special.py::test_selection_by_a_mask",
    r"v_cndmask_b16": "test_vector_special.py::test_selection_of_halves_and_exchange_of_registers",
    r"v_pk_mov_b32": "test_vector_special.py::test_two_registers_moved_at_once",
    r"scratch_(load|store)_(dword(x[234])?|b(32|64|96|128))": "test_global_memory.py::test_scratch",
    r"global_(load|store)_(d16_(hi_)?b16|short_d16(_hi)?)": "test_global_memory.py::test_halves_of_registers",
    r"v_fmac_f32_e32": "test_vector_special.py::test_a_product_added_to_the_destination",
    r"v_div_(scale|fmas)_f32": "test_vector_special.py::test_the_steps_of_a_division",
    r"v_(exp_f32_e(32|64)|log_f32_e32)": SPECIAL + "test_exponentials_and_logarithms_are_within_half_an_ulp",
    r"v_s_(exp|log)_f32": "test_vector_special.py::test_scalar_exponential_and_logarithm_of_generation_12",
    r"s_cmp_\w+_f32": "test_vector_special.py::test_scalar_float_comparisons_of_generation_12",
    r"v_bitop3_b(16|32)": "test_vector_special.py::test_three_operands_through_a_table",
    r"v_mbcnt_(lo|hi)_u32_b32": "test_vector_special.py::test_bits_of_a_mask_below_each_lane",
    r"v_pk_\w+_[buif]16": "test_vector_special.py::test_two_halves_at_once",
    r"v_pk_(add|mul)_f32": "test_vector_special.py::test_two_floats_at_once",
    r"v_readfirstlane_b32": "test_lanes.py::test_the_first_lane_that_is_on",
    r"v_(read|write)lane_b32": "test_lanes.py::test_a_lane_by_number_whatever_exec_says",
    r"ds_bpermute_b32": "test_lanes.py::test_each_lane_reads_the_lane_that_its_address_names",
    r"ds_swizzle_b32": "test_lanes.py::test_swizzles",
    r"v_permlanex16_b32": "test_lanes.py::test_permutations_within_and_across_rows",
    r"v_permlane(16|32)_swap_b32_e32": "test_lanes.py::test_rows_swapped_between_registers",
    r"s_\w+_saveexec_b(32|64)": "test_lanes.py::test_exec_is_saved_and_narrowed",
    r"ds_(read|load|write|store)_b(32|64|96|128)": "test_local_memory.py::test_what_is_stored_is_loaded",
    r"ds_(read|write)2(st64)?_b(32|64)": "test_local_memory.py::test_two_values_at_once",
    r"ds_(load|store)_2addr(_stride64)?_b(32|64)": "test_local_memory.py::test_two_values_at_once",
    r"ds_(read|load|write|store)_[bu](8|16)": "test_local_memory.py::test_bytes_and_halves",
    r"ds_\w+_d16(_hi)?": "test_local_memory.py::test_halves_of_registers",
    r"ds_add_u32": "test_local_memory.py::test_atomic_updates",
    r"(global|buffer)_(load|store)_(dword(x[234])?|b(32|64|96|128))": "test_global_memory.py::test_loads_and_stores",
    r"(global|buffer)_(load|store)_([bui](8|16)|[us]?(short|byte))": "test_global_memory.py::test_bytes_and_halves",
    r"global_atomic_add(_u32)?": "test_global_memory.py::test_atomic_updates",
    r"s_load_(dword(x[248])?|b(32|64|128|256))": "test_global_memory.py::test_scalar_loads",
    r"s_load_(u16|b96)": "test_global_memory.py::test_short_scalar_loads_of_generation_12",
    r"s_branch|s_cbranch_scc[01]": "test_control.py::test_waves_take_loops_of_their_own_lengths",
    r"s_cbranch_(vcc|exec)n?z": "test_control.py::test_conditions_on_masks",
    r"s_barrier|s_barrier_(signal|wait)": "test_control.py::test_a_barrier_orders_what_waves_exchange",
    r"s_(get|set)pc_b64": "test_control.py::test_a_far_jump",
    r"s_endpgm": "test_control.py::test_workgroups_of_a_grid",
    r"s_wait\w*|s_delay_alu|s_clause|s_nop|s_sendmsg": "test_emitted.py::test_waits_change_nothing",
    r"s_set_inst_prefetch_distance": "test_emitted.py::test_waits_change_nothing",
    r"(buffer|global)_\w*inv": "test_emitted.py::test_waits_change_nothing",
}
"""Instructions that are no entry of a table of definitions: a pattern, and the test of them."""

COMPARISON = re.compile(r"v_cmpx?_([a-z]+)_([uif]\d+)_e(32|64)")


def in_a_table(mnemonic: str) -> bool:
    """Whether the tests of tables of definitions reach it."""
    if match := COMPARISON.fullmatch(mnemonic):
        return comparison(match[1], match[2]) is not None
    plain = emitted.encoding(mnemonic) in ("", "e32", "e64") and not mnemonic.startswith("v_accvgpr")
    return mnemonic in SCALAR or (plain and emitted.base(mnemonic) in VECTOR)


def test_there_is_a_list_for_every_architecture() -> None:
    assert {architecture for architecture, _ in emitted.instructions()} == set(ARCHITECTURES)


@pytest.mark.parametrize("mnemonic", sorted({m for _, m in emitted.instructions()}))
def test_an_emitted_instruction_is_simulated_and_tested(mnemonic: str) -> None:
    assert instructions.known(mnemonic)
    if in_a_table(mnemonic):
        return
    tests = {test for pattern, test in ELSEWHERE.items() if re.fullmatch(pattern, mnemonic)}
    assert tests, f"{mnemonic} is emitted, and no test of it is named here"
    for test in tests:
        file, _, function = test.partition("::")
        assert f"def {function}(" in (HERE / file).read_text(), test


def test_an_instruction_that_is_not_simulated_would_be_found() -> None:
    with pytest.raises(UnknownInstruction, match="not simulated: v_mfma_f32_16x16x16_f16"):
        instructions.check(["v_add_f32_e32", "v_mfma_f32_16x16x16_f16"])


@pytest.mark.parametrize(
    "text",
    ["s_waitcnt vmcnt(0) lgkmcnt(0)", "s_waitcnt_vscnt null, 0x0", "s_waitcnt_depctr 0xfffe", "s_wait_kmcnt 0x0",
     "s_wait_loadcnt 0x0", "s_wait_storecnt 0x0", "s_wait_dscnt 0x0", "s_wait_loadcnt_dscnt 0x0",
     "s_wait_storecnt_dscnt 0x0", "s_wait_alu depctr_sa_sdst(0)",
     "s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT)", "s_clause 0x1", "s_nop 1",
     "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)", "buffer_gl0_inv", "buffer_inv sc1", "global_inv scope:SCOPE_SE",
     "s_set_inst_prefetch_distance 0x1"],
)  # fmt: skip
def test_waits_change_nothing(text: str) -> None:
    from bench import Bench

    bench = Bench("gfx1201")
    before = bench.machine.vectors.copy(), bench.machine.scalars.copy()
    bench.run(text)
    assert (bench.machine.vectors == before[0]).all()
    assert (bench.machine.scalars == before[1]).all()


def test_a_message_that_is_not_known_is_refused() -> None:
    from bench import Bench

    with pytest.raises(UnknownInstruction, match="a message"):
        Bench("gfx1201").run("s_sendmsg sendmsg(MSG_INTERRUPT)")
