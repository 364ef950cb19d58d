"""What sort of failure it is, and what the row looks like where it shows: pure functions of a case and two answers.

The oracle's answer is `case.answer`, the subject's an `Answer`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from qrita import reference
from qrita.records import Candidates
from qrita.report.answers import Answer
from qrita.report.record import Form, Kind, Masses, Tie, Token
from qrita.testing import agreement, differences, formats
from qrita.testing.building import Case
from qrita.testing.formats import NEGATIVE_INFINITY, Raw

AROUND, BESIDE, DIFFERING = 7, 3, 4
"""Ranks shown on each side of the oracle's cut, of the subject's, and of the tokens that differ the first ones."""

T = TypeVar("T")

Set = NDArray[np.bool_]
Manner = Literal["", "crash", "hang", "input changed", "wrong form"]
"""How a property failed that did not come to a difference."""


@dataclass(frozen=True)
class Diagnosis:
    """A case seen from both sides. Ranks count from 0 here."""

    case: Case
    answer: Answer

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Every eligible token in the order."""
        return reference.row(reference.widen(self.case.raw, self.case.dtype), None, None).kept

    @cached_property
    def survivors(self) -> reference.Row:
        """What top-k leaves."""
        return reference.row(reference.widen(self.case.raw, self.case.dtype), self.case.k, None)

    @cached_property
    def prefix(self) -> NDArray[np.int64]:
        """The weight of the survivors up to each."""
        return np.cumsum(self.survivors.weights)

    @cached_property
    def oracle(self) -> Set:
        """[vocab], what should be kept."""
        return reference.kept(self.case.answer)

    @cached_property
    def subject(self) -> Set | None:
        """[vocab], what was kept: by the first form of the answer that shows another set, else by any."""
        return self._by_cut if self.by_cut or self._by_mask is None else self._by_mask

    @cached_property
    def by_cut(self) -> bool:
        """Whether the mask keeps the right tokens and the cut names others."""
        cut, mask = self._by_cut, self._by_mask
        right = mask is not None and np.array_equal(mask, self.oracle)
        return right and cut is not None and not np.array_equal(cut, self.oracle)

    @property
    def _by_mask(self) -> Set | None:
        mask = self.answer.mask
        return np.not_equal(mask, NEGATIVE_INFINITY[self.case.dtype]) if isinstance(mask, np.ndarray) else None

    @property
    def _by_cut(self) -> Set | None:
        cut = self.answer.cut
        return differences.kept_of_cut(self.case, cut) if isinstance(cut, reference.Cut) else None

    @cached_property
    def differing(self) -> NDArray[np.int64]:
        """The tokens that one side keeps and the other does not: in the order, then those that have no rank."""
        if self.subject is None:
            return np.zeros(0, np.int64)
        return self._ordered(np.flatnonzero(self.subject != self.oracle))

    def _ordered(self, tokens: NDArray[np.int64]) -> NDArray[np.int64]:
        return tokens[np.argsort(self.ranks[tokens], kind="stable")]

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """[vocab], each token's place in the order; past the end for those that have none."""
        ranks = np.full(self.case.vocab, self.case.vocab, np.int64)
        ranks[self.order] = np.arange(len(self.order))
        return ranks

    @cached_property
    def steps(self) -> NDArray[np.int64]:
        """[vocab], the logits counted in steps of their dtype from zero. Not for NaN."""
        sign = 1 << (formats.WIDTH[self.case.dtype] - 1)
        bits = self.case.raw.astype(np.int64)
        return np.where(bits & sign, -(bits & (sign - 1)), bits)

    @property
    def is_prefix(self) -> bool:
        """Whether what was kept are the first tokens of the order, as many as there are."""
        kept = self.subject
        return kept is not None and bool(kept[self.order[: kept.sum()]].all())


def kind(seen: Diagnosis, name: str, found: str, manner: Manner) -> Kind:
    """What sort of failure it is.

    Args:
        name: the property.
        found: the difference that it found.
    """
    reruns = seen.answer.reruns
    if manner == "hang":
        return "hang"
    if reruns.answers > 1 or reruns.failed < reruns.count:
        return "non-determinism"
    if manner:
        return manner
    if seen.answer.changed or (name == "untouched" and "has changed" in found):
        return "input changed"
    return _kind_of_set(seen) if len(seen.differing) else _kind_of_numbers(seen)


def _kind_of_set(seen: Diagnosis) -> Kind:
    case, keys = seen.case, seen.case.answer.keys
    assert seen.subject is not None
    if (seen.ranks[seen.differing] == case.vocab).any():
        return "NaN rule"
    if _same_but_for_ties(seen) or np.array_equal(np.sort(keys[seen.subject]), np.sort(keys[seen.oracle])):
        return "tie side"
    p_decides = case.p is not None and case.p < 1.0 and int(seen.subject.sum()) <= len(seen.survivors.kept)
    return "p boundary" if p_decides and seen.is_prefix else "wrong set"


def _same_but_for_ties(seen: Diagnosis) -> bool:
    """Whether the cut has the right key and the right count, and names another of the tied tokens."""
    cut, right = seen.answer.cut, seen.case.answer.cut
    return seen.by_cut and isinstance(cut, reference.Cut) and (cut.key, cut.count) == (right.key, right.count)


def _kind_of_numbers(seen: Diagnosis) -> Kind:
    wrong = {form.name for form in forms(seen) if form.verdict != "right"}
    if "mask" in wrong:
        return "wrong bits"
    return "wrong numbers" if wrong else "only in context"


def forms(seen: Diagnosis) -> tuple[Form, ...]:
    """How the row alone was answered, in each form."""
    case, answer = seen.case, seen.answer
    return (
        _form("mask", answer.mask, lambda mask: _mask_difference(case, mask)),
        _form("cut", answer.cut, lambda cut: differences.cut_difference(case, cut)),
        _form("candidates", answer.listings, lambda listings: _listings_difference(case, listings)),
    )


def _form(
    name: Literal["mask", "cut", "candidates"], answer: T | str | None, difference: Callable[[T], str | None]
) -> Form:
    if answer is None:
        return Form(name, "not asked")
    if isinstance(answer, str):
        return Form(name, "raised", answer)
    found = difference(answer)
    return Form(name, "wrong" if found else "right", found or "")


def _mask_difference(case: Case, mask: Raw) -> str | None:
    return differences.pattern_difference(case, differences.expected_mask(case), mask)


def _listings_difference(case: Case, listings: dict[int, Candidates]) -> str | None:
    found = (
        differences.within(f"max_candidates={slots}", agreement.candidates_difference(case, listing, slots))
        for slots, listing in listings.items()
    )
    return differences.first(*found)


def token(seen: Diagnosis, index: int) -> Token:
    """One token, as the record shows it."""
    case, rank = seen.case, int(seen.ranks[index])
    weighs = rank < len(seen.survivors.kept)
    cut = case.answer.cut.index
    eligible = rank < case.vocab
    return Token(
        index=index,
        rank=rank + 1 if eligible else None,
        value=_value(case, index),
        bits=_bits(case, index),
        ulps=int(seen.steps[index] - seen.steps[cut]) if eligible and cut >= 0 else None,
        tied=eligible and cut >= 0 and bool(case.answer.keys[index] == case.answer.keys[cut]),
        weight=int(seen.survivors.weights[rank]) if weighs else None,
        prefix=int(seen.prefix[rank]) if weighs else None,
        oracle=bool(seen.oracle[index]),
        subject=None if seen.subject is None else bool(seen.subject[index]),
    )


def around(seen: Diagnosis) -> tuple[Token, ...]:
    """The first token, those around each cut, and the first and last that differ, in the order; then some without a
    rank that are kept all the same."""
    count, length = len(seen.case.answer.kept), len(seen.order)
    ranked = [int(rank) for rank in seen.ranks[seen.differing] if rank < length]
    shown = {0, *range(count - AROUND, count + AROUND), *ranked[:DIFFERING], *ranked[-1:]}
    if seen.subject is not None:
        end = int(seen.subject[seen.order].sum())
        shown |= set(range(end - BESIDE, end + BESIDE))
    unranked = [int(index) for index in seen.differing if seen.ranks[index] == seen.case.vocab]
    indices = [int(seen.order[rank]) for rank in sorted(shown) if 0 <= rank < length]
    return tuple(token(seen, index) for index in [*indices, *unranked[:DIFFERING]])


def tie(seen: Diagnosis) -> Tie | None:
    """The tokens that are tied with the oracle's last kept one."""
    case, cut = seen.case, seen.case.answer.cut
    if cut.index < 0:
        return None
    tied = np.flatnonzero(case.answer.keys[seen.order] == cut.key)
    tokens = seen.order[tied]
    return Tie(
        value=_value(case, cut.index),
        bits=_bits(case, cut.index),
        first=int(tied[0]) + 1,
        last=int(tied[-1]) + 1,
        oracle=int(seen.oracle[tokens].sum()),
        subject=None if seen.subject is None else int(seen.subject[tokens].sum()),
    )


def masses(seen: Diagnosis) -> Masses | None:
    """The integers around p, where top-p is on and something is kept."""
    case, count = seen.case, len(seen.case.answer.kept)
    if case.p is None or not case.p < 1.0 or not count:
        return None
    return Masses(
        total=case.answer.total,
        target=ceil(Fraction(case.p) * case.answer.total) if case.p > 0.0 else 0,
        before=int(seen.prefix[count - 2]) if count > 1 else 0,
        reached=int(seen.prefix[count - 1]),
    )


def _value(case: Case, index: int) -> str:
    return f"{float(formats.values(case.raw[index : index + 1], case.dtype)[0]):.9g}"


def _bits(case: Case, index: int) -> str:
    return f"0x{int(case.raw[index]):0{formats.WIDTH[case.dtype] // 4}x}"
