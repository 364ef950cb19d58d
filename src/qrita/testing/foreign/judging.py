"""Which kept sets a contract allows for a row: every set that some correct implementation of it would return.

What a contract leaves open is left open here: which of equal logits, and tokens whose prefix's probability lies within
its tolerance of p. Beyond that, sets must agree: what is strictly above the cut is kept, what is strictly below is not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qrita import reference
from qrita.testing import differences
from qrita.testing.building import Case
from qrita.testing.foreign.contract import Contract

Tokens = NDArray[np.int64]
Kept = NDArray[np.bool_]


def difference(contract: Contract, case: Case, kept: Kept) -> str | None:
    """The first token that no correct implementation would keep, or leave out; None where the set is allowed.

    Args:
        kept: [vocab].
    """
    if contract.tolerance is None:
        return differences.kept_difference(case, reference.kept(case.answer), kept)
    order = _Order.of(case, contract)
    least, most = _bounds(contract, case, order)
    needed, allowed = _sets(contract, order, least, most, kept)
    words = f"; its contract allows {least:,}" + (f" to {most:,}" if most > least else "") + " kept tokens"
    found = differences.kept_difference(case, kept & allowed, kept)
    found = found or differences.kept_difference(case, kept | needed, kept)
    if found:
        return found + words
    count = int(kept.sum())
    if not least <= count <= most:
        return f"of equal logits too {'few' if count < least else 'many'} are kept: {count:,} in all{words}"
    return None


@dataclass(frozen=True)
class _Order:
    """The eligible tokens, greatest first, equal ones by index: tokens, ordered keys, logits."""

    tokens: Tokens
    keys: NDArray[np.int64]
    logits: NDArray[np.float64]
    resolution: float

    @staticmethod
    def of(case: Case, contract: Contract) -> _Order:
        bits = reference.widen(case.raw, case.dtype)
        answer = reference.row(bits, None, None)
        resolution = contract.resolution if _top_p(case) else 0.0
        logits = bits[answer.kept].view(np.float32).astype(np.float64)
        return _Order(answer.kept, answer.keys[answer.kept].astype(np.int64), logits, resolution)

    def above(self, rank: int) -> int:
        """How many are greater than that of a rank."""
        if self.resolution:
            return int(np.searchsorted(-self.logits, -(self.logits[rank] + self.resolution), side="left"))
        return int(np.searchsorted(-self.keys, -self.keys[rank], side="left"))

    def through(self, rank: int) -> int:
        """How many are greater than, or equal to, that of a rank."""
        if self.resolution:
            return int(np.searchsorted(-self.logits, -(self.logits[rank] - self.resolution), side="right"))
        return int(np.searchsorted(-self.keys, -self.keys[rank], side="right"))


def _top_p(case: Case) -> bool:
    """Whether p decides. At 1 it may still: the tail that rounding loses lies within the tolerance."""
    return case.p is not None and case.p <= 1.0


def _bounds(contract: Contract, case: Case, order: _Order) -> tuple[int, int]:
    """How many tokens may be kept, at least and at most."""
    least = most = len(order.tokens)
    if case.k is not None and 0 < case.k < case.vocab and most:
        least = most = min(case.k, most)
        tied = int(np.searchsorted(-order.keys, -order.keys[least - 1], side="right"))
        least = tied if contract.ties == "all of them" else least
        most = tied if contract.ties in ("all of them", "any number of them") else most
    if not _top_p(case) or not most:
        return least, most
    low, high = _prefixes(contract, case, order, least, most)
    if contract.ties == "all of them":
        low = min(order.through(low - 1), most)
    if contract.ties in ("all of them", "any number of them"):
        high = min(order.through(high - 1), most)
    return min(low, high), high


def _prefixes(contract: Contract, case: Case, order: _Order, least: int, most: int) -> tuple[int, int]:
    """The shortest and the longest prefix that reaches p, as far as the tolerance can tell. At least one token."""
    assert case.p is not None
    with np.errstate(invalid="ignore"):
        d = np.where(order.keys == order.keys[0], 0.0, order.logits - order.logits[0])
    mass = np.cumsum(np.exp(d))
    before = np.concatenate(([0.0], mass[:-1]))
    whole = contract.order == "k and p apart"
    tolerance = contract.tolerance_of(case.vocab)
    needed = before[:least] < (case.p - tolerance) * mass[-1 if whole else least - 1]
    allowed = before[:most] <= (case.p + tolerance) * mass[-1 if whole else most - 1]
    return max(1, int(needed.sum())), max(1, int(allowed.sum()))


def _sets(contract: Contract, order: _Order, least: int, most: int, kept: Kept) -> tuple[Kept, Kept]:
    """[vocab] each: the tokens that must be kept, given which are, and those that may be."""
    if not most:
        return np.zeros_like(kept), np.zeros_like(kept)
    ranks = np.flatnonzero(kept[order.tokens])
    last = int(ranks[-1]) if len(ranks) else 0
    if contract.ties == "lowest index first" and not order.resolution:
        needed, allowed = max(least, last + 1), most
    else:
        through = order.through(last) if contract.ties == "all of them" and len(ranks) else 0
        needed = max(order.above(least - 1), min(through, most), order.above(last))
        allowed = order.through(most - 1)
    return _set(order, needed, kept), _set(order, allowed, kept)


def _set(order: _Order, count: int, kept: Kept) -> Kept:
    """[vocab], the first `count` tokens of the order."""
    found = np.zeros_like(kept)
    found[order.tokens[:count]] = True
    return found
