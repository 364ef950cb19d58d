"""Fused multiply-adds that nobody wrote are told from those that swallowed an addition, on pieces of real listings."""

from __future__ import annotations

import machine_code
import pytest

ONE_ADDITION = "  %1 = fmul float %a, %b\n  %2 = fadd float %1, %c\n"

AMD = {
    "separate": ("v_mul_f32_e32 v1, v2, v3\n v_add_f32_e32 v1, v1, v4", False),
    "fused": ("v_fma_f32 v1, v2, v3, v4", True),
    "fused in place": ("v_fmac_f32_e32 v4, v2, v3", True),
    "fused with a constant": ("v_fmaak_f32 v1, v2, v3, 0x3c16d3eb", True),
    "fused as a scalar": ("s_fmac_f32 s1, s2, s3", True),
    "fused beside another": ("v_dual_mov_b32 v9, 0 :: v_dual_fmac_f32 v4, v2, v3", True),
    "fused in a pair": ("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]", True),
    "integers": ("v_add_f32_e32 v1, v1, v4\n v_mad_u64_u32 v[4:5], s[0:1], v1, v2, v[6:7]", False),
    "added, and a conversion to int64": (
        "v_add_f32_e32 v0, v1, v4\n s_mov_b32 s2, 0xcf800000\n v_fma_f32 v4, v1, s2, |v0|",
        False,
    ),
    "added twice, and a conversion": (
        "v_add_f32_e32 v0, v1, v4\n v_add_f32_e32 v0, v1, v4\n v_fma_f32 v4, 0xcf800000, v1, |v0|",
        False,
    ),
    "added twice, and one fused": (
        "v_add_f32_e32 v0, v1, v4\n v_add_f32_e32 v0, v1, v4\n v_fma_f32 v4, v2, v1, v0",
        True,
    ),
    "the register of 2**32 is put to another use": (
        "s_mov_b32 s2, 0xcf800000\n s_load_dwordx2 s[2:3], s[0:1], 0x0\n v_fma_f32 v4, v1, s2, v0",
        True,
    ),
    "a division, and the addition": (
        "v_add_f32_e32 v1, v1, v4\n v_fma_f32 v2, -v4, v5, 1.0\n v_div_fixup_f32 v0, v4, v0, v1",
        False,
    ),
    "a division that is shorter, which could hide one": (
        "v_fma_f32 v2, -v4, v5, 1.0\n v_div_fixup_f32 v0, v4, v0, v1",
        True,
    ),
    "the rest of a division of small integers": (
        "v_mul_f32_e32 v23, v22, v21\n v_trunc_f32_e32 v23, v23\n v_fma_f32 v22, -v23, v16, v22",
        False,
    ),
    "a product with what was a quotient": (
        "v_trunc_f32_e32 v23, v23\n v_mul_f32_e32 v23, v22, v21\n v_fma_f32 v22, -v23, v16, v22",
        True,
    ),
    "a division": (
        "v_fma_f32 v2, -v4, v5, 1.0\n v_fmac_f32_e32 v5, v2, v5\n v_fma_f32 v3, -v4, v6, v7\n"
        " v_fmac_f32_e32 v6, v3, v5\n v_fma_f32 v4, -v4, v6, v7\n v_div_fmas_f32 v4, v4, v5, v6\n"
        " v_div_fixup_f32 v0, v4, v0, v1",
        False,
    ),
}


@pytest.mark.parametrize(("assembly", "fused"), AMD.values(), ids=AMD.keys())
def test_amd(assembly: str, fused: bool) -> None:
    assert machine_code.amd_additions(ONE_ADDITION, assembly).may_be_fused("hip") == fused


MUL_ADD = "mul.rn.f32 %r1, %r2, %r3;\nadd.rn.f32 %r4, %r1, %r5;\n"
FMA = "fma.rn.f32 %r4, %r2, %r3, %r5;\n"
NVIDIA = {
    "separate": (MUL_ADD, "/*0010*/  FMUL R1, R2, R3 ;\n/*0020*/  FADD R1, R1, R4 ;", False),
    "separate, in a pair of which one is idle": (MUL_ADD, "/*0020*/  FADD2 R2, R2.F32x2.HI_LO, R4.F32 ;", False),
    "fused by LLVM": (FMA, "/*0010*/  FFMA R1, R2, R3, R4 ;", True),
    "fused by ptxas": (MUL_ADD, "/*0010*/  FFMA R1, R2, R3, R4 ;", True),
    "fused where a predicate holds": (MUL_ADD, "/*0010*/  @!P0 FFMA.FTZ R1, R2, R3, R4 ;", True),
    "fused in a pair": (MUL_ADD, "/*0010*/  FFMA2 R2, R2.F32x2.HI_LO, R4.F32x2.HI_LO, R6.F32x2.HI_LO ;", True),
    "a constant made by a half-precision one": (MUL_ADD, "/*0020*/  HFMA2 R5, -RZ, RZ, 0, 0 ;", False),
}


@pytest.mark.parametrize(("ptx", "sass", "fused"), NVIDIA.values(), ids=NVIDIA.keys())
def test_nvidia(ptx: str, sass: str, fused: bool) -> None:
    assert machine_code.nvidia_additions(ONE_ADDITION, ptx, sass).may_be_fused("cuda") == fused


LOGARITHM = "  %3 = tail call float @llvm.nvvm.fma.rn.f(float %a, float %b, float %c)\n"
ONE_FFMA = "/*0010*/  FFMA R1, R2, R3, R4 ;\n"
BESIDE_A_LOGARITHM = {
    "separate": (FMA + MUL_ADD, ONE_FFMA, False),
    "separate, of a vector with a lane that nothing reads": (FMA, ONE_FFMA, False),
    "fused by LLVM": (FMA + FMA, ONE_FFMA + ONE_FFMA, True),
    "fused by ptxas": (FMA + MUL_ADD, ONE_FFMA + ONE_FFMA, True),
}


@pytest.mark.parametrize(("ptx", "sass", "fused"), BESIDE_A_LOGARITHM.values(), ids=BESIDE_A_LOGARITHM.keys())
def test_nvidia_beside_a_logarithm(ptx: str, sass: str, fused: bool) -> None:
    assert machine_code.nvidia_additions(ONE_ADDITION + LOGARITHM, ptx, sass).may_be_fused("cuda") == fused


def test_additions_are_counted_by_lanes() -> None:
    kinds = ("fadd float", "fsub <2 x float>", "fadd contract float", "fadd double", "fmul float")
    assert machine_code.meant_additions("".join(f"%1 = {kind} %a, %b\n" for kind in kinds)) == 4


@pytest.mark.parametrize(
    ("ptx", "waits"),
    [
        ("ld.param.b64 %rd1, [kernel_param_0];\n griddepcontrol.wait; // %r1\n ld.global.b32 %r2, [ %rd1 + 0 ];", True),
        ("ld.global.b32 %r2, [ %rd1 + 0 ];\n griddepcontrol.wait; // %r1", False),
        ("@%p1 st.global.b32 [ %rd1 + 0 ], { %r1 };\n griddepcontrol.wait; // %r1", False),
        ("@%p1 bra $L__BB0_2;\n griddepcontrol.wait; // %r1\n ld.global.b32 %r2, [ %rd1 + 0 ];", False),
        ("ld.global.b32 %r2, [ %rd1 + 0 ];", False),
    ],
)
def test_what_comes_before_the_wait(ptx: str, waits: bool) -> None:
    assert machine_code.waits_first(ptx) == waits


def test_words_that_an_assembler_no_longer_says() -> None:
    with pytest.raises(ValueError, match=r"expected one .* found 0"):
        machine_code.nvidia_needs("ptxas info : nothing", 0)
