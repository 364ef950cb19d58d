"""What the kernels consist of on a simulated card: compiled as its lanes launch them, and not run.

`python tests/sim/emitting.py` adds what is not listed yet to tests/amdsim/emitted/ARCHITECTURE.txt, for every card, and
prints it. It compiles what Triton's cache does not hold, in a process for every core that it may use: minutes the first
time. What kernels consisted of before stays: it is simulated, and its tests are there.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))  # not an older qrita that is installed
sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "amdsim"))

import emitted
import simulated

from amdsim import Argument, Grid, Memory, Simulator
from amdsim.program import Program
from qrita.plan import Plan
from qrita.records import Problem
from qrita.testing.recipes import DTYPES, build, seeded
from qrita.testing.subjects import Subject

RECIPES = 8
"""Those that each plan is forced on under the profile `sim` (the fixture plan_recipes)."""


class Noting(Simulator):
    """Notes what the kernels that it is given consist of, and runs none."""

    def __init__(self) -> None:
        super().__init__()
        self.mnemonics: set[str] = set()

    def run(self, program: Program, grid: Grid, arguments: Sequence[Argument], memory: Memory) -> None:
        self.mnemonics |= program.mnemonics


def mnemonics(subject: Subject, dtype: str, recipes: int = RECIPES) -> set[str]:
    """The instructions of the kernels that a card's lane launches on rows of a dtype, and of the weight's table."""
    from qrita.kernels.weight import table_kernel

    noting = Noting()
    for problem, plan in _launched(subject, dtype, recipes):
        engine = replace(subject.engine, plan=plan, simulator=noting)
        engine.cuts(problem)
        engine.mask(problem, 0.0, torch.empty_like(problem.logits))
        engine.candidates(problem, 20)
    with replace(subject.engine, simulator=noting).simulated():
        table_kernel[(1,)](torch.empty(4096, dtype=torch.int32), TILE=4096, num_warps=4, enable_fp_fusion=False)
    return noting.mnemonics


def _launched(subject: Subject, dtype: str, recipes: int) -> Iterator[tuple[Problem, Plan]]:
    """The small plan in each of its ways and the plan that the card gets, on aligned rows and others; forced plans."""
    from qrita import device
    from qrita import plan as plans

    card = device.of(torch.device("cpu"))
    memory = torch.zeros(801, dtype=getattr(torch, dtype))
    for logits, k in product((memory[None, :800], memory[None, 1:]), (5, None)):
        problem = Problem(logits, k, 0.5)
        small = subject.engine.plan_for(problem)
        yield problem, plans.choose(problem, card)
        yield from ((problem, replace(small, truncation=name)) for name in plans.TRUNCATIONS)
    for case in map(build, seeded(recipes)):
        if case.logits.dtype == memory.dtype:
            problem = Problem(case.logits[None], case.k, case.p)
            yield from ((problem, plan) for plan in plans.forced(problem, card).values())


def _found(name: str, dtype: str) -> tuple[str, set[str]]:
    """(architecture, instructions), by an engine of its own."""
    with simulated.subject(name) as subject:
        return subject.engine.card.architecture, mnemonics(subject, dtype)


def main() -> None:
    """Complete the lists."""
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(_found, *zip(*product(simulated.NAMES, DTYPES), strict=True)))
    for architecture in simulated.ARCHITECTURES:
        now = set().union(*(instructions for name, instructions in found if name == architecture))
        for mnemonic in emitted.add(architecture, now):
            print(f"{architecture}: {mnemonic}")


if __name__ == "__main__":
    main()
