"""Properties of one answer: it is the oracle's, in each of the forms it comes in.

Every function returns the first difference as text, or None.
"""

from __future__ import annotations

import numpy as np

from qrita.records import Candidates
from qrita.testing import differences, formats
from qrita.testing.building import Case
from qrita.testing.differences import within
from qrita.testing.formats import NEGATIVE_INFINITY
from qrita.testing.subjects import Subject

MASK_VALUES = (
    (0.0, {"float32": 0x00000000, "bfloat16": 0x0000, "float16": 0x0000}),
    (-0.0, {"float32": 0x80000000, "bfloat16": 0x8000, "float16": 0x8000}),
    (-10000.0, {"float32": 0xC61C4000, "bfloat16": 0xC61C, "float16": 0xF0E2}),
    # Just above the middle of two bf16 (fp16) values, and exactly on it once rounded to fp32: rounding twice shows.
    (1.0 + 2.0**-8 + 2.0**-40, {"float32": 0x3F808000, "bfloat16": 0x3F81, "float16": 0x3C04}),
    (1.0 + 2.0**-11 + 2.0**-40, {"float32": 0x3F801000, "bfloat16": 0x3F80, "float16": 0x3C01}),
    (1e-40, {"float32": 0x000116C2, "bfloat16": 0x0001, "float16": 0x0000}),
)
"""Mask values with the bits they have in each dtype, rounded once."""


def cut(subject: Subject, case: Case) -> str | None:
    """All five integers of the row's cut."""
    return differences.cut_difference(case, differences.cut(subject.cuts(case.logits.clone(), case.k, case.p)))


def mask(subject: Subject, case: Case) -> str | None:
    """The mask, bit for bit: kept bits unchanged (also of -0.0), NaN removed, -inf as it was."""
    masked = formats.raw(subject.top_k_top_p(case.logits.clone(), case.k, case.p))
    return differences.pattern_difference(case, differences.expected_mask(case), masked)


def mask_value(subject: Subject, case: Case) -> str | None:
    """The mask with values other than -inf: removed tokens get its bits, a removed -inf stays."""
    for value, bits in MASK_VALUES:
        masked = formats.raw(subject.top_k_top_p(case.logits.clone(), case.k, case.p, mask_value=value))
        expected = differences.expected_mask(case, bits[case.dtype])
        found = within(f"mask_value={value!r}", differences.pattern_difference(case, expected, masked))
        if found:
            return found
    return None


def candidates(subject: Subject, case: Case) -> str | None:
    """The listing, with one slot, with one too few, with just enough and with more than the vocabulary."""
    count = len(case.answer.kept)
    for slots in sorted({1, max(1, count - 1), max(1, count), case.vocab + 3}):
        listing = subject.candidates(case.logits.clone(), case.k, case.p, max_candidates=slots)
        found = within(f"max_candidates={slots}", candidates_difference(case, listing, slots))
        if found:
            return found
    return None


def candidates_difference(case: Case, listing: Candidates, slots: int) -> str | None:
    """The first slot, or per-row integer, in which a listing of one row differs from the oracle's. Rule 15."""
    answer = case.answer
    listed = answer.kept[:slots]
    indices = np.full(slots, -1, np.int64)
    indices[: len(listed)] = listed
    logits = np.full(slots, NEGATIVE_INFINITY[case.dtype], case.raw.dtype)
    logits[: len(listed)] = case.raw[listed]

    got_indices, got_logits = listing.indices.reshape(-1).numpy(), formats.raw(listing.logits).reshape(-1)
    if got_indices.shape != indices.shape or got_logits.shape != logits.shape:
        return f"expected {slots} slots, got {got_indices.shape} and {got_logits.shape}"
    if got_logits.dtype != logits.dtype or str(listing.logits.dtype) != f"torch.{case.dtype}":
        return f"expected logits of {case.dtype}, got {listing.logits.dtype}"
    if (str(listing.indices.dtype), str(listing.counts.dtype)) != ("torch.int32", "torch.int32"):
        return f"expected int32 indices and counts, got {listing.indices.dtype} and {listing.counts.dtype}"
    wrong = np.flatnonzero((got_indices != indices) | (got_logits != logits))
    if len(wrong):
        slot = int(wrong[0])
        expected = differences.token(case, int(indices[slot])) if indices[slot] >= 0 else "nothing (-1 and -inf)"
        return f"slot {slot}: expected {expected}, got token {got_indices[slot]} with bits 0x{int(got_logits[slot]):x}"
    integers = {"counts": answer.cut.count, "mass": answer.cut.mass, "total": answer.cut.total}
    for name, expected_value in integers.items():
        got = getattr(listing, name).tolist()
        if got != [expected_value]:
            return f"{name}: expected [{expected_value}], got {got}"
    return None


def one_answer(subject: Subject, case: Case) -> str | None:
    """Mask, listing and cut of the subject itself tell one set; the oracle is not asked."""
    masked = formats.raw(subject.top_k_top_p(case.logits.clone(), case.k, case.p))
    listing = subject.candidates(case.logits.clone(), case.k, case.p, max_candidates=case.vocab)
    by_mask = masked != NEGATIVE_INFINITY[case.dtype]
    listed = listing.indices.reshape(-1).numpy()
    by_listing = np.zeros(case.vocab, bool)
    by_listing[listed[listed >= 0]] = True
    by_cut = differences.kept_of_cut(case, differences.cut(subject.cuts(case.logits.clone(), case.k, case.p)))
    return differences.first(
        differences.disagreement(case, ("mask", "candidates"), by_mask, by_listing),
        differences.disagreement(case, ("mask", "cut"), by_mask, by_cut),
    )
