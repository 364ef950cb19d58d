"""What a run of compilations says about budgets: what moved, or what a rewrite changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import budget_file
import budgets
import tables
from budget_file import Book
from budgets import Figures, Move, Targets

Records = list[dict[str, Any]]
"""As `compile_report.record_of` makes them."""

ORDER = ("over", "under", "better", "moved")
"""Verdicts, those that matter most first."""


def beside_budgets(records: Records, book: Book, triton: str) -> str:
    """The figures of a run that are not what their budgets say, or why nothing is judged."""
    if unknown := budget_file.unknown_version(book, triton):
        return f"not judged: {unknown}"
    found = list(_moves(records, book[triton]))
    lines = [table(sorted(found, key=lambda move: ORDER.index(move.verdict)))] if found else ["as they were"]
    without = [r for r in records if r["needs"] is not None and _budget(r, book[triton]) is None]
    lines += [f"{record['variant']} on {record['architecture']}: not judged: it has no budget" for record in without]
    if better := sum(move.verdict == "better" for move in found):
        lines.append(f"{better} better than budgeted: {budget_file.FILE.name} is out of date: {budgets.WRITE}")
    return "\n".join(lines)


def rewritten(records: Records, before: Targets, variants: Mapping[str, list[str]]) -> Targets:
    """The budgets after a run, `variants` being all that there are of each architecture."""
    found: dict[str, dict[str, Figures]] = {}
    for record in records:
        if record["needs"] is not None:
            found.setdefault(record["architecture"], {})[record["variant"]] = Figures(**record["needs"])
    return budget_file.merged(before, found, variants)


def rewrite(before: Targets, after: Targets, variants: Mapping[str, list[str]]) -> str:
    """What a rewrite changed, and what still has no budget."""
    found = list(budget_file.differences(before, after))
    without = [
        f"{name} on {target}: still without a budget: this run did not compile it"
        for target, names in variants.items()
        for name in names
        if name not in after.get(target, {})
    ]
    return "\n".join([table(found) if found else "nothing changed", *without])


def table(found: list[Move]) -> str:
    """A line a figure."""
    lines = [["kernel", "variant", "target", "figure", "budget", "found", "verdict"]]
    for move in found:
        numbers = ("-" if number is None else str(number) for number in (move.budget, move.found))
        lines.append([move.kernel, move.variant, move.target, move.figure, *numbers, move.verdict])
    return tables.aligned(lines, left=4)


def _moves(records: Records, targets: Targets) -> Iterator[Move]:
    for record in records:
        if record["needs"] is not None:
            found = Figures(**record["needs"])
            place = record["kernel"], record["variant"], record["architecture"]
            yield from budgets.moves(*place, _budget(record, targets), found)


def _budget(record: dict[str, Any], targets: Targets) -> Figures | None:
    return targets.get(record["architecture"], {}).get(record["variant"])
