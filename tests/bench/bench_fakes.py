"""A timer that knows what everything takes, machines without a GPU, and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pytest

from qrita.bench.jobs import Job
from qrita.bench.results import Book, Here, Result
from qrita.bench.running import Machine
from qrita.bench.timing import Bound, Timed
from qrita.cli import main

MACHINE = Machine("cpu", cache=1000, free=lambda: 10**9)
HERE = Here("NVIDIA H200 (sm_90)", "cuda:0", {"qrita": "0.1.0", "torch": "2.11.0"}, 5)
KINDS = {"copy": "floor", "mask": "ours", "candidates": "ours", "vllm": "peer", "torch-topk": "peer"}


@dataclass
class FakeTimer:
    """Calls everything once on each input, as a timer does, and has its own mind about the time.

    Attributes:
        micros: contender to its time; 10 where it names none.
        failing: contender to why it has no time.
        seen: the contenders of every call.
    """

    micros: Mapping[str, float] = field(default_factory=dict)
    failing: Mapping[str, str] = field(default_factory=dict)
    seen: list[list[str]] = field(default_factory=list)

    def time(self, bound: Mapping[str, Bound], repeats: int) -> dict[str, Timed | str]:
        self.seen.append([*bound])
        found: dict[str, Timed | str] = {}
        for name, contender in bound.items():
            try:
                for number in range(contender.inputs + 1):
                    contender.call(number)
                if contender.restore:
                    contender.restore()
                took = self.micros.get(name, 10.0)
                found[name] = self.failing.get(name) or Timed.of([took] * repeats, calls=4, graph=True, extra_bytes=0)
            except Exception as error:
                found[name] = f"{type(error).__name__}: {error}".splitlines()[0]
        return found


def timed(micros: float, extra_bytes: int | None = 0, *, graph: bool = True) -> Timed:
    return Timed(micros, micros * 0.9, micros * 1.1, 5, 4, graph, extra_bytes)


def result(job: Job, not_run: Mapping[str, str] | None = None, **micros: float) -> Result:
    """A result with times; _ stands for - in the names."""
    times = {name.replace("_", "-"): timed(value) for name, value in micros.items()}
    return Result(job, 4, "4 inputs take turns", times, not_run or {})


def book(*results: Result, **changes: object) -> Book:
    made = Book(
        HERE,
        "qrita bench",
        "2026-11-30",
        kinds=KINDS,
        about={name: f"about {name}" for name in KINDS},
        results={each.job: each for each in results},
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def saying(command: str) -> Callable[..., str]:
    """A function that runs `qrita COMMAND` and returns what it prints; where it ends with 2, its complaint."""

    def says(capsys: pytest.CaptureFixture[str], *arguments: str, status: int) -> str:
        assert main([command, *arguments]) == status
        captured = capsys.readouterr()
        return captured.err if status == 2 else captured.out

    return says
