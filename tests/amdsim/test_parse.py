"""The compiler's text, taken apart."""

from __future__ import annotations

import pytest
from bench import assembly

from amdsim import parse
from amdsim.errors import UnknownInstruction
from amdsim.operands import Operand, operand
from amdsim.program import Instruction, Statement


def taken_apart(text: str) -> Instruction:
    return parse.instruction(Statement(text, 1, "", 0))


@pytest.mark.parametrize(
    ("text", "words", "modifiers", "flags"),
    [
        ("s_endpgm", (), {}, set()),
        ("buffer_inv sc1", (), {}, {"sc1"}),
        ("global_inv scope:SCOPE_DEV", (), {"scope": "SCOPE_DEV"}, set()),
        ("v_add_u32_e32 v1, s2, v3", ("v1", "s2", "v3"), {}, set()),
        ("global_load_dwordx4 v[2:5], v[8:9], off offset:16 nt", ("v[2:5]", "v[8:9]", "off"), {"offset": "16"}, {"nt"}),
        ("buffer_load_dword v1, v2, s[4:7], 0 offen", ("v1", "v2", "s[4:7]", "0"), {}, {"offen"}),
        ("v_mov_b32_dpp v1, v2 quad_perm:[1,0,3,2] row_mask:0xf", ("v1", "v2"),
         {"quad_perm": "[1,0,3,2]", "row_mask": "0xf"}, set()),
        ("ds_swizzle_b32 v1, v2 offset:swizzle(SWAP,16)", ("v1", "v2"), {"offset": "swizzle(SWAP,16)"}, set()),
        ("v_permlanex16_b32 v1, v2, s3, 0xfedcba98 op_sel:[1,0]", ("v1", "v2", "s3", "0xfedcba98"),
         {"op_sel": "[1,0]"}, set()),
        ("v_fma_f32 v1, -v2, |v3|, -|v4|", ("v1", "-v2", "|v3|", "-|v4|"), {}, set()),
        ("v_sub_u32_e64 v1, v2, 1 clamp", ("v1", "v2", "1"), {}, {"clamp"}),
        ("v_min_i32_sdwa v1, sext(v2), v3 dst_sel:DWORD src0_sel:WORD_1", ("v1", "sext(v2)", "v3"),
         {"dst_sel": "DWORD", "src0_sel": "WORD_1"}, set()),
        ("v_mov_b32_dpp v1, v2 row_mirror", ("v1", "v2"), {}, {"row_mirror"}),
    ],
)  # fmt: skip
def test_instructions(text: str, words: tuple[str, ...], modifiers: dict[str, str], flags: set[str]) -> None:
    found = taken_apart(text)
    assert (found.words, dict(found.modifiers), set(found.flags)) == (words, modifiers, flags)


def test_dual_instructions() -> None:
    found = taken_apart("v_dual_mov_b32 v1, v2 :: v_dual_add_f32 v3, 1.0, v5")
    assert (found.mnemonic, found.words) == ("v_dual_mov_b32", ("v1", "v2"))
    assert found.second is not None
    assert (found.second.mnemonic, found.second.words) == ("v_dual_add_f32", ("v3", "1.0", "v5"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v7", Operand("v7", "v", 7)),
        ("v[7:10]", Operand("v[7:10]", "v", 7, 4)),
        ("v7.h", Operand("v7.h", "v", 7, half="h")),
        ("a3", Operand("a3", "a", 3)),
        ("ttmp9", Operand("ttmp9", "s", 117)),
        ("vcc", Operand("vcc", "s", 106, 2)),
        ("exec_lo", Operand("exec_lo", "s", 126)),
        ("-|v1|", Operand("-|v1|", "v", 1, negate=True, absolute=True)),
        ("neg(1.0)", Operand("neg(1.0)", "number", value=1.0, negate=True)),
        ("sext(v2)", Operand("sext(v2)", "v", 2, extend=True)),
        ("0x7f", Operand("0x7f", "integer", value=127)),
        ("-16", Operand("-16", "integer", value=-16)),
        ("0.15915494", Operand("0.15915494", "number", value=0.15915494)),
        ("src_scc", Operand("src_scc", "scc")),
        ("null", Operand("null", "null")),
    ],
)
def test_operands(text: str, expected: Operand) -> None:
    assert operand(text) == expected


@pytest.mark.parametrize("text", ["v", "x1", "src_lds_direct", "v[1]", "hwreg(1)", "", "1.0.0"])
def test_operands_that_are_none(text: str) -> None:
    with pytest.raises(UnknownInstruction, match="operand"):
        operand(text)


BODY = """
\t.loc\t1 5 7 ; kernel.py:5:7 @[ outer.py:1:1 ]
\ts_mov_b32 s4, (.LBB0_2-.Lpost0)&4294967295 ; a comment
.Lpost0:
\tv_mov_b32_e32 v12, v[3]                 // another
.LBB0_2:                                ; %loop
\t.loc\t1 6 1
\ts_endpgm"""


def test_kernels() -> None:
    program = parse.program(
        assembly("gfx950", BODY, threads=128, lds=16, scratch=8, arguments=[(8, "global_buffer")]), lds=32
    )
    assert program.name == "kernel"
    assert program.waves == 2
    assert (program.lds, program.scratch, program.kernarg_size) == (48, 8, 8)
    assert [s.text for s in program.statements] == ["s_mov_b32 s4, 0x4", "v_mov_b32_e32 v12, v[3]", "s_endpgm"]
    assert [s.source for s in program.statements] == ["kernel.py:5:7", "kernel.py:5:7", ""]
    assert program.labels == {".Lpost0": 1, ".LBB0_2": 2}
    assert program.vectors == 13
    assert program.mnemonics == {"s_mov_b32", "v_mov_b32_e32", "s_endpgm"}
    assert [(a.offset, a.size, a.kind) for a in program.arguments] == [(0, 8, "global_buffer")]
