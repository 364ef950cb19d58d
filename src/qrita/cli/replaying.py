"""The work of `qrita replay`: one case, both answers, and the row around the cut in words and numbers."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qrita.cli import words
from qrita.cli.counting import counted
from qrita.cli.findings import Finding, Item, case, findings
from qrita.cli.table import Styled, table
from qrita.reference import Cut
from qrita.testing import differences, formats
from qrita.testing.building import Case
from qrita.testing.formats import NEGATIVE_INFINITY
from qrita.testing.properties import PROPERTIES
from qrita.testing.subjects import Subject


@dataclass(frozen=True)
class Replayed:
    """One case tried again.

    Attributes:
        cut: the engine's, or what it raised.
        kept: [vocab], the tokens of the engine's mask, or what it raised.
    """

    item: Item
    case: Case
    subject: Subject
    cut: Cut | str
    kept: NDArray[np.bool_] | str
    findings: tuple[Finding, ...]

    @property
    def faults(self) -> tuple[Finding, ...]:
        """What still fails."""
        return tuple(finding for finding in self.findings if finding.is_fault)


def replay(subject: Subject, item: Item) -> Replayed:
    """Ask the engine for its cut and its mask, and try every property."""
    built = case(item)
    tried = tuple(findings(subject, item, PROPERTIES))
    return Replayed(item, built, subject, _cut(subject, built), _kept(subject, built), tried)


def _cut(subject: Subject, case: Case) -> Cut | str:
    try:
        return differences.cut(subject.cuts(case.logits.clone(), case.k, case.p))
    except Exception as error:
        return _raised(error)


def _kept(subject: Subject, case: Case) -> NDArray[np.bool_] | str:
    try:
        masked = formats.raw(subject.top_k_top_p(case.logits.clone(), case.k, case.p))
        return np.asarray(masked != NEGATIVE_INFINITY[case.dtype])
    except Exception as error:
        return _raised(error)


def _raised(error: Exception) -> str:
    return "raised " + traceback.format_exception_only(type(error), error)[-1].strip()


def lines(replayed: Replayed) -> Iterator[Styled]:
    """What a person reads."""
    yield f"engine  {replayed.subject.name} on {replayed.subject.device}", ""
    yield from ((line, "") for line in words.told(replayed.item, replayed.case))
    yield "", ""
    yield from table(replayed.case, replayed.kept, replayed.cut)
    yield "", ""
    yield f"oracle  {differences.shown(replayed.case.answer.cut)}", ""
    yield _engine_line(replayed)
    yield "", ""
    yield from properties(replayed)


def _engine_line(replayed: Replayed) -> Styled:
    cut = replayed.cut
    if isinstance(cut, str):
        return f"engine  {cut}", "bold red"
    oracle = replayed.case.answer.cut
    differing = [name for name in Cut.__dataclass_fields__ if getattr(cut, name) != getattr(oracle, name)]
    if differing:
        return f"engine  {differences.shown(cut)}   <- differs in {', '.join(differing)}", "bold red"
    return f"engine  {differences.shown(cut)} (the same)", ""


def properties(replayed: Replayed) -> Iterator[Styled]:
    """What holds and what does not."""
    for finding in replayed.findings:
        if finding.status == "not run":
            yield f"not run {finding.name}: {finding.found}", ""
    for fault in replayed.faults:
        yield f"FAILED  {fault.name}: {fault.found}", "bold red"
        if fault.name in PROPERTIES:
            yield f"        rule {PROPERTIES[fault.name].rule}", ""
        if fault.status == "crashed":
            yield from ((f"        {line}", "dim") for line in _traceback(fault.message))
    passed = ", ".join(finding.name for finding in replayed.findings if finding.status == "passed")
    yield f"passed  {passed or 'nothing'}", ""
    count = counted(len(replayed.findings), "properties", "property")
    if replayed.faults:
        yield f"qrita replay: FAILED, {len(replayed.faults)} of {count}", "bold red"
    else:
        yield f"qrita replay: PASSED, {count}", "bold green"


def _traceback(message: str) -> list[str]:
    return [line for line in message.splitlines() if not line.startswith(("recipe:", "replay:"))]
