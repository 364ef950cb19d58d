"""A row among others: batches of different rows, each with a k and a p of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice

import numpy as np
import torch
from torch import Tensor

from qrita.records import Cuts
from qrita.testing import differences, formats
from qrita.testing.building import Case, build
from qrita.testing.differences import within
from qrita.testing.formats import Raw
from qrita.testing.recipes import Seeded, compose

INT32 = (-(1 << 31), (1 << 31) - 1)
INT64 = (-(1 << 63), (1 << 63) - 1)


@dataclass(frozen=True)
class Batch:
    """Rows of one vocabulary and dtype, with k and p as per-row tensors on the CPU (None where every row has none)."""

    cases: tuple[Case, ...]
    k: Tensor | None
    p: Tensor | None

    @property
    def raw(self) -> Raw:
        """[rows, vocab], the logits' patterns."""
        return np.stack([case.raw for case in self.cases])

    @property
    def logits(self) -> Tensor:
        """[rows, vocab], in memory of their own."""
        return formats.tensor(self.raw, self.cases[0].dtype)


def companions(case: Case, number: int) -> list[Case]:
    """Other rows of the case's vocabulary and dtype: any family, any k and p, fixed by the case's seed."""
    return list(islice(drawn(case), number))


def drawn(case: Case) -> Iterator[Case]:
    """All of those, without end."""
    seed = (case.recipe.seed if case.recipe else 0) << 8
    options = {"min_vocab": case.vocab, "max_vocab": case.vocab, "dtypes": (case.dtype,)}
    for i in count():
        yield build(compose(Seeded(seed + i), **options))  # type: ignore[arg-type]


def batch(cases: Sequence[Case], k_dtype: torch.dtype = torch.int64, p_dtype: torch.dtype = torch.float32) -> Batch:
    """The cases as one batch; "off" is spelt in every way there is. p is rounded to `p_dtype`, its cases with it."""
    rows = [_rounded(case, p_dtype) for case in cases]
    k = torch.tensor([_k(case, i, INT32 if k_dtype is torch.int32 else INT64) for i, case in enumerate(rows)])
    p = torch.tensor([_p(case, i) for i, case in enumerate(rows)], dtype=torch.float64).to(p_dtype)
    return Batch(tuple(rows), k.to(k_dtype), p)


def _k(case: Case, row: int, bounds: tuple[int, int]) -> int:
    if case.k is None:
        return (0, -1, case.vocab, case.vocab + 7, *bounds)[row % 6]
    return min(max(case.k, bounds[0]), bounds[1])


def _p(case: Case, row: int) -> float:
    return (1.0, float("nan"), 2.0, float("inf"))[row % 4] if case.p is None else case.p


def _rounded(case: Case, p_dtype: torch.dtype) -> Case:
    """The case whose p is what is left of it in `p_dtype`."""
    if case.p is None or p_dtype in (torch.float32, torch.float64):
        return case
    return replace(case, p=torch.tensor(case.p, dtype=torch.float64).to(p_dtype).item())


def cuts_difference(batch: Batch, found: Cuts) -> str | None:
    """The first row whose cut is not the oracle's."""
    got, expected = differences.cuts(found), [case.answer.cut for case in batch.cases]
    if got == expected:
        return None
    if len(got) != len(expected):
        return f"expected {len(expected)} cuts, got {len(got)}"
    row = next(i for i, cut in enumerate(got) if cut != expected[i])
    return within(_row(batch, row), differences.cut_difference(batch.cases[row], got[row]))


def masks_difference(batch: Batch, masked: Raw) -> str | None:
    """The first row whose mask is not the oracle's, bit for bit."""
    expected = np.stack([differences.expected_mask(case) for case in batch.cases])
    if expected.shape != masked.shape or expected.dtype != masked.dtype:
        return f"expected {expected.dtype} {expected.shape}, got {masked.dtype} {masked.shape}"
    wrong = np.flatnonzero((expected != masked).any(axis=1))
    if not len(wrong):
        return None
    row = int(wrong[0])
    return within(_row(batch, row), differences.pattern_difference(batch.cases[row], expected[row], masked[row]))


def _row(batch: Batch, row: int) -> str:
    case = batch.cases[row]
    return f"row {row} of {len(batch.cases)} ({case.line})"
