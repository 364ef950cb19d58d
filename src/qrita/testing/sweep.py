"""Many recipes, some properties, one subject: what `qrita check` runs."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from qrita.testing.building import Case, build
from qrita.testing.properties import PROPERTIES, Mismatch, NotRun, Property
from qrita.testing.record import Recipe
from qrita.testing.subjects import Subject

Status = Literal["passed", "failed", "crashed", "hung", "input changed", "wrong form", "not promised", "not run"]

FAULTS: tuple[Status, ...] = ("failed", "crashed", "hung", "input changed", "wrong form")
"""What counts as a failure, each of a kind of its own."""


@dataclass(frozen=True)
class Outcome:
    """What became of one property on one case.

    Attributes:
        property: its name.
        case: the case, with its recipe where it has one.
        status: "failed" is a wrong answer; "crashed" an exception of the subject, or the death of its process; "hung"
            no answer in time; "input changed" a write to what is not to be written; "wrong form" a result of another
            type, shape, dtype or device. Of these, "failed" and "crashed" are all that our own engines, which run in
            this process, can have. "not promised" is a case outside the subject's contract, "not run" a property that
            cannot be tried here.
        message: why, where it has not passed.
    """

    property: str
    case: Case
    status: Status
    message: str = ""


def sweep(
    subject: Subject, recipes: Iterable[Recipe | Case], properties: Iterable[Property | str] = tuple(PROPERTIES)
) -> Iterator[Outcome]:
    """Try every property on every recipe (or ready case), in order, one outcome each. Failures do not end it."""
    chosen = [PROPERTIES[tried] if isinstance(tried, str) else tried for tried in properties]
    for item in recipes:
        case = build(item) if isinstance(item, Recipe) else item
        for tried in chosen:
            yield _tried(tried, subject, case)


def _tried(tried: Property, subject: Subject, case: Case) -> Outcome:
    try:
        tried.check(subject, case)
    except Mismatch as mismatch:
        return Outcome(tried.name, case, "failed", str(mismatch))
    except NotRun as reason:
        return Outcome(tried.name, case, "not run", str(reason))
    except Exception:
        replay = f"\nreplay:  qrita replay '{case.recipe.to_json()}'" if case.recipe else ""
        return Outcome(tried.name, case, "crashed", f"{traceback.format_exc()}recipe:  {case.line}{replay}")
    return Outcome(tried.name, case, "passed")
