"""Records of what `qrita check` finds, also of subjects that run in a process of their own."""

from __future__ import annotations

from qrita.cli.findings import Finding, case
from qrita.report import answers, faults, surroundings
from qrita.report.answers import Answer
from qrita.report.diagnosis import Manner
from qrita.report.faults import Fault
from qrita.report.record import Record
from qrita.report.record import Subject as Tested
from qrita.testing.properties import PROPERTIES
from qrita.testing.sweep import Status
from qrita.testing.testers import Item, Tester

_MANNERS: dict[Status, Manner] = {
    "failed": "",
    "crashed": "crash",
    "hung": "hang",
    "input changed": "input changed",
    "wrong form": "wrong form",
}


def record(tester: Tester, item: Item, finding: Finding, *, subject: str | None, again: str) -> Record:
    """The record of a property that fails on the case of an item.

    Args:
        subject: what --subject chose.
        again: the command that shows the case again.
    """
    described, built = tester.described, case(item)
    fault = Fault(
        PROPERTIES[finding.name],
        built,
        finding.found,
        finding.message,
        _MANNERS[finding.status],
        engine=subject or described.name,
    )
    hung = finding.status == "hung"
    return faults.assembled(
        fault,
        Answer() if hung else answers.by_tester(tester, item, built, finding.name),
        tested=Tested(described.name, described.device, described.plan),
        here=surroundings.gather(described.device),
        identity=None,
        written=faults.now(),
        again=again,
    )
