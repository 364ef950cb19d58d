"""How soon each property catches a planted bug. `python tests/testing/catching.py` prints the table of docs/testing.md.

Recipes are those of the seeds 0, 1, 2, ...: the numbers are the same on every machine, with every version of
hypothesis, until the families or `compose` change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from planted_bugs import PLANTED

from qrita.testing import vectors
from qrita.testing.properties import PROPERTIES
from qrita.testing.recipes import seeded
from qrita.testing.subjects import Subject
from qrita.testing.sweep import sweep

RECIPES = 300
"""As many as one property is given in the profile `pr`."""

LONGEST = 300
"""The longest row that the planted bugs are given."""

DOCUMENT = Path(__file__).parents[2] / "docs" / "testing.md"
VECTORS = [v for v in vectors.load_all(Path(__file__).parents[1] / "vectors") if v.vocab <= 600]


def caught_after(bug: str, name: str, at_most: int = RECIPES) -> tuple[int, str] | None:
    """How many recipes it takes a property to catch a bug, and the family of the last; None if it does not."""
    recipes = seeded(at_most, max_vocab=LONGEST)
    for number, outcome in enumerate(sweep(Subject(bug, PLANTED[bug]()), recipes, [name]), 1):
        if outcome.status not in ("passed", "not run"):
            assert outcome.status == "failed", outcome.message
            assert outcome.case.recipe is not None
            return number, outcome.case.recipe.family
    return None


def failing_vectors(bug: str) -> list[str]:
    """The vectors that a bug fails, of those with a short row."""
    subject = Subject(bug, PLANTED[bug]())
    return [vector.name for vector in VECTORS if vectors.difference(subject, vector)]


def line(bug: str, names: Iterable[str]) -> str:
    """A line of the table."""
    caught = {name: found for name in names if (found := caught_after(bug, name))}
    failing = failing_vectors(bug)
    by = ", ".join(f"`{name}` {number}" for name, (number, _) in caught.items()) or "-"
    first = min(caught.values(), default=(0, ""))[1]
    return f"| {bug} | {by} | {f'`{first}`' if first else '-'} | {shown(failing)} |"


def shown(failing: list[str]) -> str:
    """How many vectors fail, and the first of them."""
    return f"{len(failing)}: `{failing[0]}`" if failing else "-"


def table() -> dict[str, list[str]]:
    """The table as it stands in the document: the other cells of a line, by bug."""
    section = DOCUMENT.read_text(encoding="utf-8").split("| planted bug |")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in section.splitlines()[2:]]
    return {row[0]: row[1:] for row in rows}


def properties_of(cell: str) -> dict[str, int]:
    """'`cut` 3, `mask` 5' -> cut: 3, mask: 5."""
    return {name: int(number) for name, number in re.findall(r"`(\w+)` (\d+)", cell)}


if __name__ == "__main__":
    print(
        "| planted bug | caught by, after how many recipes | first by family | vectors that fail |\n|---|---|---|---|"
    )
    for bug in PLANTED:
        print(line(bug, PROPERTIES), flush=True)
