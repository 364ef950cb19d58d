"""State that a program may have set around a call: none of it changes a bit of the answer.

The kept set is a pure function of one row, k and p (docs/semantics.md). Each test computes the answer in plain
surroundings first, then again in odd ones.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support import DTYPES, INF, bits, kept, logits, memory, short
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import qrita

Context = Callable[[], Any]
dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=short)


def rows(dtype: torch.dtype) -> Tensor:
    """Rows that any difference in arithmetic, order or zeros would show in, [8, 200]."""
    generator = torch.Generator(device="cpu").manual_seed(0)
    x = torch.randn(8, 200, generator=generator, dtype=torch.float32, device="cpu")
    integers = torch.int32 if dtype == torch.float32 else torch.int16
    patterns = torch.arange(200, dtype=integers, device="cpu")
    x[1] *= 20
    x[2] = (x[2] * 4).round() / 4
    x[3, ::2] = -INF
    x[4, 7], x[4, 8] = float("nan"), INF
    x = x.to(dtype)
    x[5] = patterns.view(dtype)  # subnormals
    x[6] = torch.where(patterns % 2 == 0, patterns, patterns | torch.iinfo(integers).min).view(dtype)  # of both signs
    return x


def answers(x: Tensor) -> list[bytes]:
    """The bytes of everything the three functions say about some rows."""
    k = torch.tensor([1, 5, 50, 0, 200, 7, 90, -1], device="cpu")
    p = torch.tensor([0.1, 0.5, 0.9, 0.99, 1.0, 1e-40, 0.99999994, 0.7], dtype=torch.float64, device="cpu")
    found = [
        qrita.candidates(x, k, p, max_candidates=20),
        qrita.candidates(x, 10),
        qrita.candidates(x[0], p=0.9, max_candidates=9),
    ]
    masks = [
        qrita.top_k_top_p(x, k, p),
        qrita.top_k_top_p(x, 5, mask_value=-1.0),
        qrita.top_k_top_p(x, p=0.9),
        qrita.top_k_top_p(x),
    ]
    masks += [qrita.top_k_top_p_(x.clone(), 20, 0.8), qrita.top_k_top_p(x[6], 3, 0.5, out=torch.empty_like(x[6]))]
    return [bits(t) for t in masks] + [
        bits(getattr(f, name)) for f in found for name in ("indices", "logits", "counts", "mass", "total")
    ]


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def default_device(device: str) -> Iterator[None]:
    torch.set_default_device(device)
    try:
        yield
    finally:
        torch.set_default_device(None)


@contextmanager
def flushing() -> Iterator[None]:
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


CAN_FLUSH = torch.set_flush_denormal(True)
torch.set_flush_denormal(False)


@contextmanager
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Watching(TorchDispatchMode):
    """Sees every operation, as profilers and debuggers do."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


SURROUNDINGS: dict[str, Context] = {
    "default-dtype-float64": lambda: default_dtype(torch.float64),
    "default-dtype-bfloat16": lambda: default_dtype(torch.bfloat16),
    "default-dtype-float16": lambda: default_dtype(torch.float16),
    "default-device-meta": lambda: default_device("meta"),
    "device-context-meta": lambda: torch.device("meta"),
    "flushed-subnormals": flushing,
    "deterministic-algorithms": deterministic,
    "inference-mode": torch.inference_mode,
    "no-grad": torch.no_grad,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "one-thread": lambda: threads(1),
    "three-threads": lambda: threads(3),
    "dispatch-mode": Watching,
    "saved-tensor-hooks": lambda: torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x),
}
ids = [
    pytest.param(
        make, id=name, marks=pytest.mark.skipif(name.startswith("flush") and not CAN_FLUSH, reason="no such mode")
    )
    for name, make in SURROUNDINGS.items()
]


@dtypes
@pytest.mark.parametrize("surroundings", ids)
def test_no_surroundings_change_a_bit(surroundings: Context, dtype: torch.dtype) -> None:
    x = rows(dtype)
    expected, before = answers(x), bits(x)
    with surroundings():
        found = answers(x)
    assert found == expected
    assert bits(x) == before


@pytest.mark.skipif(not CAN_FLUSH, reason="this CPU cannot flush subnormals")
@dtypes
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("quanta", [1, 2, 3, 100])
def test_a_subnormal_mask_value_survives_flushing(dtype: torch.dtype, sign: int, quanta: int) -> None:
    form = torch.finfo(dtype)
    mask_value = sign * quanta * form.smallest_normal * form.eps
    x = logits(dtype=dtype)
    expected = bits(qrita.top_k_top_p(x, 1, mask_value=mask_value))
    with flushing():
        found = qrita.top_k_top_p(x, 1, mask_value=mask_value)
    assert bits(found) == expected


@pytest.mark.parametrize(
    "surroundings", [lambda: default_dtype(torch.float64), lambda: default_device("meta")], ids=["dtype", "device"]
)
@pytest.mark.parametrize("shape", [(0, 8), (2, 0), (0,)], ids=str)
def test_empty_results_do_not_depend_on_defaults(surroundings: Context, shape: tuple[int, ...]) -> None:
    x = torch.zeros(shape)
    with surroundings():
        found, masked = qrita.candidates(x, 3), qrita.top_k_top_p(x, 3)
    tensors = (found.indices, found.logits, found.counts, found.mass, found.total, masked)
    assert {tensor.device.type for tensor in tensors} == {"cpu"}
    assert [tensor.dtype for tensor in tensors] == [
        torch.int32,
        torch.float32,
        torch.int32,
        torch.int64,
        torch.int64,
        torch.float32,
    ]


def test_log_probs_do_not_depend_on_defaults() -> None:
    found = qrita.candidates(rows(torch.float32), 10)
    expected = bits(found.log_probs())
    with default_dtype(torch.float16), default_device("meta"):
        assert bits(found.log_probs()) == expected


# --- several callers --------------------------------------------------------------------------------------------


@dtypes
def test_many_threads_at_once(dtype: torch.dtype) -> None:
    """On one input, each with surroundings of its own, where torch keeps those by thread."""
    x = rows(dtype)
    expected = answers(x)
    gate = threading.Barrier(8)

    def call(number: int) -> bool:
        gate.wait()
        with [torch.no_grad, torch.inference_mode, lambda: torch.device("meta"), flushing][number % 4]():
            return all(answers(x) == expected for _ in range(5))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(8)))


# --- tensors of another make ------------------------------------------------------------------------------------


class Quiet(torch.Tensor):
    """A subclass that changes nothing."""


class Meddling(torch.Tensor):
    """A subclass with arithmetic of its own: differences, comparisons and selections come out as zeros."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = super().__torch_function__(func, types, args, kwargs or {})
        meddles = getattr(func, "__name__", "") in (
            "sub",
            "rsub",
            "lt",
            "gt",
            "where",
            "view",
            "sort",
            "topk",
            "gather",
            "eq",
        )
        return result.zero_() if meddles and isinstance(result, Tensor) else result


@pytest.mark.parametrize("kind", [Quiet, Meddling])
class TestSubclasses:
    def test_answers(self, kind: type[Tensor]) -> None:
        x = rows(torch.float32)
        masked, found = qrita.top_k_top_p(x, 5, 0.9), qrita.candidates(x, 5, 0.9)
        y = x.clone().as_subclass(kind)
        assert bits(qrita.top_k_top_p(y, 5, 0.9)) == bits(masked)
        assert bits(qrita.candidates(y, 5, 0.9).indices) == bits(found.indices)
        assert bits(y.as_subclass(Tensor)) == bits(x)

    def test_results_are_plain_tensors(self, kind: type[Tensor]) -> None:
        y = rows(torch.float32).as_subclass(kind)
        found = qrita.candidates(y, 5)
        assert {type(t) for t in (qrita.top_k_top_p(y, 5), found.indices, found.logits, found.counts, found.mass)} == {
            Tensor
        }

    def test_k_and_p(self, kind: type[Tensor]) -> None:
        k, p = torch.tensor([3, 4]), torch.tensor([0.9, 0.99])
        masked = qrita.top_k_top_p(logits(), k, p)
        assert bits(qrita.top_k_top_p(logits(), k.as_subclass(kind), p.as_subclass(kind))) == bits(masked)

    def test_in_place_and_out(self, kind: type[Tensor]) -> None:
        y, out = logits().as_subclass(kind), logits().as_subclass(kind)
        assert qrita.top_k_top_p(logits(), 3, out=out) is out
        assert qrita.top_k_top_p_(y, 3) is y
        expected = bits(qrita.top_k_top_p(logits(), 3))
        assert [bits(t.as_subclass(Tensor)) for t in (y, out)] == [expected] * 2


def test_a_parameter_in_place_where_grad_mode_is_off() -> None:
    parameter = torch.nn.Parameter(logits())
    with torch.no_grad():
        assert qrita.top_k_top_p_(parameter, 3) is parameter
    assert kept(parameter.detach()[0]) == [5, 6, 7]
    assert parameter.requires_grad


def test_logits_in_memory_of_numpy() -> None:
    array = np.arange(32, dtype=np.float32).reshape(2, 16)
    x = torch.from_numpy(array)[:, ::2]
    qrita.top_k_top_p_(x, 3)
    assert np.isneginf(array).sum(axis=1).tolist() == [5, 5]
    assert (array[:, 1::2] == np.arange(32).reshape(2, 16)[:, 1::2]).all()


def test_logits_in_memory_that_cannot_be_written(tmp_path: Path) -> None:
    """A file mapped read-only: one write, even of the same bits, would end the process."""
    file = tmp_path / "logits"
    np.arange(32, dtype=np.float32).tofile(file)
    mapped = np.memmap(file, dtype=np.float32, mode="r").reshape(2, 16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch cannot mark a tensor as read-only
        x = torch.from_numpy(mapped)
    assert [kept(row) for row in qrita.top_k_top_p(x, 3, 1.0)] == [[13, 14, 15]] * 2
    assert qrita.candidates(x, 3).indices.tolist() == [[15, 14, 13]] * 2
    assert mapped.tobytes() == file.read_bytes() == np.arange(32, dtype=np.float32).tobytes()


def test_k_and_p_are_not_modified() -> None:
    k, p = torch.tensor([3, 2**40]), torch.tensor([0.5, float("nan")])
    before = memory(k), memory(p)
    qrita.top_k_top_p(logits(), k, p)
    qrita.candidates(logits(), k, p, max_candidates=3)
    assert (memory(k), memory(p)) == before


def test_no_random_numbers_are_drawn() -> None:
    before = torch.get_rng_state()
    answers(rows(torch.float32))
    assert torch.equal(torch.get_rng_state(), before)
