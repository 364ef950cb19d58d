"""Which engine answers, and what is said where it cannot run. The machine is made to look like that of the case."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from support import logits

import qrita
from qrita import engines
from qrita.records import Problem
from qrita.torch_engine import TorchEngine


def make_believe(monkeypatch: pytest.MonkeyPatch, *, cuda: str | None, gpu: bool) -> None:
    """A build of torch, and whether it sees a GPU."""
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that are asked for, with nothing behind them."""
    names: list[str] = []
    monkeypatch.setattr(engines, "named", names.append)
    return names


@pytest.mark.parametrize(("kind", "name"), [("cpu", "torch"), ("cuda", "triton")], ids=["host", "card"])
def test_choose_goes_by_the_device_of_the_logits(kind: str, name: str, asked: list[str]) -> None:
    rows: Any = SimpleNamespace(device=torch.device(kind))
    engines.choose(Problem(rows, None, None))
    assert asked == [name]


def test_choose_on_a_cpu() -> None:
    assert isinstance(engines.choose(Problem(logits()[None], None, None)), TorchEngine)


@pytest.mark.parametrize(
    ("gpu", "name", "device"), [(False, "torch", "cpu"), (True, "triton", "cuda:1")], ids=["no-card", "card"]
)
def test_best_is_the_gpu_where_there_is_one(
    gpu: bool, name: str, device: str, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_believe(monkeypatch, cuda="13.0" if gpu else None, gpu=gpu)
    assert str(engines.best()[1]) == device
    assert asked == [name]


def test_the_torch_engine_is_named_so() -> None:
    assert engines.named("torch").name == "torch"


@pytest.mark.parametrize("name", ["cuda", "", "Torch"], ids=["device", "empty", "capital"])
def test_an_unknown_name(name: str) -> None:
    with pytest.raises(ValueError, match=f"engine='{name}': expected one of 'torch', 'triton', 'interpreter'"):
        engines.named(name)


@pytest.mark.parametrize(
    ("cuda", "says"),
    [
        (None, f"torch {torch.__version__} is a CPU build; install a CUDA or ROCm build of torch"),
        ("13.0", f"torch {torch.__version__} sees no GPU; expected one, with a driver that suits this build of torch"),
    ],
    ids=["build", "card"],
)
def test_no_gpu(cuda: str | None, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that Triton is missing: beside a CPU build of torch, Triton alone would not help."""
    make_believe(monkeypatch, cuda=cuda, gpu=False)
    with pytest.raises(RuntimeError) as caught:
        engines.named("triton")
    assert str(caught.value) == f"engine='triton': {says}"
    with pytest.raises(RuntimeError) as caught:
        qrita.warmup("cuda:1", torch.bfloat16)
    assert str(caught.value) == f"device='cuda:1': {says}"


def test_no_triton() -> None:
    """In a process of its own, where nothing has imported Triton yet and nothing can."""
    program = "import sys\nsys.modules['triton'] = None\nfrom qrita import engines\nengines.named('interpreter')\n"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False).stderr
    assert "RuntimeError: engine='interpreter' needs Triton, which torch's CUDA and ROCm builds bring: " in said
    assert "Beside a CPU build of torch: `pip install '.[cpu-triton]'` in a clone" in said
