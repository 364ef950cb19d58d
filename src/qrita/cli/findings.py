"""Properties tried on one case, each failure with the one line that says most."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from qrita.testing.building import Case
from qrita.testing.recipes import Recipe, build
from qrita.testing.sweep import FAULTS, Outcome, Status
from qrita.testing.testers import Item, Tester

__all__ = ["Finding", "Item", "case", "findings"]


@dataclass(frozen=True)
class Finding:
    """What became of one property on one case: `found` is one line, `message` everything there is to say."""

    name: str
    status: Status
    found: str = ""
    message: str = ""

    @property
    def is_fault(self) -> bool:
        """Whether it is a failure, of whatever kind."""
        return self.status in FAULTS


def case(item: Item) -> Case:
    """The case of an item."""
    return build(item) if isinstance(item, Recipe) else item.build()


def findings(tester: Tester, item: Item, properties: Iterable[str]) -> Iterator[Finding]:
    """Try the properties, one finding each. A case that cannot be built is a failure too."""
    try:
        built = case(item)
    except Exception as error:
        yield Finding("build", "crashed", _raised(error), traceback.format_exc())
        return
    for name in properties:
        outcome = tester.outcome(item, built, name)
        yield Finding(name, outcome.status, _line(outcome), outcome.message)


def _line(outcome: Outcome) -> str:
    """The line of a message that says what was found: a traceback's last one, where there is a traceback."""
    lines = outcome.message.splitlines()
    if outcome.status in ("failed", "input changed", "wrong form"):
        return next((line.removeprefix("found:").strip() for line in lines if line.startswith("found:")), "")
    if outcome.status == "crashed":
        trace = [line for line in lines[: _index(lines, "recipe:")] if line.strip()]
        return trace[-1].strip() if trace else "raised an exception"
    return outcome.message


def _index(lines: list[str], start: str) -> int:
    return next((i for i, line in enumerate(lines) if line.startswith(start)), len(lines))


def _raised(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
