"""The timer of GPUs, on a faked one: what is captured, in which turn it is replayed, and how time is counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

import pytest
import torch

from qrita.bench.gpu import WARM_CALLS, GraphTimer
from qrita.bench.timing import Bound, Timed


@dataclass
class Card:
    """Calls advance its clock, in milliseconds, and its memory.

    Attributes:
        graph: where calls are captured, while they are.
        log: names of the calls that ran, outside of graphs and in replays.
    """

    clock: float = 0.0
    graph: list[Call] | None = None
    peak: int = 0
    log: list[str] = field(default_factory=list)


@dataclass
class Call:
    """A function of a contender: takes so many milliseconds and bytes, and may refuse to be captured."""

    card: Card
    name: str
    millis: float
    memory: int = 0
    captured: bool = True

    def __call__(self, number: int) -> None:
        if self.card.graph is None:
            self.run()
        elif self.captured:
            self.card.graph.append(self)
        else:
            raise RuntimeError("operation not permitted when stream is capturing")

    def run(self) -> None:
        self.card.clock += self.millis
        self.card.peak = max(self.card.peak, self.memory)
        self.card.log.append(self.name)


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Card:
    card = Card()

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            self.at = card.clock

        def elapsed_time(self, end: Event) -> float:
            return end.at - self.at

    class Graph:
        def __init__(self) -> None:
            self.calls: list[Call] = []

        def replay(self) -> None:
            card.clock += 0.001
            for call in self.calls:
                call.run()

    class Stream:
        def wait_stream(self, other: Stream) -> None: ...

    @contextmanager
    def graph(made: Graph, stream: Stream) -> Iterator[None]:
        card.graph = made.calls
        try:
            yield
        finally:
            card.graph = None

    def reset() -> None:
        card.peak = 100

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    monkeypatch.setattr(torch.cuda, "graph", graph)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 100)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: card.peak)
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", reset)
    return card


def test_contenders_take_turns_and_time_is_that_of_a_call(card: Card) -> None:
    slow, quick = Call(card, "slow", 1.0, memory=350), Call(card, "quick", 0.1)
    found = GraphTimer().time({"slow": Bound(slow, 4), "quick": Bound(quick, 4)}, repeats=3)
    expected = {"slow": (2, 1000.5, 250), "quick": (20, 100.05, 0)}
    for name, (calls, micros, extra) in expected.items():
        timed = found[name]
        assert isinstance(timed, Timed)
        assert (timed.calls, timed.repeats, timed.graph, timed.extra_bytes) == (calls, 3, True, extra)
        assert timed.micros == pytest.approx(micros)  # a quotient of times
    assert card.log[-4 * 22 :] == 4 * (["slow"] * 2 + ["quick"] * 20)  # one round more than counts


def test_what_cannot_be_captured_is_launched_call_by_call(card: Card) -> None:
    found = GraphTimer().time({"alone": Bound(Call(card, "alone", 0.5, captured=False), 4)}, repeats=2)
    timed = found["alone"]
    assert isinstance(timed, Timed)
    assert (timed.graph, timed.calls, timed.micros) == (False, 4, 500.0)


def test_what_is_written_to_is_restored_outside_the_time(card: Card) -> None:
    """And no call of a replay shares its input with another."""
    call = Call(card, "call", 0.01)
    restored = Call(card, "restored", 7.0)
    found = GraphTimer().time({"writes": Bound(call, 3, lambda: restored(0))}, repeats=2)
    timed = found["writes"]
    assert isinstance(timed, Timed)
    assert (timed.calls, timed.micros) == (3, pytest.approx(10.0 + 1.0 / 3))
    assert card.log[-12:] == 3 * ["restored", "call", "call", "call"]
    before = "".join(name[0] for name in card.log[:-12])
    assert before == "c" * WARM_CALLS + "rc" + "rccc" + "r" + "c"


def test_what_fails_leaves_the_others(card: Card) -> None:
    def fails(number: int) -> None:
        raise ValueError("\n first \nsecond")

    def silent(number: int) -> None:
        raise KeyError

    bound = {"fails": Bound(fails, 4), "silent": Bound(silent, 4), "fine": Bound(Call(card, "fine", 1.0), 4)}
    found = GraphTimer().time(bound, repeats=1)
    assert [*found] == [*bound]
    assert (found["fails"], found["silent"]) == ("ValueError: first", "KeyError")
    assert isinstance(found["fine"], Timed)


def test_memory_that_is_out_while_capturing_is_a_reason(card: Card) -> None:
    def call(number: int) -> None:
        if card.graph is not None:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    found = GraphTimer().time({"large": Bound(call, 4)}, repeats=1)
    assert found["large"] == "OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"
