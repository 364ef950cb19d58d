"""Properties between answers, in which the oracle takes no part: nesting in k and in p, and permuted tokens.

Every function returns the first difference as text, or None.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qrita import reference
from qrita.testing import formats
from qrita.testing.building import Case
from qrita.testing.differences import kept_difference, within
from qrita.testing.formats import NEGATIVE_INFINITY, Raw
from qrita.testing.generator import Stream
from qrita.testing.recipes import fp32_of_bits
from qrita.testing.subjects import Subject


def _kept(subject: Subject, raw: Raw, dtype: str, k: int | None, p: float | None) -> NDArray[np.bool_]:
    """[vocab], what the subject's mask keeps: a kept logit is never -inf."""
    masked = formats.raw(subject.top_k_top_p(formats.tensor(raw, dtype), k, p))
    return np.not_equal(masked, NEGATIVE_INFINITY[dtype])


def nested_in_k(subject: Subject, case: Case) -> str | None:
    """A greater k keeps all that a smaller one keeps, with p as it is."""
    k = case.k if case.k is not None and 0 < case.k < case.vocab else max(1, case.vocab // 3)
    steps = sorted({1, max(1, k - 1), k, k + 1, 2 * k})
    return _nested(subject, case, [(step, case.p) for step in (*steps, None)])


def nested_in_p(subject: Subject, case: Case) -> str | None:
    """A greater p keeps all that a smaller one keeps, with k as it is; steps of one ulp included."""
    p = case.p if case.p is not None and 0.0 < case.p < 1.0 else 0.75
    bits = int(np.float32(p).view(np.uint32))
    steps = sorted({0.0, fp32_of_bits(bits - 1), p, fp32_of_bits(bits + 1), fp32_of_bits(0x3F7FFFFF)})
    return _nested(subject, case, [(case.k, step) for step in (*steps, None)])


def _nested(subject: Subject, case: Case, steps: list[tuple[int | None, float | None]]) -> str | None:
    below, kept_below = steps[0], _kept(subject, case.raw, case.dtype, *steps[0])
    for step in steps[1:]:
        kept = _kept(subject, case.raw, case.dtype, *step)
        lost = within(
            f"kept with k={below[0]}, p={below[1]!r} and lost with k={step[0]}, p={step[1]!r}",
            kept_difference(case, kept | kept_below, kept),
        )
        if lost:
            return lost
        below, kept_below = step, kept
    return None


def permuted(subject: Subject, case: Case) -> str | None:
    """Moving the tokens moves the set: the same keys are kept, and outside the ties at the cut the same tokens."""
    keys = reference.ordered_keys(reference.widen(case.raw, case.dtype))
    kept = _kept(subject, case.raw, case.dtype, case.k, case.p)
    seed = case.recipe.seed if case.recipe else 0
    tokens = np.arange(case.vocab)
    for name, order in (("shuffled", Stream(seed).shuffled(1, tokens)), ("reversed", tokens[::-1])):
        moved = _kept(subject, case.raw[order], case.dtype, case.k, case.p)
        back = np.zeros(case.vocab, bool)
        back[order] = moved
        if not np.array_equal(np.sort(keys[kept]), np.sort(keys[back])):
            return within(f"{name}: other logits are kept", kept_difference(case, kept, back))
        free = keys != keys[kept].min() if kept.any() else np.ones(case.vocab, bool)
        found = within(f"{name}: a token not tied at the cut", kept_difference(case, kept & free, back & free))
        if found:
            return found
    return None
