"""The work of `qrita replay`: one case, both answers, and the row around the cut in words and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qrita.cli import words
from qrita.cli.counting import counted
from qrita.cli.findings import Finding, Item, case, findings
from qrita.cli.table import Styled, table
from qrita.reference import Cut
from qrita.testing import differences
from qrita.testing.building import Case
from qrita.testing.properties import PROPERTIES
from qrita.testing.testers import Described, Tester


@dataclass(frozen=True)
class Replayed:
    """One case tried again.

    Attributes:
        cut: the subject's, or why there is none.
        kept: [vocab], the tokens that the subject keeps, or why that is not known.
    """

    item: Item
    case: Case
    subject: Described
    cut: Cut | str
    kept: NDArray[np.bool_] | str
    findings: tuple[Finding, ...]

    @property
    def faults(self) -> tuple[Finding, ...]:
        """What still fails."""
        return tuple(finding for finding in self.findings if finding.is_fault)


def replay(tester: Tester, item: Item) -> Replayed:
    """Ask the subject for its answer, and try every property."""
    built = case(item)
    tried = tuple(findings(tester, item, PROPERTIES))
    found = tester.answer(item, built)
    return Replayed(item, built, tester.described, found.cut, found.kept, tried)


def lines(replayed: Replayed) -> Iterator[Styled]:
    """What a person reads."""
    kind = "subject" if replayed.subject.contract else "engine "
    yield f"{kind} {replayed.subject.name} on {replayed.subject.device}", ""
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
    if replayed.subject.contract:
        kept = replayed.kept if isinstance(replayed.kept, str) else f"count {int(replayed.kept.sum())}"
        return f"subject {kept}", ""
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
        if finding.status in ("not run", "not promised"):
            yield f"{finding.status} {finding.name}: {finding.found}", ""
    for fault in replayed.faults:
        kind = "" if fault.status in ("failed", "crashed") else f" ({fault.status})"
        yield f"FAILED  {fault.name}{kind}: {fault.found}", "bold red"
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
