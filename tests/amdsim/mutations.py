"""Kernels with one instruction changed: does the simulator, or the result, tell?"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np

from amdsim import parse
from amdsim.errors import Runaway, SimulationError
from amdsim.launch import Argument, Grid, Options, Simulator
from amdsim.memory import Memory
from amdsim.program import Program, Statement

NOTHING = "s_nop 0"


@dataclass(frozen=True)
class Launch:
    """One launch, to be run again: what it was given, and what its memory held before and after."""

    program: Program
    grid: Grid
    arguments: tuple[Argument, ...]
    memory: Memory
    before: tuple[np.ndarray, ...]
    after: tuple[np.ndarray, ...]
    reached: frozenset[int]
    instructions: int


class Recorder(Simulator):
    """Runs launches, and keeps them."""

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        self.launches: list[Launch] = []

    def run(self, program: Program, grid: Grid, arguments: Sequence[Argument], memory: Memory) -> None:
        before, reached, done = _contents(memory), set(), self.instructions
        original = parse.instruction

        def noting(statement: Statement) -> Any:
            reached.add(statement.index)
            return original(statement)

        self._engines.clear()  # so that everything that is reached is bound again
        with mock.patch.object(parse, "instruction", noting):
            super().run(program, grid, arguments, memory)
        self.launches.append(
            Launch(program, grid, tuple(arguments), memory, before, _contents(memory), frozenset(reached),
                   self.instructions - done)
        )  # fmt: skip


def _contents(memory: Memory) -> tuple[np.ndarray, ...]:
    return tuple(buffer.data.copy() for buffer in memory.buffers)


@dataclass(frozen=True)
class Mutation:
    """A statement, and what stands in its place."""

    kind: str
    index: int
    text: str


def _changed(pattern: str, change: Callable[[re.Match[str]], str]) -> Callable[[str], str | None]:
    compiled = re.compile(pattern)

    def mutate(text: str) -> str | None:
        match = compiled.search(text)
        if match is None:
            return None
        changed = text[: match.start()] + change(match) + text[match.end() :]
        return None if changed == text else changed

    return mutate


_OTHER = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "eq": "ne", "ne": "eq", "lg": "eq"}


def _compared(match: re.Match[str]) -> str:
    other = _OTHER[match[2]]
    if match[1].startswith("s_") and other == "ne":
        other = "lg"
    return f"{match[1]}_{other}_{match[3]}"


def _other_amount(match: re.Match[str]) -> str:
    amount = int(match[2], 0)
    return f"{match[1]}{amount + 1 if amount < 15 else amount - 1}"


def _swapped(match: re.Match[str]) -> str:
    return f"{match[1]}{match[3]}, {match[2]}"


def _open(text: str) -> str | None:
    """The mask that narrows exec is left out."""
    match = re.fullmatch(r"s_and_saveexec_b(32|64) (\S+), (\S+)", text)
    if match is None:
        return None
    return f"s_mov_b{match[1]} {match[2]}, exec{'_lo' if match[1] == '32' else ''}"


def _no_barrier(text: str) -> str | None:
    return NOTHING if text in ("s_barrier", "s_barrier_wait -1") else None


_ORDERED = r"v_sub(?:_nc)?_u32\S*|v_sub_f32\S*|v_cndmask_b32\S*|v_sub(?:b|_co_ci)?_co_u32\S*"
"""Instructions whose operands are not interchangeable."""

KINDS: dict[str, Callable[[str], str | None]] = {
    "barrier dropped": _no_barrier,
    "mask dropped": _open,
    "compare changed": _changed(r"^(v_cmpx?|s_cmp)_(lt|le|gt|ge|eq|ne|lg)_([uif]\d+)", _compared),
    "shift changed": _changed(r"^((?:v_(?:lshl|lshr|ashr)rev_[bi]\d+\S*) \S+, )(\d+)(?=,)", _other_amount),
    "scan's step changed": _changed(r"(row_shr:|row_shl:)(\d+)", _other_amount),
    "operands swapped": _changed(rf"^((?:{_ORDERED}) [^,]+, )([^,\s]+), ([^,\s]+)", _swapped),
    "constant changed": _changed(r"(^v_(?:mov|and|or|add|add_nc)_[bu]32\S* \S+, )(\d+)(?=$|,)", _other_amount),
    "offset changed": _changed(r"(^(?:ds|global|buffer)_.* offset:)(\d+)", lambda m: f"{m[1]}{int(m[2]) + 4}"),
}  # fmt: skip


def mutations(program: Program, reached: Iterable[int]) -> Iterator[Mutation]:
    """Every mutation of the statements that are reached."""
    for index in sorted(reached):
        for kind, mutate in KINDS.items():
            changed = mutate(program.statements[index].text)
            if changed is not None:
                yield Mutation(kind, index, changed)


def drawn(launches: Sequence[Launch], count: int, seed: int) -> list[Mutation]:
    """Some of them, of every kind alike."""
    noise = random.Random(seed)
    found: dict[str, list[Mutation]] = {}
    reached = frozenset().union(*(launch.reached for launch in launches))
    for mutation in mutations(launches[0].program, reached):
        found.setdefault(mutation.kind, []).append(mutation)
    chosen: list[Mutation] = []
    pools = {kind: noise.sample(pool, len(pool)) for kind, pool in sorted(found.items())}
    while len(chosen) < count and any(pools.values()):
        for pool in pools.values():
            if pool and len(chosen) < count:
                chosen.append(pool.pop())
    return chosen


def applied(program: Program, mutation: Mutation) -> Program:
    """The kernel with one instruction changed. A barrier in two parts is dropped whole."""
    statements = list(program.statements)
    statements[mutation.index] = replace(statements[mutation.index], text=mutation.text)
    if mutation.kind == "barrier dropped" and program.statements[mutation.index].text.startswith("s_barrier_wait"):
        signal = max(i for i in range(mutation.index) if statements[i].text.startswith("s_barrier_signal"))
        statements[signal] = replace(statements[signal], text=NOTHING)
    return replace(
        program, statements=tuple(statements), mnemonics=frozenset(m for s in statements for m in s.mnemonics)
    )


def outcome(launches: Sequence[Launch], mutation: Mutation, options: Options) -> str:
    """What tells: an error's name, "result", or "" where nothing does in any of the launches."""
    program = applied(launches[0].program, mutation)
    for launch in launches:
        simulator = Simulator(replace(options, limit=20 * launch.instructions + 1000))
        for buffer, data in zip(launch.memory.buffers, launch.before, strict=True):
            buffer.data[...] = data
        try:
            simulator.run(program, launch.grid, launch.arguments, launch.memory)
        except Runaway:
            return "Runaway"
        except SimulationError as error:
            return type(error).__name__
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        if any((b.data != a).any() for b, a in zip(launch.memory.buffers, launch.after, strict=True)):
            return "result"
    return ""
