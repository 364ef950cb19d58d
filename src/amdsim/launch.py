"""Launches a kernel: batches of workgroups, their arguments, and what their registers hold at first."""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from amdsim import instructions
from amdsim.architectures import MAX_THREADS
from amdsim.engine import Engine
from amdsim.errors import LaunchFault
from amdsim.machine import Machine
from amdsim.memory import Memory
from amdsim.operands import EXEC, TTMP
from amdsim.program import Program

KEPT = 32
"""Machines that are kept for the next launch: one takes up to some tens of megabytes."""

_HIDDEN = ("hidden_block_count_x", "hidden_block_count_y", "hidden_block_count_z")
_SIZES = ("hidden_group_size_x", "hidden_group_size_y", "hidden_group_size_z")
_FORMATS = {"i1": "?", "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q"}


@dataclass(frozen=True)
class Argument:
    """An argument of a launch: `kind` is "ptr", "fp32", "fp64" or an integer such as "i32"."""

    kind: str
    value: int | float

    def bytes(self) -> bytes:
        """As it lies in the kernarg segment."""
        formats = _FORMATS | {"ptr": "Q", "fp32": "f", "fp64": "d"}
        if self.kind not in formats:
            raise LaunchFault(f"argument kind {self.kind!r}: expected one of {', '.join(formats)}")
        return struct.pack("<" + formats[self.kind], self.value)


@dataclass(frozen=True)
class Options:
    """How a launch is simulated.

    Attributes:
        twins: whether what nobody wrote is detected, which takes about a third more time.
        races: whether global memory is watched for accesses that nothing orders.
        lanes: lanes that are simulated at once, at most; more take memory, and less time each.
        seed: of the noise that registers and LDS hold at first, and of the order in which workgroups and waves come;
            None keeps their order.
        limit: instructions of a batch of workgroups, after which it is taken to run forever.
    """

    twins: bool = True
    races: bool = True
    lanes: int = 4096
    seed: int | None = None
    limit: int = 50_000_000


@dataclass(frozen=True)
class Grid:
    """Programs along x, y and z."""

    x: int
    y: int = 1
    z: int = 1

    @property
    def count(self) -> int:
        """Of all of them."""
        return self.x * self.y * self.z

    def coordinates(self, index: Any) -> tuple[Any, Any, Any]:
        """Of programs by their number."""
        return index % self.x, index // self.x % self.y, index // (self.x * self.y)


class Simulator:
    """Runs launches, and keeps what it prepared for one for the next of the same kernel."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self.instructions = 0
        self._engines: OrderedDict[tuple[int, int], Engine] = OrderedDict()

    def run(self, program: Program, grid: Grid, arguments: Sequence[Argument], memory: Memory) -> None:
        """Run one launch to its end. The buffers of `memory` are changed in place.

        Raises:
            SimulationError: the kernel does what no kernel may, or what is not simulated.
        """
        _check(program, grid)
        instructions.check(program.mnemonics)
        options = self.options
        noise = np.random.default_rng(0 if options.seed is None else options.seed)
        groups = np.arange(grid.count)
        if options.seed is not None:
            noise.shuffle(groups)
        segment = _segment(program, grid, arguments)
        memory.granule = _granule(program) if options.races else 0
        address = memory.add("the arguments", segment, writable=False)
        try:
            size = _batch(program, options, len(groups))
            with np.errstate(all="ignore"):
                for first in range(0, len(groups), size):
                    batch = groups[first : first + size]
                    engine = self._engine(program, size)
                    machine = engine.machine
                    machine.memory, machine.first_group = memory, first
                    machine.scramble(noise)
                    machine.local.begin(first, fresh=first == 0)
                    if options.seed is not None:
                        machine.shuffle(noise)
                    _enter(machine, grid, batch, segment, address)
                    self.instructions += engine.run(len(batch), options.limit)
        finally:
            memory.remove_last()
            memory.forget()

    def _engine(self, program: Program, groups: int) -> Engine:
        """The machine for some workgroups of a program, by its identity: an engine keeps its program alive."""
        key = (id(program), groups)
        if key not in self._engines:
            self._engines[key] = Engine(Machine(program, groups, self.options.twins))
        self._engines.move_to_end(key)
        if len(self._engines) > KEPT:
            self._engines.popitem(last=False)
        return self._engines[key]


def _batch(program: Program, options: Options, groups: int) -> int:
    """Workgroups of a batch: a power of two, so that a machine serves launches of many sizes."""
    most = max(1, options.lanes // (program.waves * program.architecture.wave * (1 + options.twins)))
    return 1 << (min(most, groups) - 1).bit_length() if groups <= most else 1 << (most.bit_length() - 1)


def run(
    program: Program, grid: Grid, arguments: Sequence[Argument], memory: Memory, options: Options | None = None
) -> None:
    """Run one launch."""
    Simulator(options).run(program, grid, arguments, memory)


def _check(program: Program, grid: Grid) -> None:
    if program.threads > MAX_THREADS:
        raise LaunchFault(f"{program.name}: {program.threads} work items: a workgroup may have {MAX_THREADS}")
    if program.threads % program.architecture.wave:
        raise LaunchFault(f"{program.name}: {program.threads} work items: expected whole waves")
    if program.lds > program.architecture.lds:
        raise LaunchFault(
            f"{program.name}: {program.lds} bytes of LDS: {program.architecture.name} has {program.architecture.lds}"
        )
    if min(grid.x, grid.y, grid.z) < 1 or grid.x >= 2**31 or max(grid.y, grid.z) >= 2**16:
        raise LaunchFault(f"{program.name}: grid {grid.x} x {grid.y} x {grid.z}")


def _segment(program: Program, grid: Grid, arguments: Sequence[Argument]) -> Any:
    """The kernarg segment, as the metadata lays it out."""
    fields = [a for a in program.arguments if not a.hidden]
    if len(arguments) != len(fields):
        raise LaunchFault(f"{program.name}: {len(arguments)} arguments: expected {len(fields)}")
    segment = np.zeros(program.kernarg_size, np.uint8)
    for given, place in zip(arguments, fields, strict=True):
        raw = given.bytes()
        if len(raw) != place.size:
            raise LaunchFault(f"{program.name}: {given.kind} at byte {place.offset}: expected {place.size} bytes")
        segment[place.offset : place.offset + place.size] = np.frombuffer(raw, np.uint8)
    counts = dict(zip(_HIDDEN, (grid.x, grid.y, grid.z), strict=True))
    sizes = dict(zip(_SIZES, (program.threads, 1, 1), strict=True))
    for place in (a for a in program.arguments if a.hidden):
        value = {**counts, **sizes}.get(place.kind, 0)
        segment[place.offset : place.offset + place.size] = np.frombuffer(
            value.to_bytes(place.size, "little"), np.uint8
        )
    return segment


def _enter(machine: Machine, grid: Grid, batch: Any, segment: Any, address: int) -> None:
    """The registers as waves find them."""
    program, entry = machine.program, machine.program.entry
    first: list[Any] = []
    for name, words in entry.user:
        if name not in ("kernarg_segment_ptr", "private_segment_size"):
            raise LaunchFault(f"{program.name}: it asks for {name}")
        first += [address & 0xFFFFFFFF, address >> 32] if words == 2 else [program.scratch]
    start = 4 * entry.preload_offset
    first += list(segment[start : start + 4 * entry.preload_length].view(np.uint32))
    first += [None] * (entry.user_count - len(first))
    x, y, z = grid.coordinates(batch[np.minimum(machine.group, len(batch) - 1)])
    if program.architecture.generation == 12:
        machine.scalar(TTMP + 9)[...] = x
        machine.scalar(TTMP + 7)[...] = y | (z << 16)
        machine.scalar(TTMP + 8)[...] = machine.wave << 25
    else:
        first += [c for wanted, c in zip(entry.workgroup, (x, y, z), strict=True) if wanted]
    for index, value in enumerate(first):
        if value is not None:
            machine.scalar(index)[...] = value
    machine.vectors[0] = machine.wave[:, None] * machine.width + np.arange(machine.width)
    machine.mask(EXEC)[...] = 255
    machine.activate(np.ones(machine.size, np.bool_))


def _granule(program: Program) -> int:
    """Bytes that are tracked as one: what the kernel stores at least."""
    stores = [m for m in program.mnemonics if m.startswith(("global_store", "buffer_store"))]
    if any("byte" in m or m.endswith("b8") for m in stores):
        return 1
    return 2 if any("short" in m or m.endswith("b16") for m in stores) else 4
