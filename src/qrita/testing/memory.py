"""Properties of what is written where: in place, into `out`, and nowhere else.

Every function returns the first difference as text, or None.
"""

from __future__ import annotations

import numpy as np
from torch import Tensor

from qrita.testing import batches, differences, formats
from qrita.testing.batches import batch, companions
from qrita.testing.building import Case
from qrita.testing.differences import within
from qrita.testing.formats import Raw
from qrita.testing.layouts import LAYOUTS, Layout
from qrita.testing.subjects import Subject


def in_place(subject: Subject, case: Case) -> str | None:
    """The rows become the mask, in every layout, and the memory between them stays as it was."""
    rows = batch([case, *companions(case, 1)])
    shape = rows.raw.shape
    k, p = subject.put(rows.k), subject.put(rows.p)
    for layout in LAYOUTS:
        base = subject.put(layout.hold(rows.raw, case.dtype))
        returned = subject.top_k_top_p_(layout.view(base, *shape), k, p)
        found = differences.first(
            within("returned", batches.masks_difference(rows, formats.raw(returned))),
            within("logits", batches.masks_difference(rows, formats.raw(layout.view(base, *shape)))),
            _changed_around(layout, base, rows.raw, case.dtype),
        )
        if found:
            return within(layout.name, found)
    return _one_row_in_place(subject, case)


def _one_row_in_place(subject: Subject, case: Case) -> str | None:
    """A 1-D view of every other element, k and p as numbers."""
    base = subject.put(formats.tensor(np.repeat(case.raw, 2), case.dtype))
    subject.top_k_top_p_(base[::2], case.k, case.p)
    after = formats.raw(base)
    return differences.first(
        within("row[::2]", differences.pattern_difference(case, differences.expected_mask(case), after[::2])),
        within("row[::2], the elements between", differences.pattern_difference(case, case.raw, after[1::2])),
    )


def _changed_around(layout: Layout, base: Tensor, rows: Raw, dtype: str) -> str | None:
    """The first element outside the rows that has changed."""
    before, view = layout.empty(len(rows), rows.shape[1], dtype)
    view.copy_(layout.view(base.cpu(), *rows.shape))
    changed = np.flatnonzero(formats.raw(before) != formats.raw(base))
    return f"memory element {changed[0]}, outside the rows, has changed" if len(changed) else None


def out(subject: Subject, case: Case) -> str | None:
    """`out` in every layout holds the mask, what is around it does not change, and neither do the logits."""
    rows = batch([case, *companions(case, 1)])
    k, p = subject.put(rows.k), subject.put(rows.p)
    for layout in LAYOUTS:
        logits = subject.put(rows.logits)
        base = subject.put(layout.empty(len(rows.cases), case.vocab, case.dtype)[0])
        returned = subject.top_k_top_p(logits, k, p, out=layout.view(base, len(rows.cases), case.vocab))
        found = differences.first(
            within("returned", batches.masks_difference(rows, formats.raw(returned))),
            within("out", batches.masks_difference(rows, formats.raw(layout.view(base, len(rows.cases), case.vocab)))),
            _changed_around(layout, base, rows.raw, case.dtype),
            _changed(rows.raw, logits),
        )
        if found:
            return within(layout.name, found)
    same = subject.put(case.logits.clone())
    subject.top_k_top_p(same, case.k, case.p, out=same)
    mask = differences.expected_mask(case)
    return within("out=logits", differences.pattern_difference(case, mask, formats.raw(same)))


def untouched(subject: Subject, case: Case) -> str | None:
    """Logits, k and p, and the memory around a view, are as before, and a result has memory of its own."""
    rows = batch([case, *companions(case, 1)])
    shape = rows.raw.shape
    k, p = subject.put(rows.k), subject.put(rows.p)
    given = [None if x is None else formats.raw(x).copy() for x in (k, p)]
    for layout in LAYOUTS:
        before = layout.hold(rows.raw, case.dtype)
        base = subject.put(before.clone())
        view = layout.view(base, *shape)
        masked = subject.top_k_top_p(view, k, p)
        off = subject.top_k_top_p(view)
        listing = subject.candidates(view, k, p, max_candidates=4)
        subject.cuts(view, k, p)
        found = _changed(formats.raw(before), base)
        for x, y in zip((k, p), given, strict=True):
            found = found or (None if x is None else _changed(y, x))
        for result in (masked, off, listing.logits):
            result.zero_()
        found = found or within("writing to a result", _changed(formats.raw(before), base))
        if found:
            return within(layout.name, found)
    return None


def _changed(before: Raw | None, now: Tensor) -> str | None:
    changed = np.argwhere(before != formats.raw(now))
    return f"an argument has changed at {changed[0].tolist()}" if len(changed) else None
