"""Serving discipline on a GPU: repetition, streams, graph capture and replay, no compiling after a warm-up."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import qrita
from qrita.kernels import (
    bracket,
    emit,
    probe,
    select_bracket,
    select_groups,
    select_rows,
    settle,
    sigma,
    truncate,
    weight,
)
from qrita.torch_engine import weight_fraction

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
ARGUMENTS = [(50, 0.9), (None, 0.9), (1000, None), (5000, 0.5)]


def rows(batch: int, vocab: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    """Rows with ties, NaN and -inf among them."""
    generator = torch.Generator("cuda").manual_seed(seed)
    x = torch.randn((batch, vocab), device="cuda", generator=generator) * 3
    x[:, 5::97] = float("-inf")
    x[:, 7::101] = float("nan")
    x[0] = (x[0] * 4).round() / 4
    return x.to(dtype)


def bits(x: Tensor) -> Tensor:
    return x.contiguous().view(torch.int32 if x.element_size() == 4 else torch.int16)


def everything(x: Tensor, k: Any, p: Any) -> list[Tensor]:
    """All that the public functions say of a batch, as integers."""
    listed = qrita.candidates(x, k, p, max_candidates=64)
    return [
        bits(qrita.top_k_top_p(x, k, p)), listed.indices, bits(listed.logits), listed.counts, listed.mass, listed.total,
    ]  # fmt: skip


def same(left: list[Tensor], right: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


def test_the_weight_is_not_fused() -> None:
    """The table of semantics rule 9, computed on the card."""
    out = torch.empty(1 << 23, dtype=torch.int32, device="cuda")
    weight.table_kernel[((1 << 23) // 1024,)](out, TILE=1024, enable_fp_fusion=False)
    assert torch.equal(out.cpu(), weight_fraction(torch.arange(1 << 23, dtype=torch.int32)).int())


@pytest.mark.parametrize(("k", "p"), ARGUMENTS)
def test_a_thousand_repetitions_give_the_same_bits(poisoned: None, k: Any, p: Any) -> None:
    x = rows(3, 40_000)
    first = everything(x, k, p)
    for _ in range(1000):
        assert same(everything(x, k, p), first)


@pytest.mark.parametrize(("k", "p"), ARGUMENTS)
def test_two_streams_at_once(poisoned: None, k: Any, p: Any) -> None:
    inputs = [rows(2, 50_000, seed=1), rows(5, 30_000, seed=2)]
    alone = [everything(x, k, p) for x in inputs]
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    for _ in range(100):
        together = []
        for x, stream in zip(inputs, streams, strict=True):
            with torch.cuda.stream(stream):
                together.append(everything(x, k, p))
        torch.cuda.synchronize()
        assert all(same(a, b) for a, b in zip(alone, together, strict=True))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_graph_replay_with_changed_arguments(poisoned: None, dtype: torch.dtype) -> None:
    qrita.warmup("cuda", dtype)
    x = rows(4, 40_000, dtype)
    k = torch.tensor([1, 50, 0, 3000], device="cuda")
    p = torch.tensor([0.5, 0.9, 0.99, 2.0], device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # the first call with these shapes is the captured one
        captured = everything(x, k, p)
    for round_ in range(50):
        x.copy_(rows(4, 40_000, dtype, seed=round_))
        k.copy_(torch.randint(-2, 6000, (4,), device="cuda"))
        p.copy_(torch.rand(4, device="cuda") * 1.1)
        graph.replay()
        torch.cuda.synchronize()
        replayed = [part.clone() for part in captured]
        assert same(replayed, everything(x, k, p))


def test_a_graph_in_which_streams_meet(poisoned: None) -> None:
    """The first launch of a call waits for two kernels then, one of another stream, and may come early of neither."""
    x, y = rows(3, 40_000), rows(5, 40_000, seed=1)
    everything(x, None, 0.9), everything(y, 50, 0.9)
    torch.cuda.synchronize()
    graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph):
        here = torch.cuda.current_stream()
        side.wait_stream(here)
        with torch.cuda.stream(side):
            theirs = y.clone()
        ours = x.clone()
        here.wait_stream(side)
        captured = [*everything(theirs, 50, 0.9), *everything(ours, None, 0.9)]
    for round_ in range(20):
        x.copy_(rows(3, 40_000, seed=round_))
        y.copy_(rows(5, 40_000, seed=100 + round_))
        graph.replay()
        torch.cuda.synchronize()
        assert same([part.clone() for part in captured], [*everything(y, 50, 0.9), *everything(x, None, 0.9)])


def test_a_graph_outlives_larger_batches(poisoned: None) -> None:
    """Captured for one row; then a larger batch runs eagerly; then the graph is replayed."""
    x = rows(1, 40_000)
    everything(x, 50, 0.9)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = everything(x, 50, 0.9)
    everything(rows(64, 60_000), None, 0.9)
    x.copy_(rows(1, 40_000, seed=3))
    graph.replay()
    torch.cuda.synchronize()
    assert same([part.clone() for part in captured], everything(x, 50, 0.9))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_nothing_compiles_after_a_warm_up(dtype: torch.dtype) -> None:
    qrita.warmup("cuda", dtype)
    modules = (bracket, emit, probe, select_bracket, select_groups, select_rows, settle, sigma, truncate)
    kernels = [value for module in modules for name, value in vars(module).items() if name.endswith("_kernel")]

    def compiled() -> int:
        return sum(len(kernel.device_caches[torch.cuda.current_device()][0]) for kernel in kernels)

    before = compiled()
    for batch, vocab in ((1, 1), (1, 131_073), (3, 257), (64, 1000), (200, 4096), (2, 262_208), (1, 600_000)):
        memory = torch.randn((batch, vocab + 3), device="cuda").to(dtype)
        for x in (memory[:, :vocab], memory[:, 3:], memory[:, :vocab].contiguous(), memory.T.contiguous().T[:, :vocab]):
            for k, p in ARGUMENTS:
                everything(x, k, p)
            everything(x, torch.ones(2 * batch, dtype=torch.int64, device="cuda")[::2], None)
    assert compiled() == before


def test_offsets_past_32_bits() -> None:
    """Rows that start beyond 2**31 elements, in one expanded tensor of which only the ends are distinct."""
    batch, vocab = 17_000, 128_256
    x = torch.zeros((batch, vocab), dtype=torch.bfloat16, device="cuda")
    x[-1] = torch.randn(vocab, device="cuda").bfloat16()
    expected = qrita.top_k_top_p(x[-1:].clone(), 50, 0.9)
    assert torch.equal(bits(qrita.top_k_top_p_(x, 50, 0.9)[-1:]), bits(expected))


def test_more_rows_than_a_grid_dimension() -> None:
    x = torch.randn((65_537, 33), device="cuda")
    assert same(everything(x[-2:], 5, 0.9), [part[-2:] for part in everything(x, 5, 0.9)])


@pytest.mark.several_gpus
def test_the_device_of_the_logits_is_used() -> None:
    """Device 0 is current, the logits are on another: launches and workspace follow the logits."""
    x = rows(2, 5000)
    assert same(
        [part.cpu() for part in everything(x.to("cuda:1"), 5, 0.9)], [part.cpu() for part in everything(x, 5, 0.9)]
    )
