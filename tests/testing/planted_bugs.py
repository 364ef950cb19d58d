"""Engines with one bug each. The suite is worth what it says about these.

`RowEngine` answers row by row with a function of (bits, k, p), by default a second writing of the oracle; most bugs
are one changed line of that function. The others wrap an engine and spoil what goes in or comes out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, copysign, ldexp

import numpy as np
import torch
from torch import Tensor

from qrita import reference
from qrita.records import Candidates, Cuts, Problem
from qrita.reference import Bits, Row
from qrita.testing import formats
from qrita.testing.formats import Raw
from qrita.torch_engine import TorchEngine

RowFunction = Callable[[Bits, int | None, float | None], Row]


def _pattern(value: float, dtype: str) -> Raw:
    """The bits of a number that `dtype` represents; in integers where a CPU mode might flush it."""
    subnormal = 0.0 < abs(value) < 2.0**-126
    bits = np.uint32(ldexp(abs(value), 149)) if subnormal else np.float32(abs(value)).view(np.uint32)
    bits |= np.uint32(0x80000000 if copysign(1.0, value) < 0 else 0)
    return formats.rounded(np.array([bits]).view(np.float32), dtype)


@dataclass(frozen=True)
class RowEngine:
    """An engine made of a function of one row."""

    row: RowFunction = reference.row
    name: str = "rows"

    def _rows(self, problem: Problem) -> list[Row]:
        raw = formats.raw(problem.logits)
        bits = reference.widen(raw, formats.name(problem.logits.dtype))
        k = problem.k.tolist() if isinstance(problem.k, Tensor) else [problem.k] * problem.rows
        p = problem.p.float().tolist() if isinstance(problem.p, Tensor) else [problem.p] * problem.rows
        return [self.row(*given) for given in zip(bits, k, p, strict=True)]

    def cuts(self, problem: Problem) -> Cuts:
        cuts = [row.cut for row in self._rows(problem)]
        dtypes = {"key": torch.int64, "index": torch.int32, "count": torch.int32}
        fields = Cuts.__dataclass_fields__
        return Cuts(*(torch.tensor([getattr(c, f) for c in cuts], dtype=dtypes.get(f, torch.int64)) for f in fields))

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        raw, dtype = formats.raw(problem.logits), formats.name(problem.logits.dtype)
        kept = np.stack([reference.kept(row) for row in self._rows(problem)])
        stays = kept | (raw == formats.NEGATIVE_INFINITY[dtype])
        out.copy_(formats.tensor(np.where(stays, raw, _pattern(mask_value, dtype)), dtype))

    def candidates(self, problem: Problem, max_candidates: int) -> Candidates:
        rows = self._rows(problem)
        indices = torch.full((len(rows), max_candidates), -1, dtype=torch.int32)
        logits = torch.full((len(rows), max_candidates), -torch.inf, dtype=problem.logits.dtype)
        for i, row in enumerate(rows):
            listed = torch.from_numpy(row.kept[:max_candidates])
            indices[i, : len(listed)] = listed.int()
            logits[i, : len(listed)] = problem.logits[i, listed]
        cuts = self.cuts(problem)
        return Candidates(indices, logits, cuts.count, cuts.mass, cuts.total)


# --- bugs in a row ----------------------------------------------------------------------------------------------


def _row(
    bits: Bits,
    k: int | None,
    p: float | None,
    *,
    keys_of: Callable[[Bits], Bits] = reference.ordered_keys,
    highest_index_first: bool = False,
    side: str = "left",
    sum_dtype: type = np.int64,
    tolerance: float = 0.0,
) -> Row:
    """`reference.row` with places to go wrong."""
    keys = keys_of(bits)
    tokens = np.flatnonzero(reference.eligible(bits))
    if highest_index_first:
        tokens = tokens[::-1]
    order = tokens[np.argsort(~keys[tokens], kind="stable")]
    logits = bits.view(np.float32)
    if k is not None and 0 < k < len(bits):
        if tolerance and len(order) > k:
            with np.errstate(over="ignore", invalid="ignore"):
                k += int((np.abs(logits[order[k:]] - logits[order[k - 1]]) < tolerance).sum())
        order = order[:k]
    if not len(order):
        return Row(keys, order, np.zeros(0, np.int64), 0)
    with np.errstate(over="ignore", invalid="ignore"):
        d = np.where(keys[order] == keys[order[0]], np.float32(0), logits[order] - logits[order[0]])
    weight = reference.weights(d)
    prefix = np.cumsum(weight, dtype=sum_dtype)
    total = int(prefix[-1])
    count = len(order)
    if p is not None and p < 1.0:
        target = ceil(Fraction(p) * total) if p > 0.0 else 0
        count = min(count, max(1, int(np.searchsorted(prefix, sum_dtype(target), side=side)) + 1))
    return Row(keys, order[:count], weight[:count], total)


def strictly_greater_mass(bits: Bits, k: int | None, p: float | None) -> Row:
    """Top-p waits for a mass > the target where >= is meant."""
    return _row(bits, k, p, side="right")


def highest_index_first(bits: Bits, k: int | None, p: float | None) -> Row:
    """Equal logits: the highest index first."""
    return _row(bits, k, p, highest_index_first=True)


def negative_zero_below(bits: Bits, k: int | None, p: float | None) -> Row:
    """-0.0 is ordered below +0.0."""

    def keys(bits: Bits) -> Bits:
        negative = (bits >> np.uint32(31)) == 1
        return np.where(negative, ~bits, bits | np.uint32(0x80000000)).astype(np.uint32)

    return _row(bits, k, p, keys_of=keys)


def one_more(bits: Bits, k: int | None, p: float | None) -> Row:
    """k is off by one."""
    return _row(bits, None if k is None or k <= 0 else k + 1, p)


def float_sums(bits: Bits, k: int | None, p: float | None) -> Row:
    """Masses are added in fp32."""
    return _row(bits, k, p, sum_dtype=np.float32)


def tie_tolerance(bits: Bits, k: int | None, p: float | None) -> Row:
    """What lies within 1e-9 of the k-th logit counts as equal to it, and all of it is kept."""
    return _row(bits, k, p, tolerance=1e-9)


def right_count_wrong_set(bits: Bits, k: int | None, p: float | None) -> Row:
    """As many tokens as the oracle keeps, and the last is another one: comparing counts sees nothing."""
    right = reference.row(bits, k, p)
    more = reference.row(bits, None, None).kept
    if not 0 < len(right.kept) < len(more):
        return right
    return replace(right, kept=np.append(right.kept[:-1], more[len(right.kept)]))


def weightless_tokens_stay(bits: Bits, k: int | None, p: float | None) -> Row:
    """p just below 1 is taken for off: tokens of weight 0 stay."""
    return reference.row(bits, k, None if p is not None and p > 0.999999 else p)


# --- bugs around a row ------------------------------------------------------------------------------------------


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


def narrowed_k(problem: Problem) -> Problem:
    """An int64 k is narrowed before it is clamped."""
    return replace(problem, k=problem.k.int() if isinstance(problem.k, Tensor) else problem.k)


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


class WritesPastTheRow(TorchEngine):
    """The element past the last row's end is written, where there is memory."""

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        super().mask(problem, mask_value, out)
        end = out.storage_offset() + (problem.rows - 1) * out.stride(0) + problem.vocab * out.stride(1)
        if end < out.untyped_storage().nbytes() // out.element_size():
            out.as_strided((1,), (1,), end).fill_(0.0)


class KeepsTheLastTotal(TorchEngine):
    """A buffer that is left from the call before: its total is reported."""

    total: Tensor | None = None

    def cuts(self, problem: Problem) -> Cuts:
        found = super().cuts(problem)
        stale = KeepsTheLastTotal.total
        KeepsTheLastTotal.total = found.total
        return found if stale is None or stale.shape != found.total.shape else replace(found, total=stale)


class ComparesFloats(RowEngine):
    """The mask takes what equals 0.0 without being a zero, which is so where subnormals are flushed, for removed."""

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        before, dtype = formats.raw(problem.logits).copy(), formats.name(out.dtype)
        not_zero = before << before.dtype.type(1) != 0
        lost = (problem.logits == 0.0).numpy() & not_zero
        super().mask(problem, mask_value, out)
        out.copy_(formats.tensor(np.where(lost, _pattern(mask_value, dtype), formats.raw(out)), dtype))


class CountsThreads(TorchEngine):
    """With three threads the row is split in three, and k is one too great."""

    def mask(self, problem: Problem, mask_value: float, out: Tensor) -> None:
        more = problem.k + 1 if problem.k is not None and torch.get_num_threads() == 3 else problem.k
        super().mask(replace(problem, k=more), mask_value, out)


class CountsWhatIsListed(TorchEngine):
    """counts is cut off at max_candidates."""

    def candidates(self, problem: Problem, max_candidates: int) -> Candidates:
        found = super().candidates(problem, max_candidates)
        return replace(found, counts=found.counts.clamp(max=max_candidates))
