"""A GPU that is not there, for the commands."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from bench_fakes import HERE, MACHINE, FakeTimer
from torch import Tensor

from qrita.bench import gpu, running, surroundings
from qrita.bench.jobs import Job
from qrita.bench.running import Machine


@pytest.fixture
def timer(monkeypatch: pytest.MonkeyPatch) -> FakeTimer:
    """Of a machine whose rows are short, whatever a job says."""

    @contextmanager
    def settled(device: torch.device) -> Iterator[Machine]:
        yield MACHINE

    def small(job: Job, device: str, number: int) -> Tensor:
        return torch.zeros(2, 64)

    timer = FakeTimer({"copy": 10.0})
    monkeypatch.setattr(surroundings, "gpu", lambda name: torch.device("cpu"))
    monkeypatch.setattr(surroundings, "here", lambda device, repeats: dataclasses.replace(HERE, repeats=repeats))
    monkeypatch.setattr(running, "settled", settled)
    monkeypatch.setattr(running, "make", small)
    monkeypatch.setattr(running, "inputs_for", lambda *_: 2)
    monkeypatch.setattr(gpu, "GraphTimer", lambda: timer)
    return timer
