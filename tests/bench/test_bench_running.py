"""Jobs are run: with real contenders on a CPU, and a timer that knows the times."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from bench_fakes import MACHINE, FakeTimer

from qrita.bench import peers, running
from qrita.bench.contenders import FLOORS, OURS, Contender, Setting, always, calling
from qrita.bench.jobs import Job
from qrita.bench.results import Result
from qrita.bench.running import NoRoomError, cached, inputs_for

JOB = Job(3, 200, k=5, p=0.9)
VLLM = """
import torch
def apply_top_k_top_p_triton(logits, k, p, mask_value=-float("inf")):
    assert k is None or (k.dtype, tuple(k.shape)) == (torch.int32, (len(logits),))
    assert p is None or (p.dtype, tuple(p.shape)) == (torch.float32, (len(logits),))
    assert (logits != -7.0).all(), "this input has been written to and not been restored"
    return logits.fill_(-7.0)
"""


def one(job: Job = JOB, *more: Contender, timer: FakeTimer | None = None) -> Result:
    return running.measure(job, (*FLOORS, *OURS, *more), timer or FakeTimer(), MACHINE, 5)


def test_all_take_part_in_one_call_of_the_timer() -> None:
    timer = FakeTimer({"copy": 2.0, "mask": 3.0})
    found = one(timer=timer)
    assert timer.seen == [["copy", "read", "fill", "mask", "candidates"]]
    assert (found.share("mask", "copy"), found.not_run) == (1.5, {})
    assert found.times["mask"].repeats == 5


def test_what_has_no_part_in_a_job_says_why() -> None:
    found = one(dataclasses.replace(JOB, k=None), timer=FakeTimer(failing={"read": "OutOfMemoryError: no"}))
    assert found.not_run == {
        "candidates": "without k the list would be as long as the vocabulary",
        "read": "OutOfMemoryError: no",
    }
    assert set(found.times) == {"copy", "fill", "mask"}


def test_a_contender_that_cannot_be_bound_is_not_run() -> None:
    def bind(setting: Setting) -> None:
        raise RuntimeError("first line\nsecond")

    broken = Contender("broken", "peer", "", always, bind)  # type: ignore[arg-type]
    assert one(JOB, broken).not_run == {"broken": "RuntimeError: first line"}


def test_the_floors_do_what_they_say() -> None:
    logits = torch.randn(2, 9)
    setting = Setting(Job(2, 9, k=1), (logits, logits + 1.0), (torch.zeros(2, 9), torch.zeros(2, 9)))
    made = {each.name: each.bind(setting).call(1) for each in FLOORS}
    assert torch.equal(made["read"], (logits + 1.0).amax())  # type: ignore[arg-type]
    assert made["copy"] is made["fill"] is setting.outs[1]
    assert bool(setting.outs[1].isinf().all())
    FLOORS[0].bind(setting).call(2)
    assert torch.equal(setting.outs[0], logits)


@pytest.mark.parametrize(
    ("each", "cache", "free", "inputs"),
    [
        (512 << 10, 60 << 20, 100 << 30, 20),  # small rows: as many as there may be
        (32 << 20, 60 << 20, 100 << 30, 8),
        (512 << 20, 60 << 20, 100 << 30, 4),  # large rows: each passes through the cache alone
        (512 << 20, 60 << 20, 9 << 30, 2),
        (512 << 20, 0, 100 << 30, 4),
    ],
)
def test_how_many_inputs_take_turns(each: int, cache: int, free: int, inputs: int) -> None:
    assert inputs_for(each, cache, free) == inputs


def test_rows_that_do_not_fit() -> None:
    with pytest.raises(NoRoomError, match="it needs 16 GB of memory, 8 GB are free"):
        inputs_for(10**9, 0, 8 * 10**9)


@pytest.mark.parametrize(
    ("each", "inputs", "cache", "words"),
    [
        (10**6, 20, 60 * 10**6, "20 inputs of together 20 MB take turns and stay in the L2 of 60 MB"),
        (
            10**8,
            4,
            60 * 10**6,
            "4 inputs of together 400 MB take turns, too many for the L2 of 60 MB: each comes from ",
        ),
        (10**7, 6, 60 * 10**6, "6 inputs of together 60 MB take turns, about as many as the L2 of 60 MB holds"),
        (10, 4, 0, "4 inputs of together 40 B take turns; the size of the L2 is unknown"),
    ],
)
def test_the_state_of_the_cache_is_told(each: int, inputs: int, cache: int, words: str) -> None:
    assert cached(each, inputs, cache).startswith(words)


def test_a_job_that_cannot_be_run_ends_no_other() -> None:
    full = dataclasses.replace(MACHINE, free=lambda: 1)
    assert [*running.results([JOB], FLOORS, FakeTimer(), full, 5)] == [
        (JOB, "it needs 38.4 kB of memory, 1 B are free")
    ]
    half = Job(2, 30, "float16", "outlier", k=5)
    reason, fine = running.results([half, JOB], FLOORS, FakeTimer(), MACHINE, 5)
    assert reason == (half, "float16 cannot hold the numbers of the family 'outlier'")
    assert isinstance(fine, Result)


def test_an_error_of_the_card_is_the_job_s() -> None:
    class Broken(FakeTimer):
        def time(self, bound: object, repeats: int) -> dict[str, object]:  # type: ignore[override]
            raise RuntimeError("CUDA error: an illegal memory access\nmore")

    assert [*running.results([JOB], FLOORS, Broken(), MACHINE, 5)] == [
        (JOB, "RuntimeError: CUDA error: an illegal memory access")
    ]


def test_no_job_starts_when_time_is_up() -> None:
    clock = iter([0.0, 1.0, 9.9, 10.0])
    over = running.deadline(10.0, lambda: next(clock))
    assert len([*running.results([JOB] * 5, FLOORS, FakeTimer(), MACHINE, 5, over)]) == 2
    assert not running.deadline(None)()


# --- peers ------------------------------------------------------------------------------------------------------


def test_peers_of_torch() -> None:
    found = peers.find({"torch-sort": None, "torch-topk": None})
    assert found.missing == {}
    assert found.versions["torch"] == torch.__version__
    assert set(one(JOB, *found.contenders).times) >= {"torch-sort", "torch-topk"}
    assert one(dataclasses.replace(JOB, k=None), *found.contenders).not_run["torch-topk"] == "it has no top-p"


def test_peers_that_are_not_here(tmp_path: Path) -> None:
    found = peers.find({"vllm": str(tmp_path / "none"), "flashinfer": None})
    assert (found.contenders, found.versions) == ((), {})
    assert "there is no such file or folder" in found.missing["vllm"]
    assert "No module named 'flashinfer'; `--peer flashinfer=PATH` names where it is" in found.missing["flashinfer"]


def test_a_peer_that_writes_to_its_input_gets_its_bits_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the others see none of it."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")  # with which it is promised for CPU tensors
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "vllm_sampler", raising=False)
    (tmp_path / "vllm_sampler.py").write_text(VLLM, encoding="utf-8")
    (vllm,) = peers.find({"vllm": str(tmp_path)}).contenders
    logits = torch.randn(3, 200)
    bound = vllm.bind(Setting(JOB, (logits, logits.clone()), (logits.clone(),)))
    assert bound.restore
    assert bound.inputs == 2
    for _ in range(3):
        bound.restore()
        assert bound.call(0) is not bound.call(1)
    assert bool((logits != -7.0).all())
    assert vllm.takes(dataclasses.replace(JOB, dtype="bfloat16")) == "it takes no bfloat16 logits"
    monkeypatch.delitem(sys.modules, "vllm_sampler")


@pytest.fixture
def flashinfer(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, object]]:
    """A stand-in for its modules, which notes what it is asked."""
    asked: list[tuple[str, object]] = []

    def noting(name: str) -> object:
        def call(first: torch.Tensor, value: object) -> torch.Tensor:
            asked.append((name, value))
            return first.clone()

        return call

    top, sampling, topk = (ModuleType(name) for name in ("flashinfer", "flashinfer.sampling", "flashinfer.topk"))
    top.__version__ = "1.0"  # type: ignore[attr-defined]
    for name in ("top_k_mask_logits", "top_p_renorm_probs"):
        setattr(sampling, name, noting(name))
    topk.top_k = noting("top_k")  # type: ignore[attr-defined]
    for module in (top, sampling, topk):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr("qrita.testing.foreign.peers._device", lambda contract: "cpu")
    return asked


def test_flashinfer_is_four_contenders(flashinfer: list[tuple[str, object]]) -> None:
    found = peers.find({"flashinfer": None})
    assert (found.missing, found.versions) == ({}, {"flashinfer": "1.0"})
    names = {each.name for each in found.contenders}
    parts = {
        JOB: {"flashinfer", "flashinfer-top-k-mask", "flashinfer-top-k"},
        dataclasses.replace(JOB, p=None): {"flashinfer-top-k-mask", "flashinfer-top-k"},
        dataclasses.replace(JOB, k=None): {"flashinfer", "flashinfer-top-p-renorm"},
    }
    for job, expected in parts.items():
        flashinfer.clear()
        result = one(job, *found.contenders)
        assert names & set(result.times) == expected
        assert {value for _, value in flashinfer} == {job.k, job.p} - {None}
        assert names - expected == set(result.not_run) & names


def test_times_need_no_other_timer_than_the_protocol() -> None:
    setting = Setting(JOB, (torch.zeros(3, 200),), (torch.zeros(3, 200),))
    bound = calling(lambda given, number: given.input(number))(setting)
    assert (bound.inputs, bound.restore) == (1, None)
    assert bound.call(7) is setting.inputs[0]
