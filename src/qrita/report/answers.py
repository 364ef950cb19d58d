"""Asking a subject about one row, alone and again: what a diagnosis is made from."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from torch import Tensor

from qrita.records import Candidates
from qrita.reference import Cut
from qrita.report.record import Reruns
from qrita.testing import differences, formats
from qrita.testing.building import Case
from qrita.testing.formats import NEGATIVE_INFINITY, Raw
from qrita.testing.properties import Property
from qrita.testing.subjects import Subject
from qrita.testing.sweep import FAULTS, Outcome
from qrita.testing.testers import Item, Tester

T = TypeVar("T")

RUNS, PATIENCE = 5, 20.0
"""How often a property is tried again, and for how many seconds at most."""


NEVER = Reruns(0, 0, 0)


@dataclass(frozen=True)
class Answer:
    """What a subject says of one row alone. A text is what it raised; None: it was not asked.

    Attributes:
        mask: [vocab] patterns.
        listings: the candidates, by the number of slots that was asked for.
        changed: whether the logits that it was given have changed.
    """

    mask: Raw | str | None = None
    cut: Cut | str | None = None
    listings: dict[int, Candidates] | str | None = None
    changed: bool = False
    reruns: Reruns = NEVER


def ask(subject: Subject, case: Case, tried: Property) -> Answer:
    """The subject's answer in every form, and what becomes of the property when it is tried again."""
    given: list[Tensor] = []

    def masked() -> Raw:
        given.append(subject.put(case.logits.clone()))
        return formats.raw(subject.top_k_top_p(given[0], case.k, case.p))

    def listed(slots: int) -> Candidates:
        return subject.candidates(case.logits.clone(), case.k, case.p, max_candidates=slots)

    return Answer(
        mask=_asked(masked),
        cut=_asked(lambda: differences.cut(subject.cuts(case.logits.clone(), case.k, case.p))),
        listings=_asked(lambda: {slots: listed(slots) for slots in (1, len(case.answer.kept) + 1)}),
        changed=_asked(lambda: not np.array_equal(formats.raw(given[0]), case.raw)) is True,
        reruns=_runs(lambda: tried.difference(subject, case)),
    )


def by_tester(tester: Tester, item: Item, case: Case, name: str) -> Answer:
    """The same of a subject that is reached through a tester, which says what is kept and where the cut is."""
    said = tester.answer(item, case)
    lowest = formats.patterns(NEGATIVE_INFINITY[case.dtype], case.dtype)
    return Answer(
        mask=said.kept if isinstance(said.kept, str) else np.where(said.kept, case.raw, lowest),
        cut=said.cut,
        reruns=_runs(lambda: _failing(tester.outcome(item, case, name))),
    )


def _failing(outcome: Outcome) -> str | None:
    return outcome.message if outcome.status in FAULTS else None


def _runs(failing: Callable[[], str | None]) -> Reruns:
    """Call what says how it fails, or None, several times."""
    found: list[str | None] = []
    end = time.monotonic() + PATIENCE
    while len(found) < RUNS and time.monotonic() < end:
        found.append(_asked(failing))
    return Reruns(len(found), sum(text is not None for text in found), len(set(found)))


def _asked(call: Callable[[], T]) -> T | str:
    try:
        return call()
    except Exception as error:
        return "raised " + traceback.format_exception_only(type(error), error)[-1].strip()
