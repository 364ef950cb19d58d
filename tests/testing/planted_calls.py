"""Engines whose bug is not in a row: in what they are given, in what they write, in what they keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from planted_rows import RowEngine, one_more, pattern
from torch import Tensor

from qrita.records import Candidates, Cuts, Problem
from qrita.testing import formats
from qrita.torch_engine import TorchEngine

# --- what goes in -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spoilt:
    """An engine that is given a spoilt problem."""

    spoil: Callable[[Problem], Problem]
    engine: TorchEngine = field(default_factory=TorchEngine)
    name: str = "spoilt"

    def cuts(self, problem: Problem) -> Cuts:
        return self.engine.cuts(self.spoil(problem))

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        self.engine.mask(self.spoil(problem), mask_value, out)

    def candidates(self, problem: Problem, max_candidates: int) -> Candidates:
        return self.engine.candidates(self.spoil(problem), max_candidates)


def neighbours_k(problem: Problem) -> Problem:
    """Each row is given the k of the row before it."""
    return replace(problem, k=problem.k.roll(1) if isinstance(problem.k, Tensor) else problem.k)


def neighbours_row(problem: Problem) -> Problem:
    """The last row of a batch is read one row too early."""
    rows = [*range(problem.rows - 1), max(0, problem.rows - 2)]
    return replace(problem, logits=problem.logits[rows])


def first_rows_p(problem: Problem) -> Problem:
    """Every row is given the p of the first."""
    return replace(problem, p=problem.p[:1].expand(problem.rows) if isinstance(problem.p, Tensor) else problem.p)


def narrowed_k(problem: Problem) -> Problem:
    """An int64 k is narrowed before it is clamped."""
    return replace(problem, k=problem.k.int() if isinstance(problem.k, Tensor) else problem.k)


def narrowed_p(problem: Problem) -> Problem:
    """p passes through bfloat16."""
    p = problem.p
    if isinstance(p, float):
        return replace(problem, p=torch.tensor(p).bfloat16().item())
    return replace(problem, p=p if p is None else p.bfloat16())


def nan_p_keeps_one(problem: Problem) -> Problem:
    """NaN in a p tensor is taken for 0."""
    return replace(problem, p=problem.p.nan_to_num(0.0) if isinstance(problem.p, Tensor) else problem.p)


def flushed_narrow(problem: Problem) -> Problem:
    """Subnormals of a 16-bit row are lost when it is widened."""
    logits = problem.logits
    tiny = logits.abs() < torch.finfo(logits.dtype).tiny
    return replace(problem, logits=logits.masked_fill(tiny, 0.0) if logits.element_size() == 2 else logits)


def k_for_the_first_row(problem: Problem) -> Problem:
    """A k given as a number counts for the first row only."""
    if not isinstance(problem.k, int):
        return problem
    return replace(problem, k=torch.tensor([problem.k] + [0] * (problem.rows - 1)))


def column_stride_of_1(problem: Problem) -> Problem:
    """The columns of a row are taken to lie next to each other."""
    logits = problem.logits
    return replace(problem, logits=logits.as_strided(logits.shape, (logits.stride(0), 1)))


# --- what comes out ---------------------------------------------------------------------------------------------


class KeepsNan(TorchEngine):
    """The mask leaves NaN where it was."""

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        nan = problem.logits.isnan()
        logits = problem.logits.clone()
        super().mask(problem, mask_value, out)
        out.copy_(torch.where(nan, logits, out))


class LosesMinusInfinity(TorchEngine):
    """Everything that is removed becomes mask_value, also a -inf."""

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        lost = problem.logits == -torch.inf
        super().mask(problem, mask_value, out)
        out.masked_fill_(lost, mask_value)


class NormalisesZero(TorchEngine):
    """Arithmetic on what is kept: -0.0 becomes +0.0."""

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        super().mask(problem, mask_value, out)
        out.add_(0.0)


class WritesTheInput(TorchEngine):
    """Out of place, the input is masked as well."""

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        super().mask(problem, mask_value, out)
        if problem.logits.stride(0) >= problem.vocab:
            problem.logits.copy_(out)


class ReadsWhatItWrote(TorchEngine):
    """In place, the second half of a row is decided after the first half has been masked."""

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        half = problem.vocab // 2
        first = out.clone()
        super().mask(problem, mask_value, first)
        out[:, :half] = first[:, :half]
        second = out.clone()
        super().mask(problem, mask_value, second)
        out[:, half:] = second[:, half:]


class WritesPastTheRow(TorchEngine):
    """The element past the last row's end is written, where there is memory."""

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        super().mask(problem, mask_value, out)
        end = out.storage_offset() + (problem.rows - 1) * out.stride(0) + problem.vocab * out.stride(1)
        if end < out.untyped_storage().nbytes() // out.element_size():
            out.as_strided((1,), (1,), end).fill_(0.0)


class ComparesFloats(RowEngine):
    """The mask takes what equals 0.0 without being a zero, which is so where subnormals are flushed, for removed."""

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        before, dtype = formats.raw(problem.logits).copy(), formats.name(out.dtype)
        not_zero = before << before.dtype.type(1) != 0
        lost = (problem.logits == 0.0).numpy() & not_zero
        super().mask(problem, mask_value, out)
        out.copy_(formats.tensor(np.where(lost, pattern(mask_value, dtype), formats.raw(out)), dtype))


class CountsWhatIsListed(TorchEngine):
    """counts is cut off at max_candidates."""

    def candidates(self, problem: Problem, max_candidates: int) -> Candidates:
        found = super().candidates(problem, max_candidates)
        return replace(found, counts=found.counts.clamp(max=max_candidates))


class ListsByIndex(TorchEngine):
    """The candidates are listed by index, not by logit."""

    def candidates(self, problem: Problem, max_candidates: int) -> Candidates:
        found = super().candidates(problem, max_candidates)
        last = torch.where(found.indices < 0, problem.vocab, found.indices)
        order = last.argsort(dim=1, stable=True)
        return replace(found, indices=found.indices.gather(1, order), logits=found.logits.gather(1, order))


# --- what is kept, and what is around ---------------------------------------------------------------------------


class KeepsTheLastTotal(TorchEngine):
    """A buffer that is left from the call before: its total is reported."""

    def cuts(self, problem: Problem) -> Cuts:
        found = super().cuts(problem)
        stale = self.__dict__.get("total")
        self.__dict__["total"] = found.total
        return found if stale is None or stale.shape != found.total.shape else replace(found, total=stale)


@dataclass(frozen=True)
class StaleScratch(RowEngine):
    """Rows are listed in one scratch buffer, one after the other: past a short list stands the last row's."""

    def candidates(self, problem: Problem, max_candidates: int) -> Candidates:
        found = super().candidates(problem, max_candidates)
        indices, logits = found.indices.clone(), found.logits.clone()
        for row in range(1, problem.rows):
            left = indices[row] < 0
            indices[row, left], logits[row, left] = indices[row - 1, left], logits[row - 1, left]
        return replace(found, indices=indices, logits=logits)

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        logits = problem.logits.clone()
        super().mask(problem, mask_value, out)
        listed = self.candidates(replace(problem, logits=logits), problem.vocab).indices
        dtype = formats.name(out.dtype)
        lowest = formats.tensor(formats.patterns([formats.NEGATIVE_INFINITY[dtype]], dtype), dtype)
        for row in range(problem.rows):
            kept = torch.zeros(problem.vocab, dtype=torch.bool)
            kept[listed[row][listed[row] >= 0].long()] = True
            out[row] = torch.where(kept | (logits[row] == lowest), logits[row], out[row])


class CountsThreads(TorchEngine):
    """With three threads the row is split in three, and k is one too great."""

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        more = problem.k + 1 if problem.k is not None and torch.get_num_threads() == 3 else problem.k
        super().mask(replace(problem, k=more), mask_value, out)


class ManyRows(TorchEngine):
    """More than 64 rows are answered by another kernel, in which k is off by one."""

    def cuts(self, problem: Problem) -> Cuts:
        return super().cuts(problem) if problem.rows <= 64 else RowEngine(one_more).cuts(problem)

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        engine = super() if problem.rows <= 64 else RowEngine(one_more)
        engine.mask(problem, mask_value, out)
