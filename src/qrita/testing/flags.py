"""What a case exercises, by name. The same names are the flags of vectors and the events that hypothesis counts.

Every flag is a fact about the row, k and p that the oracle can see; none says how an implementation works.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from qrita import reference
from qrita.testing.building import Case
from qrita.testing.formats import INFINITY, WIDTH

FLAGS = {
    "nan": "A logit is NaN. It is never kept.",
    "minus-infinity": "A logit is -inf. It is never kept.",
    "plus-infinity": "A logit is +inf. Beside it everything else weighs 0.",
    "both-zeros": "+0.0 and -0.0 are both there. They are equal, and each keeps its bits.",
    "subnormal": "A logit is a subnormal of the row's dtype. It is not zero.",
    "overflow": "The difference of two finite logits overflows fp32 to -inf, which weighs 0.",
    "all-equal": "Every eligible logit has the same key, and there are several.",
    "nothing-eligible": "Every logit is NaN or -inf. Nothing is kept.",
    "k-off": "There is no k, or k <= 0, or k >= the vocabulary: top-k does nothing.",
    "k-beyond-eligible": "k is within the vocabulary and at least the number of eligible tokens: all of those survive.",
    "k-cuts": "Top-k removes an eligible token.",
    "k-splits-a-tie": "The last token that top-k leaves and the first that it removes are equal: the index decides.",
    "p-off": "There is no p, or p >= 1, or p is NaN: top-p does nothing.",
    "p-at-most-0": "p <= 0: one token is kept.",
    "p-cuts": "Top-p removes a token of weight 1 or more.",
    "p-splits-a-tie": "The last token that top-p leaves and the first that it removes are equal: the index decides.",
    "p-on-a-mass": "The kept mass is exactly ceil(p * Z): one unit less would be too little.",
    "p-beside-a-mass": "p one step of fp32 higher or lower keeps another set.",
    "weightless": "Top-p removes tokens of weight 0 which it would otherwise have no reason to remove.",
    "tie-across-the-middle": "Tokens equal to the last kept one lie in both halves of the row, and not all are kept.",
    "keeps-one": "One token is kept.",
    "keeps-all": "Every eligible token is kept.",
}
"""Every flag, with what it means."""


@dataclass(frozen=True)
class Tie:
    """The eligible tokens that are equal to the last kept one: where they are, and how many of them are kept."""

    tokens: NDArray[np.int64]
    quota: int

    @property
    def is_split(self) -> bool:
        """Whether the cut falls inside."""
        return self.quota < len(self.tokens)


def tie(case: Case) -> Tie:
    """The tie at the cut; empty where nothing is kept."""
    answer = case.answer
    if not len(answer.kept):
        return Tie(np.zeros(0, np.int64), 0)
    equal = (answer.keys == answer.cut.key) & reference.eligible(_bits(case))
    return Tie(np.flatnonzero(equal), int((answer.keys[answer.kept] == answer.cut.key).sum()))


def flags(case: Case) -> tuple[str, ...]:
    """The flags of a case, in the order of `FLAGS`."""
    found = _of_values(case) | _of_k(case) | _of_p(case) | _of_the_set(case)
    return tuple(name for name in FLAGS if name in found)


def _bits(case: Case) -> NDArray[np.uint32]:
    return reference.widen(case.raw, case.dtype)


def _eligible(case: Case) -> int:
    return int(reference.eligible(_bits(case)).sum())


def _of_values(case: Case) -> set[str]:
    bits, eligible = _bits(case), reference.eligible(_bits(case))
    magnitude = case.raw & case.raw.dtype.type((1 << (WIDTH[case.dtype] - 1)) - 1)
    normal = {"float32": 1 << 23, "bfloat16": 1 << 7, "float16": 1 << 10}[case.dtype]
    finite = bits[eligible & ((bits & np.uint32(0x7FFFFFFF)) < INFINITY["float32"])].view(np.float32).astype(np.float64)
    keys = reference.ordered_keys(bits)[eligible]
    found = {
        "nan": (magnitude > INFINITY[case.dtype]).any(),
        "minus-infinity": (bits == 0xFF800000).any(),
        "plus-infinity": (bits == 0x7F800000).any(),
        "both-zeros": (bits == 0).any() and (bits == 0x80000000).any(),
        "subnormal": ((magnitude > 0) & (magnitude < normal)).any(),
        "overflow": len(finite) and finite.max() - finite.min() >= 2.0**128 - 2.0**103,
        "all-equal": len(keys) > 1 and keys.min() == keys.max(),
        "nothing-eligible": not len(keys),
    }
    return {name for name, holds in found.items() if holds}


def _of_k(case: Case) -> set[str]:
    if case.k is None or not 0 < case.k < case.vocab:
        return {"k-off"}
    order = reference.row(_bits(case), None, None)
    if case.k >= len(order.kept):
        return {"k-beyond-eligible"}
    last, next_one = order.keys[order.kept[case.k - 1 : case.k + 1]]
    return {"k-cuts", "k-splits-a-tie"} if last == next_one else {"k-cuts"}


def target(p: float, total: int) -> int:
    """The mass that top-p asks for: ceil(p * Z), exactly; 1 for p <= 0, which keeps one token. Rule 8."""
    return max(1, ceil(Fraction(p) * total)) if p > 0.0 else 1


def _of_p(case: Case) -> set[str]:
    if case.p is None or not case.p < 1.0:
        return {"p-off"}
    if not case.p > 0.0:
        return {"p-at-most-0"}
    answer, survivors = case.answer, reference.row(_bits(case), case.k, None)
    count, mass = len(answer.kept), answer.cut.mass
    before = mass - int(answer.weights[-1]) if count else 0
    goals = [target(float(np.nextafter(np.float32(case.p), np.float32(end))), answer.total) for end in (0, 2)]
    found = {
        "p-cuts": mass < answer.total,
        "p-splits-a-tie": count < len(survivors.kept)
        and answer.cut.key == survivors.keys[survivors.kept[min(count, len(survivors.kept) - 1)]],
        "p-on-a-mass": count and mass == target(case.p, answer.total),
        "p-beside-a-mass": count and not all(before < goal <= mass for goal in goals),
        "weightless": mass == answer.total and count < len(survivors.kept),
    }
    return {name for name, holds in found.items() if holds}


def _of_the_set(case: Case) -> set[str]:
    at_the_cut, count = tie(case), len(case.answer.kept)
    halves = {bool(token < case.vocab // 2) for token in at_the_cut.tokens}
    found = {
        "tie-across-the-middle": at_the_cut.is_split and len(halves) == 2,
        "keeps-one": count == 1,
        "keeps-all": count and count == _eligible(case),
    }
    return {name for name, holds in found.items() if holds}
