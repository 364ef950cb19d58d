"""Which vectors test which rule: the table of docs/semantics.md, which `python tests/testing/ruled.py` prints."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from qrita.testing import vectors
from qrita.testing.vectors import Vector

DIRECTORY = Path(__file__).parents[1] / "vectors"
RULES = range(18)
WITHOUT = {
    3: "shapes of k and p are a matter of calls",
    11: "a theorem about rule 9, which has vectors",
    14: "out and in place are a matter of calls",
    17: "errors have no row",
}
"""Rules that no row can show."""


def lines(found: Iterable[Vector]) -> list[str]:
    """The table: a line for each rule, which names its vectors or says why there are none."""
    of_rule: dict[int, list[str]] = {rule: [] for rule in RULES}
    for vector in found:
        for rule in vector.rules:
            of_rule[rule].append(f"`{vector.name}`")
    cells = {rule: " ".join(names) or f"none: {WITHOUT[rule]}" for rule, names in of_rule.items()}
    return ["| rule | vectors |", "|---|---|", *(f"| {rule} | {cell} |" for rule, cell in cells.items())]


if __name__ == "__main__":
    print("\n".join(lines(vectors.load_all(DIRECTORY))))
