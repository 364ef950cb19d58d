"""Engines that answer row by row, and bugs that are one changed step of what they do to a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, copysign, ldexp
from statistics import NormalDist
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from qrita import reference
from qrita.records import Candidates, Cuts, Problem
from qrita.reference import Bits, Row
from qrita.testing import formats
from qrita.testing.formats import Raw

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
RowFunction = Callable[[Bits, int | None, float | None], Row]


def pattern(value: float, dtype: str) -> Raw:
    """The bits of a number that `dtype` represents; in integers where a CPU mode might flush it."""
    subnormal = 0.0 < abs(value) < 2.0**-126
    bits = np.uint32(ldexp(abs(value), 149)) if subnormal else np.float32(abs(value)).view(np.uint32)
    bits |= np.uint32(0x80000000 if copysign(1.0, value) < 0 else 0)
    return formats.rounded(np.array([bits]).view(np.float32), dtype)


@dataclass(frozen=True)
class RowEngine:
    """An engine made of a function of one row, by default a second writing of the oracle."""

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
        out.copy_(formats.tensor(np.where(stays, raw, pattern(mask_value, dtype)), dtype))

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


# --- the steps of a row, any of which may be another ---------------------------------------------------------------


@dataclass(frozen=True)
class Tokens:
    """The eligible tokens in order, with their keys and logits, and the row they come from."""

    order: Integers
    keys: Bits
    logits: Floats
    row: Floats

    def first(self, count: int) -> Tokens:
        """The first of them."""
        return self.where(np.arange(len(self.order)) < count)

    def where(self, chosen: NDArray[np.bool_]) -> Tokens:
        """Some of them."""
        return replace(self, order=self.order[chosen], keys=self.keys[chosen], logits=self.logits[chosen])


def _first_k(tokens: Tokens, k: int) -> Tokens:
    return tokens.first(k)


def _greatest(tokens: Tokens) -> Any:
    return tokens.logits[0]


def _sums(weights: Integers) -> Any:
    return np.cumsum(weights)


def _ceiling(p: float, total: int) -> int:
    return ceil(Fraction(p) * total)


def _row(
    bits: Bits,
    k: int | None,
    p: float | None,
    *,
    keys_of: Callable[[Bits], Bits] = reference.ordered_keys,
    highest_index_first: bool = False,
    take: Callable[[Tokens, int], Tokens] = _first_k,
    peak: Callable[[Tokens], Any] = _greatest,
    weigh: Callable[[Floats], Integers] = reference.weights,
    sums: Callable[[Integers], Any] = _sums,
    target: Callable[[float, int], int] = _ceiling,
    side: str = "left",
) -> Row:
    """`reference.row` with every step replaceable."""
    keys = keys_of(bits)
    order = np.flatnonzero(reference.eligible(bits))
    if highest_index_first:
        order = order[::-1]
    order = order[np.argsort(~keys[order], kind="stable")]
    row = bits.view(np.float32)
    tokens = Tokens(order, keys[order], row[order], row)
    with np.errstate(all="ignore"):
        if k is not None and 0 < k < len(bits) and len(order):
            tokens = take(tokens, k)
        if not len(tokens.order):
            return Row(keys, tokens.order, np.zeros(0, np.int64), 0)
        greatest = peak(tokens)
        d = np.where(tokens.keys == tokens.keys[0], np.float32(0), (tokens.logits - greatest).astype(np.float32))
        if peak is not _greatest:
            d = np.minimum((tokens.logits - greatest).astype(np.float32), np.float32(0))
        weights = weigh(d)
    prefix = sums(weights)
    total = int(prefix[-1])
    count = len(tokens.order)
    if p is not None and p < 1.0 and total:
        goal = target(p, total) if p > 0.0 else 0
        count = min(count, max(1, int(np.searchsorted(prefix, prefix.dtype.type(goal), side=side)) + 1))
    return Row(keys, tokens.order[:count], weights[:count], total)


# --- bugs in the order ------------------------------------------------------------------------------------------


def highest_index_first(bits: Bits, k: int | None, p: float | None) -> Row:
    """Equal logits: the highest index first."""
    return _row(bits, k, p, highest_index_first=True)


def negative_zero_below(bits: Bits, k: int | None, p: float | None) -> Row:
    """-0.0 is ordered below +0.0."""

    def keys(bits: Bits) -> Bits:
        negative = (bits >> np.uint32(31)) == 1
        return np.where(negative, ~bits, bits | np.uint32(0x80000000)).astype(np.uint32)

    return _row(bits, k, p, keys_of=keys)


def subnormals_are_zero(bits: Bits, k: int | None, p: float | None) -> Row:
    """Keys are made from values that a unit has flushed."""

    def keys(bits: Bits) -> Bits:
        tiny = (bits & np.uint32(0x7FFFFFFF)) < np.uint32(0x00800000)
        return reference.ordered_keys(np.where(tiny, np.uint32(0), bits))

    return _row(bits, k, p, keys_of=keys)


def nan_takes_a_place(bits: Bits, k: int | None, p: float | None) -> Row:
    """A NaN sorts above everything and uses up one of the k places."""
    places = int(((bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)).sum())
    return _row(bits, k, p, take=lambda tokens, k: tokens.first(max(0, k - places)))


# --- bugs in top-k ----------------------------------------------------------------------------------------------


def one_more(bits: Bits, k: int | None, p: float | None) -> Row:
    """k is off by one."""
    return _row(bits, None if k is None or k <= 0 else k + 1, p)


def tie_tolerance(bits: Bits, k: int | None, p: float | None) -> Row:
    """What lies within 1e-9 of the k-th logit counts as equal to it, and all of it is kept."""

    def take(tokens: Tokens, k: int) -> Tokens:
        if len(tokens.order) <= k:
            return tokens
        return tokens.first(k + int((np.abs(tokens.logits[k:] - tokens.logits[k - 1]) < 1e-9).sum()))

    return _row(bits, k, p, take=take)


def capped_search(bits: Bits, k: int | None, p: float | None) -> Row:
    """The pivot search halves a range of floats and gives up after 20 passes; what is above its lower end is kept."""

    def take(tokens: Tokens, k: int) -> Tokens:
        low, high = tokens.logits[-1], tokens.logits[0]
        for _ in range(20):
            pivot = np.float32(low / 2 + high / 2)
            if (tokens.logits >= pivot).sum() >= k:
                low = pivot
            else:
                high = pivot
        found = int((tokens.logits >= low).sum())
        return tokens.first(k if tokens.logits[min(k, len(tokens.order)) - 1] == low else found)

    return _row(bits, k, p, take=take)


def bound_from_the_first_block(bits: Bits, k: int | None, p: float | None) -> Row:
    """The search starts from the least and the greatest of the first 64 logits and cannot leave that range."""

    def take(tokens: Tokens, k: int) -> Tokens:
        block = tokens.keys[tokens.order < 64]
        if not len(block) or len(tokens.order) <= k:
            return tokens.first(k)
        found = np.clip(tokens.keys[k - 1], block.min(), block.max())
        return tokens.first(k) if found == tokens.keys[k - 1] else tokens.where(tokens.keys >= found)

    return _row(bits, k, p, take=take)


def statistics_of_the_first_block(bits: Bits, k: int | None, p: float | None) -> Row:
    """A threshold guessed from the first 64 logits; where it leaves too few, top-k is lost for the row."""

    def take(tokens: Tokens, k: int) -> Tokens:
        block = tokens.row[:64][np.isfinite(tokens.row[:64])].astype(np.float64)
        if not len(block):
            return tokens
        z = NormalDist().inv_cdf(1 - k / len(tokens.row)) - 0.3
        found = tokens.logits >= block.mean() + z * block.std()
        return tokens.first(k) if found.sum() >= min(k, len(tokens.order)) else tokens

    return _row(bits, k, p, take=take)


def k_ignored_without_minus_infinity(bits: Bits, k: int | None, p: float | None) -> Row:
    """The end of the survivors is looked for as the first -inf: where the row's minimum is finite, k is ignored."""
    return _row(bits, k if (bits == 0xFF800000).any() else None, p)


def strictly_above_the_minimum(bits: Bits, k: int | None, p: float | None) -> Row:
    """Where the k-th logit equals the row's minimum, only what is greater is kept, or everything if nothing is."""

    def take(tokens: Tokens, k: int) -> Tokens:
        if len(tokens.order) <= k or tokens.keys[k - 1] != tokens.keys[-1]:
            return tokens.first(k)
        return tokens.where(tokens.keys > tokens.keys[-1]) if tokens.keys[0] != tokens.keys[-1] else tokens

    return _row(bits, k, p, take=take)


def quota_at_a_split_border(bits: Bits, k: int | None, p: float | None) -> Row:
    """Of a tie that reaches into the second half of the row, the second half is given one place too few."""

    def take(tokens: Tokens, k: int) -> Tokens:
        if len(tokens.order) <= k:
            return tokens
        tied = tokens.keys == tokens.keys[k - 1]
        before = int((tied & (tokens.order < len(tokens.row) // 2)).sum())
        quota = k - int((tokens.keys > tokens.keys[k - 1]).sum())
        return tokens.first(k - 1 if 0 < before < quota else k)

    return _row(bits, k, p, take=take)


def scan_of_64_lanes(bits: Bits, k: int | None, p: float | None) -> Row:
    """Ties are counted by a scan of 64 lanes that carries nothing over to the next 64."""

    def take(tokens: Tokens, k: int) -> Tokens:
        if len(tokens.order) <= k:
            return tokens
        tied = np.flatnonzero(tokens.keys == tokens.keys[k - 1])
        blocks = tokens.order[tied] // 64
        place = np.arange(len(tied)) - np.searchsorted(blocks, blocks)
        chosen = tokens.keys > tokens.keys[k - 1]
        chosen[tied[place < k - chosen.sum()]] = True
        return tokens.where(chosen)

    return _row(bits, k, p, take=take)


# --- bugs in top-p ----------------------------------------------------------------------------------------------


def strictly_greater_mass(bits: Bits, k: int | None, p: float | None) -> Row:
    """Top-p waits for a mass > the target where >= is meant."""
    return _row(bits, k, p, side="right")


def float_sums(bits: Bits, k: int | None, p: float | None) -> Row:
    """Masses are added in fp32."""
    return _row(bits, k, p, sums=lambda weights: np.cumsum(weights, dtype=np.float32))


def estimated_maximum(bits: Bits, k: int | None, p: float | None) -> Row:
    """Weights are taken below mean + 6 deviations instead of the maximum; where all vanish, everything is kept."""

    def peak(tokens: Tokens) -> Any:
        finite = tokens.logits[np.isfinite(tokens.logits)].astype(np.float64)
        return np.float32(finite.mean() + 6 * finite.std()) if len(finite) > 16 else tokens.logits[0]

    return _row(bits, k, p, peak=peak)


def mass_of_the_whole_row(bits: Bits, k: int | None, p: float | None) -> Row:
    """p is of the mass of the whole row, not of what top-k left."""
    whole = reference.row(bits, None, None).total
    return _row(bits, k, p, target=lambda p, total: ceil(Fraction(p) * whole))


def target_rounded_down(bits: Bits, k: int | None, p: float | None) -> Row:
    """floor(p * Z) for ceil(p * Z)."""
    return _row(bits, k, p, target=lambda p, total: int(Fraction(p) * total))


def target_in_doubles(bits: Bits, k: int | None, p: float | None) -> Row:
    """p * Z is a product of doubles, which have 53 bits where up to 87 are needed."""
    return _row(bits, k, p, target=lambda p, total: ceil(p * float(total)))


def library_exp(bits: Bits, k: int | None, p: float | None) -> Row:
    """Weights come from the library's exp."""
    return _row(bits, k, p, weigh=lambda d: (np.exp(d.astype(np.float64)) * 2.0**40).astype(np.int64))


def fused_weights(bits: Bits, k: int | None, p: float | None) -> Row:
    """The polynomial of the weight is made of fused multiply-adds."""

    def weigh(d: Floats) -> Integers:
        steps = (np.maximum(d, np.float32(-28)) * np.float32(-12102203.0)).astype(np.int32)
        f = (steps & 0x7FFFFF).astype(np.float64) * 2.0**-23
        q = np.full(f.shape, float.fromhex("-0x1.ef66d2p-11"), np.float32)
        for coefficient in ("0x1.2da7d6p-7", "-0x1.c4fef8p-5", "0x1.ebe392p-3", "-0x1.62e3bcp-1", "1.0"):
            q = (q * f + float.fromhex(coefficient)).astype(np.float32)
        return ((q * np.float32(2.0**24)).astype(np.int64) << 16) >> (steps >> 23)

    return _row(bits, k, p, weigh=weigh)


def weightless_tokens_stay(bits: Bits, k: int | None, p: float | None) -> Row:
    """p just below 1 is taken for off: tokens of weight 0 stay."""
    return reference.row(bits, k, None if p is not None and p > 0.999999 else p)


def nothing_at_p_0(bits: Bits, k: int | None, p: float | None) -> Row:
    """p <= 0 keeps nothing."""
    right = reference.row(bits, k, p)
    return Row(right.keys, right.kept[:0], right.weights[:0], right.total) if p is not None and p <= 0.0 else right


# --- bugs that comparing counts does not see --------------------------------------------------------------------


def right_count_wrong_set(bits: Bits, k: int | None, p: float | None) -> Row:
    """As many tokens as the oracle keeps, and the last is another one: comparing counts sees nothing."""
    right = reference.row(bits, k, p)
    more = reference.row(bits, None, None).kept
    if not 0 < len(right.kept) < len(more):
        return right
    return replace(right, kept=np.append(right.kept[:-1], more[len(right.kept)]))
