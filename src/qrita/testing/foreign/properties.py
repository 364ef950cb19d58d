"""The properties over a contract: the names of `qrita.testing.properties`, tried on what an implementation promises.

Where sets are left open by a contract, every form of a row is judged on its own: by `judging.difference`, which knows
what any correct implementation may do. Two answers are compared with each other only where the contract says that
they are the same. Every function returns the first difference as text, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray

from qrita import reference
from qrita.testing import batches, differences, formats, recipes
from qrita.testing.building import Case
from qrita.testing.differences import within
from qrita.testing.foreign.contract import outside, unpromised
from qrita.testing.foreign.implementation import Implementation
from qrita.testing.foreign.judging import difference
from qrita.testing.formats import NEGATIVE_INFINITY, Raw
from qrita.testing.generator import Stream
from qrita.testing.invariance import NotRun
from qrita.testing.layouts import LAYOUTS

Difference = Callable[[Implementation, Case], str | None]


class NotPromised(Exception):
    """A property, or a case, outside the contract; says what. Neither a pass nor a fail."""


def check(name: str, implementation: Implementation, case: Case) -> str | None:
    """The first difference of a property on a case, or None.

    Raises:
        NotPromised: the contract says nothing about it.
        NotRun: it cannot be tried here.
        InputChanged, WrongForm: see `implementation`.
        Exception: whatever the implementation raised.
    """
    reason = unpromised(implementation.contract, name) or outside(implementation.contract, case)
    if reason:
        raise NotPromised(reason)
    return DIFFERENCES[name](implementation, case)


def mask(subject: Implementation, case: Case) -> str | None:
    """Kept logits keep their bits, everything else is -inf, and the set is one that the contract allows."""
    masked = subject.masked(subject.put(case.logits[None]), case.k, case.p)[0]
    return _mask_difference(subject, case, masked)


def _mask_difference(subject: Implementation, case: Case, masked: Raw) -> str | None:
    lowest = formats.patterns(NEGATIVE_INFINITY[case.dtype], case.dtype)
    kept = masked != lowest
    return differences.first(
        difference(subject.contract, case, kept),
        differences.pattern_difference(case, np.where(kept, case.raw, lowest), masked),
    )


PLAIN_MASK_VALUES = (0.0, -10000.0)
"""Values that every dtype holds: how others are rounded is not promised, nor is the sign of a zero."""


def mask_value(subject: Implementation, case: Case) -> str | None:
    """With values other than -inf: what it removes gets the value, what it keeps keeps its bits; a -inf may stay."""
    values = formats.values(case.raw, case.dtype)
    for fill in PLAIN_MASK_VALUES:
        masked = subject.masked(subject.put(case.logits[None]), case.k, case.p, mask_value=fill)[0]
        filled = formats.values(masked, case.dtype) == fill
        same = masked == case.raw
        wrong = np.flatnonzero(~(filled | same))
        found: str | None
        if len(wrong):
            found = (
                f"{differences.token(case, int(wrong[0]))} is neither kept nor filled: bits 0x{int(masked[wrong[0]]):x}"
            )
        else:  # a logit that is the value looks the same kept and removed
            kept = same & ~filled & (case.raw != NEGATIVE_INFINITY[case.dtype])
            found = None if (values == fill).any() else difference(subject.contract, case, kept)
        if found:
            return within(f"mask_value={fill!r}", found)
    return None


def candidates(subject: Implementation, case: Case) -> str | None:
    """No token twice, each with the bits of its logit, in order where that is promised, and an allowed set."""
    values, indices = (found[0] for found in subject.listed(subject.put(case.logits[None]), case.k, case.p))
    listed = values != NEGATIVE_INFINITY[case.dtype]  # what is past the kept tokens, or masked from the start
    values, indices = values[listed], indices[listed]
    wrong = np.flatnonzero((indices < 0) | (indices >= case.vocab))
    if len(wrong):
        return f"index {indices[wrong[0]]} is no token; expected 0 to {case.vocab - 1}"
    tokens, counts = np.unique(indices, return_counts=True)
    if (counts > 1).any():
        return f"token {tokens[counts > 1][0]} is listed more than once"
    wrong = np.flatnonzero(values != case.raw[indices])
    if len(wrong):
        return f"{differences.token(case, int(indices[wrong[0]]))} is listed with bits 0x{int(values[wrong[0]]):x}"
    kept = np.zeros(case.vocab, bool)
    kept[indices] = True
    return difference(subject.contract, case, kept) or _order_difference(subject, case, indices)


def _order_difference(subject: Implementation, case: Case, indices: NDArray[np.int64]) -> str | None:
    if not subject.contract.sorted or len(indices) < 2:
        return None
    keys = reference.ordered_keys(reference.widen(case.raw, case.dtype))[indices]
    wrong = keys[1:] > keys[:-1]
    if subject.contract.ties == "lowest index first":
        wrong |= (keys[1:] == keys[:-1]) & (indices[1:] < indices[:-1])
    at = np.flatnonzero(wrong)
    if not len(at):
        return None
    first, second = (differences.token(case, int(indices[at[0] + step])) for step in (0, 1))
    return f"slot {at[0] + 1}: {second} comes after {first}"


def one_answer(subject: Implementation, case: Case) -> str | None:
    """Mask and candidates tell one set, where the contract leaves no choice between equal logits."""
    if subject.contract.ties != "lowest index first":
        raise NotPromised("mask and candidates may choose differently among equal logits")
    by_mask = subject.kept(subject.put(case.logits[None]), case.k, case.p)[0]
    by_listing = replace(subject, mask=None, mask_in_place=None).kept(subject.put(case.logits[None]), case.k, case.p)[0]
    return differences.disagreement(case, ("mask", "candidates"), by_mask, by_listing)


def _answer(subject: Implementation, case: Case) -> str | None:
    """The row alone: an allowed set."""
    return difference(subject.contract, case, subject.kept(subject.put(case.logits[None]), case.k, case.p)[0])


def in_batch(subject: Implementation, case: Case) -> str | None:
    """First, last and in the middle of batches, with k and p per row where they may be tensors."""
    invariant = subject.contract.batch_invariant
    alone = subject.kept(subject.put(case.logits[None]), case.k, case.p)[0] if invariant else None
    others = companions(subject, case, 4)
    for size, at in ((1, 0), (2, 1), (5, 2), (65 if case.vocab <= 512 else 3, 1)):
        cases = [others[i % len(others)] for i in range(size)]
        cases[at] = case
        kept = _kept(subject, cases)
        found = _rows_difference(subject, cases, kept)
        if not found and alone is not None:
            found = differences.kept_difference(case, alone, kept[at])
            found = within("the row alone (expected) and in the batch", found)
        if found:
            return within(f"batch of {size}", found)
    return None


def companions(subject: Implementation, case: Case, count: int) -> list[Case]:
    """Other rows that the contract covers; with the case's own k and p where there is one k and one p for all rows."""
    rows = (_beside(subject, case, other) for other in islice(batches.drawn(case), 40))
    return [*islice((row for row in rows if outside(subject.contract, row) is None), count)] or [case]


def _beside(subject: Implementation, case: Case, other: Case) -> Case:
    """Another row, whose k and p are on where the case's are."""
    k, p = (other.k, other.p) if subject.contract.tensors else (case.k, case.p)
    k = None if case.k is None else (k if k is not None else case.k)
    p = None if case.p is None else (p if p is not None else case.p)
    return replace(other, recipe=None, k=k, p=p, label=f"a companion, k={k}, p={p!r}")


def _kept(subject: Implementation, cases: Sequence[Case]) -> NDArray[np.bool_]:
    """[rows, vocab], what is kept of each row in one call."""
    k, p = _arguments(subject, cases)
    return subject.kept(subject.put(torch.stack([case.logits for case in cases])), k, p)


def _arguments(subject: Implementation, cases: Sequence[Case]) -> tuple[object, object]:
    """k and p for a batch: tensors where the contract has them; else the first row's, which all share."""
    first = cases[0]
    if not subject.contract.tensors:
        return first.k, first.p
    k = None if first.k is None else torch.tensor([case.k for case in cases], dtype=torch.int32)
    p = None if first.p is None else torch.tensor([case.p for case in cases], dtype=torch.float32)
    return k, p


def _rows_difference(subject: Implementation, cases: Sequence[Case], kept: NDArray[np.bool_]) -> str | None:
    for row, case in enumerate(cases):
        found = difference(subject.contract, case, kept[row])
        if found:
            return within(f"row {row} of {len(cases)} ({case.line})", found)
    return None


def spelled(subject: Implementation, case: Case) -> str | None:
    """k and p as numbers, and as tensors with one value a row."""
    two = subject.put(torch.stack((case.logits, case.logits)))
    as_numbers = subject.kept(two.clone(), case.k, case.p)
    return differences.first(
        within("numbers", _rows_difference(subject, (case, case), as_numbers)),
        within("tensors", _rows_difference(subject, (case, case), _kept(subject, (case, case)))),
    )


def strided(subject: Implementation, case: Case) -> str | None:
    """Rows in every layout in memory; what lies around them does not change."""
    cases = [*companions(subject, case, 2), case]
    k, p = _arguments(subject, cases)
    rows = np.stack([row.raw for row in cases])
    for layout in LAYOUTS:
        base = subject.put(layout.hold(rows, case.dtype))
        kept = subject.kept(layout.view(base, *rows.shape), k, p, base=base)
        found = _rows_difference(subject, cases, kept)
        if found:
            return within(layout.name, found)
    return None


def widened(subject: Implementation, case: Case) -> str | None:
    """A 16-bit row and its float32 copy, which hold the same numbers."""
    narrow = case
    if case.dtype == "float32":
        dtype = next(dtype for dtype in subject.contract.dtypes if dtype != "float32")
        raw = formats.rounded(formats.values(case.raw, case.dtype), dtype)
        narrow = replace(case, recipe=None, logits=formats.tensor(raw, dtype), label=f"rounded to {dtype}")
    wide = formats.tensor(formats.values(narrow.raw, narrow.dtype).view(np.uint32), "float32")
    copy = replace(narrow, recipe=None, logits=wide, label=f"the float32 copy of {narrow.line}")
    return differences.first(
        *(within(row.line, _answer(subject, row)) for row in (narrow, copy) if outside(subject.contract, row) is None)
    )


def repeated(subject: Implementation, case: Case) -> str | None:
    """The same call again, others in between, keeps the same tokens."""
    first = subject.kept(subject.put(case.logits[None]), case.k, case.p)[0]
    for other in companions(subject, case, 2):
        _kept(subject, (other,))
        _kept(subject, (other, other))
        again = subject.kept(subject.put(case.logits[None]), case.k, case.p)[0]
        found = within("called again", differences.kept_difference(case, first, again))
        if found:
            return found
    return None


def nested_in_k(subject: Implementation, case: Case) -> str | None:
    """A greater k, with p as it is: each set is allowed, so what the smaller one keeps above its cut stays."""
    k = case.k if case.k is not None and 0 < case.k < case.vocab else max(1, case.vocab // 3)
    return _each(subject, (replace(case, k=step) for step in sorted({1, max(1, k - 1), k, k + 1, 2 * k})), "k")


def nested_in_p(subject: Implementation, case: Case) -> str | None:
    """A greater p, with k as it is; steps of one ulp included."""
    p = case.p if case.p is not None and 0.0 < case.p < 1.0 else 0.75
    bits = int(np.float32(p).view(np.uint32))
    steps = sorted({recipes.fp32_of_bits(step) for step in (bits - 1, bits, bits + 1, 0x3F7FFFFF)})
    return _each(subject, (replace(case, p=step) for step in steps), "p")


def _each(subject: Implementation, cases: Iterator[Case], name: str) -> str | None:
    for case in cases:
        if outside(subject.contract, case) is None:
            found = within(f"{name}={getattr(case, name)!r}", _answer(subject, replace(case, recipe=None)))
            if found:
                return found
    return None


def permuted(subject: Implementation, case: Case) -> str | None:
    """The tokens moved."""
    seed = case.recipe.seed if case.recipe else 0
    tokens = np.arange(case.vocab)
    for name, order in (("shuffled", Stream(seed).shuffled(1, tokens)), ("reversed", tokens[::-1])):
        moved = replace(case, recipe=None, logits=formats.tensor(case.raw[order], case.dtype), label=name)
        found = within(name, _answer(subject, moved))
        if found:
            return found
    return None


def in_place(subject: Implementation, case: Case) -> str | None:
    """The rows become the mask, in the layouts that the contract covers, and memory around them stays."""
    cases = [case, *companions(subject, case, 1)]
    k, p = _arguments(subject, cases)
    rows = np.stack([row.raw for row in cases])
    for layout in LAYOUTS if subject.contract.strides == "any" else LAYOUTS[:1]:
        base = subject.put(layout.hold(rows, case.dtype))
        masked = subject.masked_in_place(layout.view(base, *rows.shape), k, p, base=base)
        found = differences.first(*(_mask_difference(subject, *row) for row in zip(cases, masked, strict=True)))
        if found:
            return within(layout.name, found)
    return None


def untouched(subject: Implementation, case: Case) -> str | None:
    """Logits, k and p are as before a call (that is looked at in every call), also in every layout that is covered."""
    cases = [case, *companions(subject, case, 1)]
    k, p = _arguments(subject, cases)
    rows = np.stack([row.raw for row in cases])
    for layout in LAYOUTS if subject.contract.strides == "any" else LAYOUTS[:1]:
        base = subject.put(layout.hold(rows, case.dtype))
        subject.kept(layout.view(base, *rows.shape), k, p, base=base)
    return None


def threaded(subject: Implementation, case: Case) -> str | None:
    """The number of threads torch may use."""
    if subject.device != "cpu":
        raise NotRun("it is about the threads of a CPU")
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found = within(f"{threads} threads", _answer(subject, case))
            if found:
                return found
    finally:
        torch.set_num_threads(before)
    return None


def _never(subject: Implementation, case: Case) -> str | None:
    raise AssertionError("unpromised() has ruled this out")


DIFFERENCES: dict[str, Difference] = {
    "cut": _never,
    "mask": mask,
    "mask_value": mask_value,
    "candidates": candidates,
    "one_answer": one_answer,
    "batch": in_batch,
    "spelling": spelled,
    "stride": strided,
    "widening": widened,
    "repetition": repeated,
    "nested_in_k": nested_in_k,
    "nested_in_p": nested_in_p,
    "permutation": permuted,
    "in_place": in_place,
    "out": _never,
    "untouched": untouched,
    "flush_subnormals": _never,
    "threads": threaded,
}
"""How each property is tried, by the names of `qrita.testing.properties.PROPERTIES`."""
