"""The timer of GPUs: calls in CUDA graphs, timed by events. torch calls AMD's graphs and events by the same names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from qrita.bench.timing import Bound, Timed, calls_for

WARM_CALLS = 3
"""Before anything is timed: the first compiles, the next two let caches and allocators settle."""


@dataclass(frozen=True)
class _Ready:
    """A contender that can be timed."""

    play: Callable[[], None]
    calls: int
    graph: bool
    extra_bytes: int
    restore: Callable[[], None] | None


class GraphTimer:
    """Several calls to a graph, one replay of each contender after the other, for as many rounds as there are repeats.

    The first round is not counted. A contender that cannot be captured is timed as it is called, and says so.
    """

    def time(self, bound: Mapping[str, Bound], repeats: int) -> dict[str, Timed | str]:
        """Each contender's time, or the first line of what it raised."""
        found: dict[str, Timed | str] = {}
        ready: dict[str, _Ready] = {}
        for name, contender in bound.items():
            try:
                ready[name] = _ready(contender)
            except Exception as error:
                found[name] = _words(error)
        micros: dict[str, list[float]] = {name: [] for name in ready}
        for number in range(repeats + 1):
            for name, took in _round(ready).items():
                if number:
                    micros[name].append(took)
        for name, some in ready.items():
            graph, extra = some.graph, some.extra_bytes
            found[name] = Timed.of(micros[name], calls=some.calls, graph=graph, extra_bytes=extra)
        return {name: found[name] for name in bound}


def _round(ready: Mapping[str, _Ready]) -> dict[str, float]:
    """Microseconds a call, of one replay of each."""
    events = {}
    for name, some in ready.items():
        if some.restore:
            some.restore()
        events[name] = _between(some.play)
    torch.cuda.synchronize()
    return {name: _micros(*pair) / ready[name].calls for name, pair in events.items()}


def _between(play: Callable[[], None]) -> tuple[Any, Any]:
    """Events before and after what is played."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    play()
    end.record()
    return start, end


def _micros(start: Any, end: Any) -> float:
    return float(start.elapsed_time(end)) * 1e3


def _ready(contender: Bound) -> _Ready:
    """Warm a contender up, measure its memory, estimate its time, and capture as many calls as fit.

    Raises:
        Exception: whatever it raises itself.
    """
    for number in range(WARM_CALLS):
        contender.call(number)
    torch.cuda.synchronize()
    extra = _peak(contender)
    calls = calls_for(_estimate(contender), contender.inputs, contender.restore is not None)
    if contender.restore:
        contender.restore()
    try:
        graph = _captured(contender.call, calls)
        return _Ready(graph.replay, calls, True, extra, contender.restore)
    except torch.cuda.OutOfMemoryError:
        raise
    except RuntimeError:  # it synchronises, or else does what no graph can hold
        torch.cuda.synchronize()

        def play() -> None:
            for number in range(calls):
                contender.call(number)

        return _Ready(play, calls, False, extra, contender.restore)


def _captured(call: Callable[[int], object], calls: int) -> torch.cuda.CUDAGraph:
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # what is made on a stream's first use is made outside the graph
        call(0)
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for number in range(calls):
            call(number)
    return graph


def _estimate(contender: Bound) -> float:
    """Microseconds a call, by the way and with its launches."""
    if contender.restore:
        contender.restore()
    calls = min(3, contender.inputs)

    def play() -> None:
        for number in range(calls):
            contender.call(number)

    pair = _between(play)
    torch.cuda.synchronize()
    return _micros(*pair) / calls


def _peak(contender: Bound) -> int:
    """Bytes that a call allocates at its peak, from torch's allocator."""
    if contender.restore:
        contender.restore()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    made = contender.call(0)
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() - before
    del made
    return peak


def _words(error: Exception) -> str:
    """What an error says first, or else what it is."""
    line = next(filter(None, map(str.strip, str(error).splitlines())), "")
    return f"{type(error).__name__}: {line}" if line else type(error).__name__
