"""Engines for the tests of the command line: each has one fault, planted on purpose."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from qrita.records import Candidates, Cuts, Problem
from qrita.torch_engine import TorchEngine


@dataclass(frozen=True)
class OneMore:
    """Keeps one token more than k asks for."""

    name: str = "one-more"

    def cuts(self, problem: Problem) -> Cuts:
        return TorchEngine().cuts(self._wrong(problem))

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        TorchEngine().mask(self._wrong(problem), mask_value, out)

    def candidates(self, problem: Problem, max_candidates: int) -> Candidates:
        return TorchEngine().candidates(self._wrong(problem), max_candidates)

    @staticmethod
    def _wrong(problem: Problem) -> Problem:
        return replace(problem, k=problem.k + 1) if isinstance(problem.k, int) else problem


class Raises(OneMore):
    """Cannot list candidates."""

    def candidates(self, problem: Problem, max_candidates: int) -> Candidates:
        raise RuntimeError(f"no room for {max_candidates} candidates")

    @staticmethod
    def _wrong(problem: Problem) -> Problem:
        return problem


class Right(OneMore):
    """No fault; says how it works."""

    @staticmethod
    def _wrong(problem: Problem) -> Problem:
        return problem

    def describe(self, problem: Problem) -> str:
        return f"sorts {problem.rows} rows of {problem.vocab}"


class Impatient(Right):
    """The person at the keyboard presses Ctrl-C when the first candidates are listed."""

    def candidates(self, problem: Problem, max_candidates: int) -> Candidates:
        raise KeyboardInterrupt


NOT_AN_ENGINE = object()
