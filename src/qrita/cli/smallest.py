"""One small case for each way in which a property fails."""

from __future__ import annotations

from collections.abc import Iterable

from qrita.cli.findings import Finding, Item, findings
from qrita.testing.recipes import Recipe
from qrita.testing.shrinking import shrunk
from qrita.testing.testers import Tester

Met = dict[tuple[str, str], tuple[Item, Finding]]
"""By property and kind of failure: the shortest case met so far, and what was found."""


def keep_shortest(met: Met, item: Item, faults: Iterable[Finding]) -> None:
    """Remember a case where it is shorter than those before it; a real row only where there is no other."""
    for fault in faults:
        before = met.get((fault.name, fault.status))
        if before is None or _length(item) < _length(before[0]):
            met[fault.name, fault.status] = (item, fault)


def _length(item: Item) -> int:
    return item.vocab if isinstance(item, Recipe) else 1 << 30


def smallest(tester: Tester, item: Item, fault: Finding) -> tuple[Item, Finding, bool]:
    """A smaller case that fails in the same way, what was found there, and whether smaller ones were looked for.

    None is looked for where the subject hangs, and no more once one has ended its process: each costs as long again.
    """
    if not isinstance(item, Recipe) or fault.status == "hung" or fault.name == "build":
        return item, fault, False
    restarts, latest = tester.restarts, fault

    def fails(candidate: Recipe) -> bool:
        nonlocal latest
        if tester.restarts > restarts:
            return False
        (found,) = findings(tester, candidate, [fault.name])
        same = (found.name, found.status) == (fault.name, fault.status)
        latest = found if same else latest
        return same

    return shrunk(item, fails), latest, True
