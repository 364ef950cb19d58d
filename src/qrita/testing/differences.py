"""Comparing answers: sets and bits, never counts alone, never with a tolerance. A difference is a text, or None."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qrita import reference
from qrita.records import NO_KEY, Cuts
from qrita.reference import Cut
from qrita.testing import formats
from qrita.testing.building import Case
from qrita.testing.formats import Raw


def cut(cuts: Cuts, row: int = 0) -> Cut:
    """One row's cut as Python integers."""
    return Cut(*(int(getattr(cuts, name)[row]) for name in Cut.__dataclass_fields__))


def cuts(found: Cuts) -> list[Cut]:
    """Every row's cut as Python integers."""
    return [
        Cut(*row) for row in zip(*(getattr(found, name).tolist() for name in Cut.__dataclass_fields__), strict=True)
    ]


def shown(cut: Cut) -> str:
    """A cut on one line, its key in hex."""
    return f"key 0x{cut.key:08x}, index {cut.index}, count {cut.count}, mass {cut.mass}, total {cut.total}"


def kept_of_cut(case: Case, cut: Cut) -> NDArray[np.bool_]:
    """[vocab], the tokens that do not come after the cut."""
    if cut.key == NO_KEY:
        return np.zeros(case.vocab, bool)
    bits = reference.widen(case.raw, case.dtype)
    keys = reference.ordered_keys(bits).astype(np.int64)
    kept: NDArray[np.bool_] = (keys > cut.key) | ((keys == cut.key) & (np.arange(case.vocab) <= cut.index))
    return np.logical_and(kept, reference.eligible(bits))


def expected_mask(case: Case, fill: int | None = None) -> Raw:
    """[vocab] patterns of the oracle's mask; `fill` is mask_value's pattern, -inf by default. Rule 13."""
    lowest = formats.NEGATIVE_INFINITY[case.dtype]
    stays = reference.kept(case.answer) | (case.raw == lowest)
    return np.where(stays, case.raw, formats.patterns(lowest if fill is None else fill, case.dtype))


def token(case: Case, index: int) -> str:
    """A token with its logit's value and bits."""
    bits = int(case.raw[index])
    value = float(formats.values(case.raw[index : index + 1], case.dtype)[0])
    return f"token {index} (logit {value!r}, bits {_hex(bits, case.dtype)})"


def kept_difference(case: Case, expected: NDArray[np.bool_], got: NDArray[np.bool_]) -> str | None:
    """The first token that one set has and the other has not."""
    differing = np.flatnonzero(expected != got)
    if not len(differing):
        return None
    first = int(differing[0])
    verdict = "should be kept and is not" if expected[first] else "should not be kept and is"
    return f"{token(case, first)} {verdict}; {len(differing)} tokens differ"


def disagreement(case: Case, names: tuple[str, str], one: NDArray[np.bool_], other: NDArray[np.bool_]) -> str | None:
    """The first token that one form of an answer has and another has not. Neither is the right one, so far as known."""
    differing = np.flatnonzero(one != other)
    if not len(differing):
        return None
    first = int(differing[0])
    has, lacks = names if one[first] else names[::-1]
    tokens = "1 token differs" if len(differing) == 1 else f"{len(differing)} tokens differ"
    return f"{token(case, first)} is kept by the {has} and not by the {lacks}; {tokens}"


def pattern_difference(case: Case, expected: Raw, got: Raw) -> str | None:
    """The first token at which two rows of patterns differ; `case` is the row they were made from."""
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return f"expected {expected.dtype} {expected.shape}, got {got.dtype} {got.shape}"
    differing = np.flatnonzero(expected != got)
    if not len(differing):
        return None
    first = int(differing[0])
    bits = f"expected bits {_hex(int(expected[first]), case.dtype)}, got {_hex(int(got[first]), case.dtype)}"
    return f"{token(case, first)}: {bits}; {len(differing)} tokens differ"


def cut_difference(case: Case, got: Cut) -> str | None:
    """All five integers of the oracle's cut against another, with the first token that one keeps and the other not."""
    expected = case.answer.cut
    if got == expected:
        return None
    first = kept_difference(case, reference.kept(case.answer), kept_of_cut(case, got))
    reason = first or "both keep the same tokens, the numbers differ"
    return f"{reason}\n  expected cut: {shown(expected)}\n  got:          {shown(got)}"


def _hex(bits: int, dtype: str) -> str:
    return f"0x{bits:0{formats.WIDTH[dtype] // 4}x}"


def first(*differences: str | None) -> str | None:
    """The first difference there is."""
    return next((text for text in differences if text is not None), None)


def within(where: str, difference: str | None) -> str | None:
    """A difference, with where it was met."""
    return None if difference is None else f"{where}: {difference}"
