"""Properties of one row presented otherwise: in a batch, in other memory, wider, again, in another mode of the CPU.

Every function returns the first difference as text, or None.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from qrita.records import Candidates
from qrita.testing import agreement, batches, differences, formats
from qrita.testing.batches import Batch, batch, companions
from qrita.testing.building import Case
from qrita.testing.differences import within
from qrita.testing.layouts import LAYOUTS
from qrita.testing.subjects import Subject


class NotRun(Exception):
    """A property that cannot be tried here; says why. Neither a pass nor a fail."""


def in_batch(subject: Subject, case: Case) -> str | None:
    """First, last and in the middle of batches of different rows with k and p per row, in every dtype of those."""
    others = companions(case, 4)
    for size, at, k_dtype, p_dtype in (
        (1, 0, torch.int32, torch.float64),
        (2, 1, torch.int64, torch.float32),
        (5, 2, torch.int32, torch.bfloat16),
        (5, 0, torch.int64, torch.float16),
        (65 if case.vocab <= 512 else 3, 1, torch.int64, torch.float32),
    ):
        cases = [others[i % 4] for i in range(size)]
        cases[at] = case
        rows = batch(cases, k_dtype, p_dtype)
        found = within(f"batch of {size}, k in {k_dtype}, p in {p_dtype}", _batch_difference(subject, rows))
        if found:
            return found
    return None


def _batch_difference(subject: Subject, rows: Batch) -> str | None:
    return differences.first(
        within("cuts", batches.cuts_difference(rows, subject.cuts(rows.logits, rows.k, rows.p))),
        within("mask", batches.masks_difference(rows, formats.raw(subject.top_k_top_p(rows.logits, rows.k, rows.p)))),
    )


def spelled(subject: Subject, case: Case) -> str | None:
    """k and p as one number for all rows, and the row as [vocab] or [1, vocab], are the same call."""
    row = case.logits.clone()
    twice = Batch((case, case), None, None)
    return differences.first(
        within(
            "[1, vocab]", differences.cut_difference(case, differences.cut(subject.cuts(row[None], case.k, case.p)))
        ),
        within("two equal rows", batches.cuts_difference(twice, subject.cuts(twice.logits, case.k, case.p))),
        within(
            "mask of two equal rows",
            batches.masks_difference(twice, formats.raw(subject.top_k_top_p(twice.logits, case.k, case.p))),
        ),
        within(
            "numpy scalars",
            differences.cut_difference(case, differences.cut(subject.cuts(row, *_numpy_scalars(case)))),
        ),
    )


def _numpy_scalars(case: Case) -> tuple[Any, Any]:
    k = np.int64(case.k) if case.k is not None and -(1 << 63) <= case.k < 1 << 63 else case.k
    return k, None if case.p is None else np.float32(case.p)


def strided(subject: Subject, case: Case) -> str | None:
    """Padded, sliced, transposed, misaligned and expanded rows, with k and p strided as well."""
    rows = batch([*companions(case, 2), case])
    shape = rows.raw.shape
    for layout in LAYOUTS:
        base = subject.put(layout.hold(rows.raw, case.dtype))
        view = layout.view(base, *shape)
        k, p = (_every_other(subject, value) for value in (rows.k, rows.p))
        listing = subject.candidates(view, k, p, max_candidates=3)
        found = differences.first(
            within("cuts", batches.cuts_difference(rows, subject.cuts(view, k, p))),
            within("mask", batches.masks_difference(rows, formats.raw(subject.top_k_top_p(view, k, p)))),
            within("candidates", _last_listing_difference(case, listing)),
        )
        if found:
            return within(layout.name, found)
    return _expanded_difference(subject, case)


def _every_other(subject: Subject, value: torch.Tensor | None) -> torch.Tensor | None:
    """The same values with stride 2, on the device."""
    return None if value is None else subject.put(torch.stack((value, -value), dim=1))[:, 0]


def _last_listing_difference(case: Case, listing: Candidates) -> str | None:
    last = Candidates(*(getattr(listing, name)[-1:] for name in Candidates.__dataclass_fields__))
    return agreement.candidates_difference(case, last, 3)


def _expanded_difference(subject: Subject, case: Case) -> str | None:
    """One row seen three times, and one logit seen as a whole row; k and p expanded as well."""
    one = batch([case])
    k, p = (subject.put(value).expand(3) if value is not None else None for value in (one.k, one.p))
    thrice = Batch((one.cases[0],) * 3, None, None)
    view = subject.put(case.logits.clone()).expand(3, -1)
    constant = replace(case, recipe=None, logits=case.logits[:1].repeat(case.vocab), label="first logit, repeated")
    column = subject.put(case.logits[:1].clone()).expand(case.vocab)
    return differences.first(
        within("expanded rows", batches.cuts_difference(thrice, subject.cuts(view, k, p))),
        within("expanded rows", batches.masks_difference(thrice, formats.raw(subject.top_k_top_p(view, k, p)))),
        within(
            "one logit expanded to a row",
            differences.cut_difference(constant, differences.cut(subject.cuts(column, case.k, case.p))),
        ),
    )


def widened(subject: Subject, case: Case) -> str | None:
    """A 16-bit row and its float32 copy have one cut. (A float32 row is tried as the bf16 row of its upper halves.)"""
    if case.dtype == "float32":
        raw = (case.raw >> np.uint32(16)).astype(np.uint16)
        narrow = replace(case, recipe=None, logits=formats.tensor(raw, "bfloat16"), label="upper halves as bf16")
    else:
        narrow = case
    wide = formats.tensor(formats.values(narrow.raw, narrow.dtype).view(np.uint32), "float32")
    narrow_cut = differences.cut(subject.cuts(narrow.logits.clone(), case.k, case.p))
    wide_cut = differences.cut(subject.cuts(wide, case.k, case.p))
    if narrow_cut != wide_cut:
        texts = differences.shown(narrow_cut), differences.shown(wide_cut)
        return f"{narrow.dtype} row and its float32 copy\n  narrow: {texts[0]}\n  wide:   {texts[1]}"
    return within(narrow.label, differences.cut_difference(narrow, narrow_cut))


def repeated(subject: Subject, case: Case) -> str | None:
    """The same call again, other rows of other lengths in between: nothing is left over from a call."""
    first = differences.cut(subject.cuts(case.logits.clone(), case.k, case.p))
    mask = formats.raw(subject.top_k_top_p(case.logits.clone(), case.k, case.p))
    for other in companions(case, 2):
        subject.top_k_top_p(other.logits.clone(), other.k, other.p)
        subject.cuts(torch.cat((other.logits, other.logits)), other.k, other.p)
        again = differences.cut(subject.cuts(case.logits.clone(), case.k, case.p))
        if again != first:
            return f"called again\n  first: {differences.shown(first)}\n  again: {differences.shown(again)}"
        masked = formats.raw(subject.top_k_top_p(case.logits.clone(), case.k, case.p))
        found = within("mask, called again", differences.pattern_difference(case, mask, masked))
        if found:
            return found
    return None


def flushed(subject: Subject, case: Case) -> str | None:
    """With the CPU flushing subnormals to zero the answer is the same, also the bits of a subnormal mask_value."""
    case.answer  # noqa: B018  computed before the mode changes; numpy obeys it
    with _flushing():
        found = subject.cuts(case.logits, case.k, case.p)
        listing = subject.candidates(case.logits, case.k, case.p, max_candidates=8)
        masked = subject.top_k_top_p(case.logits, case.k, case.p, mask_value=1e-40)
    fill = dict(agreement.MASK_VALUES)[1e-40][case.dtype]
    return differences.first(
        within("cut", differences.cut_difference(case, differences.cut(found))),
        within("candidates", agreement.candidates_difference(case, listing, 8)),
        within(
            "mask_value=1e-40",
            differences.pattern_difference(case, differences.expected_mask(case, fill), formats.raw(masked)),
        ),
    )


@contextmanager
def _flushing() -> Iterator[None]:
    if not torch.set_flush_denormal(True):
        raise NotRun("this CPU cannot flush subnormals")
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def threaded(subject: Subject, case: Case) -> str | None:
    """The number of threads torch may use changes nothing."""
    rows = batch([case, *companions(case, 2)])
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found = within(f"{threads} threads", _batch_difference(subject, rows))
            if found:
                return found
    finally:
        torch.set_num_threads(before)
    return None
