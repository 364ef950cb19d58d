"""What tries properties on a subject: here, or in a process of its own. What it is, for those who report on it."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from qrita.reference import Cut
from qrita.testing import differences, formats
from qrita.testing.building import Case
from qrita.testing.foreign.contract import Contract
from qrita.testing.formats import NEGATIVE_INFINITY
from qrita.testing.real import RealRow
from qrita.testing.recipes import Recipe
from qrita.testing.subjects import Subject
from qrita.testing.sweep import Outcome, sweep

Item = Recipe | RealRow
"""What builds a case and travels as one line of JSON."""


@dataclass(frozen=True)
class Described:
    """A subject in words.

    Attributes:
        name: what reports call it.
        device: torch's name of where its tensors are.
        contract: what it promises; None where that is docs/semantics.md, all of it.
        plan: what it says of how it answers a typical call; "" where it says nothing.
        versions: of what it is made of, besides torch.
        about: a sentence on what is called; "" where the name says it.
    """

    name: str
    device: str
    contract: Contract | None
    plan: str
    versions: dict[str, str]
    about: str = ""


@dataclass(frozen=True)
class Answer:
    """What a subject says of a case: the tokens kept, [vocab], and the cut; or in words why there is none."""

    kept: NDArray[np.bool_] | str
    cut: Cut | str


class Tester(Protocol):
    """Tries properties on one subject."""

    @property
    def described(self) -> Described:
        """The subject in words."""

    @property
    def restarts(self) -> int:
        """How often the subject's process ended before its time, or had to be ended."""

    def outcome(self, item: Item, case: Case, name: str) -> Outcome:
        """What became of one property on the case that an item builds."""

    def answer(self, item: Item, case: Case) -> Answer:
        """What the subject says of a case."""

    def close(self) -> None:
        """End what runs for it."""


@dataclass(frozen=True)
class Here:
    """Tries a subject in this process: one of our engines, which is trusted to come back."""

    subject: Subject
    restarts: int = 0

    @property
    def described(self) -> Described:
        """The subject in words."""
        return describe(self.subject)

    def outcome(self, item: Item, case: Case, name: str) -> Outcome:
        """What became of one property on a case."""
        (outcome,) = sweep(self.subject, [case], [name])
        return outcome

    def answer(self, item: Item, case: Case) -> Answer:
        """What the engine says of a case."""
        return answer(self.subject, case)

    def close(self) -> None:
        """Nothing runs."""


def describe(subject: Subject) -> Described:
    """An engine in words."""
    return Described(subject.name, subject.device, None, subject.plan(), {})


def answer(subject: Subject, case: Case) -> Answer:
    """An engine's mask and cut, each asked for on its own."""
    kept: NDArray[np.bool_] | str
    cut: Cut | str
    try:
        masked = formats.raw(subject.top_k_top_p(case.logits.clone(), case.k, case.p))
        kept = np.asarray(masked != NEGATIVE_INFINITY[case.dtype])
    except Exception as error:
        kept = raised(error)
    try:
        cut = differences.cut(subject.cuts(case.logits.clone(), case.k, case.p))
    except Exception as error:
        cut = raised(error)
    return Answer(kept, cut)


def raised(error: BaseException) -> str:
    """An exception in one line."""
    return "raised " + traceback.format_exception_only(type(error), error)[-1].strip()
