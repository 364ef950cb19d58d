"""The simulator's own tests know every instruction that the kernels consist of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from amdsim import Argument, Grid, Memory, Simulator
from amdsim.program import Program
from qrita.records import Problem
from qrita.testing.subjects import Subject

LISTS = Path(__file__).parents[1] / "amdsim" / "emitted"


class Noting(Simulator):
    """Notes what the kernels that it is given consist of, and runs none."""

    def __init__(self) -> None:
        super().__init__()
        self.mnemonics: set[str] = set()

    def run(self, program: Program, grid: Grid, arguments: Sequence[Argument], memory: Memory) -> None:
        self.mnemonics |= program.mnemonics


def test_every_instruction_of_the_kernels_is_listed(subject: Subject) -> None:
    """By the small plan in each of its ways, and by the plan that the card gets, on aligned rows and others."""
    from qrita import device, plan

    noting = Noting()
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        memory = torch.zeros(801, dtype=dtype)
        for logits in (memory[None, :800], memory[None, 1:]):
            for k in (5, None):
                problem = Problem(logits, k, 0.5)
                small = subject.engine.plan_for(problem)
                chosen = plan.choose(problem, device.of(logits.device))
                for forced in (chosen, *(replace(small, truncation=name) for name in plan.TRUNCATIONS)):
                    engine = replace(subject.engine, plan=forced, simulator=noting)
                    engine.cuts(problem)
                    engine.mask(problem, 0.0, torch.empty_like(logits))
                    engine.candidates(problem, 20)
    card = subject.engine.card.architecture
    listed = {*(LISTS / f"{card}.txt").read_text(encoding="utf-8").split()}
    assert noting.mnemonics
    assert noting.mnemonics <= listed, (
        f"{sorted(noting.mnemonics - listed)} are not in {LISTS.name}/{card}.txt; `python tests/amdsim/emitted.py "
        "FOLDER`, with a folder of assemblies such as Triton's cache, adds them, and asks for their tests"
    )
