"""One job after the other: rows are made, contenders are bound to them, a timer times them, the book has the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from qrita.bench.contenders import Contender, Setting
from qrita.bench.jobs import Job
from qrita.bench.results import Result
from qrita.bench.rows import NoRowsError, make
from qrita.bench.timing import Bound, Timed, Timer

MOST_INPUTS, LEAST_INPUTS, OUTPUTS = 20, 2, 2
ROOM = 4
"""How much memory, in units of a job's inputs and outputs, peers may need as well: a sort takes several copies."""


class NoRoomError(ValueError):
    """The job does not fit the card."""


@dataclass(frozen=True)
class Machine:
    """What a run has to know of the device.

    Attributes:
        device: torch's name.
        cache: bytes of its L2; 0 if unknown.
        free: asks for the bytes that can be allocated.
    """

    device: str
    cache: int
    free: Callable[[], int]


def inputs_for(bytes_each: int, cache: int, free: int) -> int:
    """How many inputs take turns: as many as pass through the cache four times, and as memory allows.

    Raises:
        NoRoomError: not even two fit.
    """
    fit = free // ROOM // bytes_each - OUTPUTS
    if fit < LEAST_INPUTS:
        needed = (LEAST_INPUTS + OUTPUTS) * ROOM * bytes_each
        raise NoRoomError(f"it needs {size(needed)} of memory, {size(free)} are free")
    wanted = -(-4 * max(cache, 1) // bytes_each)
    return min(max(LEAST_INPUTS + 2, min(wanted, MOST_INPUTS)), fit)


def cached(bytes_each: int, inputs: int, cache: int) -> str:
    """In which state a contender finds the L2, in words."""
    together = inputs * bytes_each
    text = f"{inputs} inputs of together {size(together)} take turns"
    if not cache:
        return f"{text}; the size of the L2 is unknown"
    if together * 2 <= cache:
        return f"{text} and stay in the L2 of {size(cache)}"
    if together >= 2 * cache:
        return f"{text}, too many for the L2 of {size(cache)}: each comes from memory"
    return f"{text}, about as many as the L2 of {size(cache)} holds"


def size(number: int) -> str:
    """1.5 GB, 512 MB, 12 kB."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= factor:
            return f"{number / factor:.3g} {unit}"
    return f"{number} B"


def measure(job: Job, contenders: Sequence[Contender], timer: Timer, machine: Machine, repeats: int) -> Result:
    """One result.

    Raises:
        NoRoomError, NoRowsError: the job cannot be run here.
    """
    inputs = inputs_for(job.bytes, machine.cache, machine.free())
    logits = tuple(make(job, machine.device, number) for number in range(inputs))
    setting = Setting(job, logits, tuple(torch.empty_like(logits[0]) for _ in range(OUTPUTS)))
    not_run = {each.name: reason for each in contenders if (reason := each.takes(job))}
    bound: dict[str, Bound] = {}
    for each in contenders:
        if each.name not in not_run:
            try:
                bound[each.name] = each.bind(setting)
            except Exception as error:
                not_run[each.name] = f"{type(error).__name__}: {error}".splitlines()[0]
    found = timer.time(bound, repeats)
    times = {name: timed for name, timed in found.items() if isinstance(timed, Timed)}
    not_run |= {name: reason for name, reason in found.items() if isinstance(reason, str)}
    return Result(job, inputs, cached(job.bytes, inputs, machine.cache), times, not_run)


def results(
    jobs: Sequence[Job],
    contenders: Sequence[Contender],
    timer: Timer,
    machine: Machine,
    repeats: int,
    over: Callable[[], bool] = lambda: False,
) -> Iterator[Result | tuple[Job, str]]:
    """The result of each job, or the job and why it has none; until `over` says that time is up."""
    for job in jobs:
        if over():
            return
        try:
            yield measure(job, contenders, timer, machine, repeats)
        except (NoRoomError, NoRowsError) as reason:
            yield job, str(reason)
        except RuntimeError as error:  # of the card, which may serve the next job
            yield job, f"{type(error).__name__}: {error}".splitlines()[0]


def deadline(seconds: float | None, clock: Callable[[], float] = time.monotonic) -> Callable[[], bool]:
    """Whether that much time is over, from now on."""
    start = clock()
    return lambda: seconds is not None and clock() - start >= seconds


@contextmanager
def settled(device: torch.device) -> Iterator[Machine]:
    """A GPU as the current device, without autograd."""
    with torch.cuda.device(device), torch.no_grad():
        properties = torch.cuda.get_device_properties(device)

        def free() -> int:
            torch.cuda.empty_cache()
            return torch.cuda.mem_get_info()[0]

        yield Machine(str(device), int(getattr(properties, "L2_cache_size", 0)), free)
