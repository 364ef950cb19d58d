"""Nothing compiles while serving: how many variants of a kernel the launch path asks for, on faked GPUs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
import torch

from qrita import device as devices
from qrita import plan as plans
from qrita import warming
from qrita.pipeline import KernelEngine
from qrita.records import Problem

DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def problems(dtype: torch.dtype) -> list[Problem]:
    """Shapes, strides, offsets and argument dtypes that a careless kernel would be compiled for one by one."""
    found = []
    for rows, vocab in ((1, 1), (1, 16), (2, 17), (3, 1000), (16, 1024), (65, 8191)):
        memory = torch.zeros(rows * (vocab + 16) + 16, dtype=dtype)
        for offset, pitch in ((0, vocab), (0, -(-vocab // 16) * 16), (1, vocab + 3)):
            found.append(memory.as_strided((rows, vocab), (pitch, 1), offset))
        found.append(memory.as_strided((rows, vocab), (1, rows), 0))
        found.append(memory[:vocab].expand(rows, vocab))
    arguments = [(1, None), (None, 0.5), (60, 0.0)]
    for k_dtype, p_dtype in ((torch.int32, torch.float32), (torch.int64, torch.float64), (torch.int64, torch.float16)):
        arguments.append((k_dtype, p_dtype))
    return [Problem(x, per_row(k, x), per_row(p, x)) for x in found for k, p in arguments]


def per_row(value: object, logits: torch.Tensor) -> object:
    return torch.ones(2 * len(logits) + 1, dtype=value)[1::2] if isinstance(value, torch.dtype) else value


def serve(engine: KernelEngine, problem: Problem) -> None:
    rows, vocab = problem.logits.shape
    for pitch in (vocab, vocab + 1):
        engine.mask(problem, 0.0, torch.empty((rows, pitch), dtype=problem.logits.dtype)[:, :vocab])
    if not any(stride == 0 for stride in problem.logits.stride()):
        engine.mask(problem, 0.0, problem.logits)
    engine.candidates(problem, 3)
    engine.cuts(problem)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_plan_has_two_variants_of_a_kernel(compiled: Counter[str], dtype: torch.dtype) -> None:
    plan = plans.choose(Problem(torch.empty((4, 1000), device="meta"), None, None), devices.INTERPRETER)
    for truncation in ("groups", "sigma", "none"):
        for problem in problems(dtype):
            serve(KernelEngine(plan=replace(plan, truncation=truncation)), problem)
    assert compiled
    assert max(compiled.values()) <= 2, compiled


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_warm_up_leaves_nothing_to_compile(compiled: Counter[str], dtype: torch.dtype) -> None:
    device = replace(devices.INTERPRETER, architecture="faked", multiprocessors=8)
    warming.warm(torch.device("cpu"), dtype, plans.reachable(device))
    before = compiled.copy()
    for problem in problems(dtype):
        serve(KernelEngine(plan=plans.choose(problem, device)), problem)
    for vocab in (131_073, 262_208, 524_289):
        for k in (1, 57, None):
            problem = Problem(torch.zeros((1, vocab), dtype=dtype), k, 0.5)
            serve(KernelEngine(plan=plans.choose(problem, device)), problem)
    assert compiled == before


def test_fusion_is_pinned_in_every_launch(compiled: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from triton.runtime.jit import JITFunction

    fused, compile_nothing = [], JITFunction._do_compile

    def look(self, key, signature, device, constexprs, options, *rest):  # type: ignore[no-untyped-def]
        fused.append(options.enable_fp_fusion)
        return compile_nothing(self, key, signature, device, constexprs, options, *rest)

    monkeypatch.setattr(JITFunction, "_do_compile", look)
    for problem in problems(torch.float32):
        for plan in plans.forced(problem, devices.INTERPRETER).values():
            serve(KernelEngine(plan=plan), problem)
    assert fused
    assert not any(fused)
