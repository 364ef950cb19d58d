"""What must hold of an answer: each property with the rules it comes from, as a function of a subject and a case."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from qrita import reference
from qrita.testing import agreement, differences, invariance, memory, relations
from qrita.testing.building import Case
from qrita.testing.invariance import NotRun
from qrita.testing.subjects import Subject

__all__ = ["PROPERTIES", "Mismatch", "NotRun", "Property"]

Difference = Callable[[Subject, Case], str | None]
"""Tries a property; returns the first difference as text, or None."""


class Mismatch(AssertionError):
    """A property does not hold. The message says which, by which rule, for which recipe, and where it shows first."""


@dataclass(frozen=True)
class Property:
    """A property: its name, the rules of docs/semantics.md it tests with one sentence, and how it is tried."""

    name: str
    rule: str
    difference: Difference

    def check(self, subject: Subject, case: Case) -> None:
        """Try the property on one case.

        Raises:
            Mismatch: it does not hold.
            NotRun: it cannot be tried here.
            Exception: whatever the subject raised.
        """
        found = self.difference(subject, case)
        if found is not None:
            raise Mismatch(_message(self, subject, case, found))


def _message(tried: Property, subject: Subject, case: Case, found: str) -> str:
    lines = [
        f"property {tried.name!r} does not hold for {subject.name!r} on {subject.device!r}",
        f"rule:    {tried.rule}",
        f"found:   {found}",
        f"recipe:  {case.line}",
        f"call:    {case.dtype} logits [{case.vocab}], k={case.k}, p={case.p!r}",
        f"oracle:  {differences.shown(case.answer.cut)}",
        f"subject: {_subject_cut(subject, case)}",
    ]
    if case.recipe:
        lines.append(f"replay:  qrita replay '{case.recipe.to_json()}'")
    return "\n".join(lines)


def _subject_cut(subject: Subject, case: Case) -> str:
    """The subject's cut of the row alone, and the first token that it or the mask of the row alone has wrong."""
    try:
        cut = differences.cut(subject.cuts(case.logits.clone(), case.k, case.p))
    except Exception as error:  # the property has failed already: say what can be said
        return f"raised {type(error).__name__}: {error}"
    kept = reference.kept(case.answer)
    first = differences.kept_difference(case, kept, differences.kept_of_cut(case, cut))
    return f"{differences.shown(cut)}\ntoken:   {first or _first_of_mask(subject, case)}"


def _first_of_mask(subject: Subject, case: Case) -> str:
    """What a right cut leaves to be said: the mask is computed by code of its own, and may be wrong all the same."""
    try:
        found = agreement.mask(subject, case)
    except Exception as error:
        return f"alone, the row has the right cut; its mask raised {type(error).__name__}: {error}"
    if found is not None:
        return f"alone, the row has the right cut and a wrong mask: {found}"
    return "none: alone, the row has the right cut and the right mask"


PROPERTIES: dict[str, Property] = {
    name: Property(name, rule, difference)
    for name, rule, difference in (
        ("cut", "4 to 9, 12, 16: the cut of a row is the oracle's, all five integers.", agreement.cut),
        ("mask", "13: kept logits keep their bits, everything else is -inf.", agreement.mask),
        (
            "mask_value",
            "13: removed logits become mask_value, rounded once to the dtype; a -inf stays.",
            agreement.mask_value,
        ),
        (
            "candidates",
            "15: the kept tokens in order, -1 and -inf past them, counts true, mass and total exact.",
            agreement.candidates,
        ),
        ("one_answer", "6 to 8, 13, 15: mask, candidates and cut tell one set.", agreement.one_answer),
        (
            "batch",
            "1, 2 and the first paragraph: other rows, and their k and p, change nothing.",
            invariance.in_batch,
        ),
        ("spelling", "0 to 2: a number for all rows is that number for each; one row is a batch.", invariance.spelled),
        ("stride", "0 to 2: any strides of logits, k and p are the same call.", invariance.strided),
        ("widening", "4, 5: a 16-bit row and its float32 copy have the same kept set.", invariance.widened),
        ("repetition", "first paragraph: a run leaves nothing behind for the next.", invariance.repeated),
        ("nested_in_k", "6, 8: a greater k keeps all that a smaller one keeps.", relations.nested_in_k),
        ("nested_in_p", "8: a greater p keeps all that a smaller one keeps.", relations.nested_in_p),
        ("permutation", "5, 6, 8: where a token stands matters between equal logits only.", relations.permuted),
        ("in_place", "13, 14: in place is the same mask, and nothing outside the view changes.", memory.in_place),
        ("out", "14: out receives the mask, in any layout, and nothing else changes.", memory.out),
        ("untouched", "13, 14: the input is modified only when asked; results share no memory.", memory.untouched),
        ("flush_subnormals", "5, 10: a mode that flushes subnormals changes nothing.", invariance.flushed),
        ("threads", "12: sums are associative, so the number of threads changes nothing.", invariance.threaded),
    )
}
"""Every property by name."""
