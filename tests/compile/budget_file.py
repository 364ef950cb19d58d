"""The file `budgets.json`: what is in it, whether that can be a budget, and how it is written anew."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from budgets import IN_MEMORY, WRITE, Figures, Move, Targets, allowed, moves

FILE = Path(__file__).with_name("budgets.json")
SCHEMA = 1
AGAIN = f"correct it, or remove the file and write it anew: {WRITE}"
NAMES = tuple(field.name for field in dataclasses.fields(Figures))

Book = Mapping[str, Targets]
"""The file: version of Triton, then architecture, then variant."""


def unknown_version(book: Book, triton: str) -> str:
    """Why nothing is judged with a version of Triton; "" where it has budgets."""
    if triton in book:
        return ""
    return (
        f"{FILE.name} has no budgets for Triton {triton}; expected one of {', '.join(book) or '(none)'}: "
        f"install that, or write budgets for this one: {WRITE}"
    )


def merged(before: Targets, found: Targets, variants: Mapping[str, list[str]]) -> Targets:
    """Budgets for what was found; those from before for what was not compiled this time but still exists."""
    after: dict[str, dict[str, Figures]] = {}
    for target, names in variants.items():
        old, new = before.get(target, {}), found.get(target, {})
        after[target] = {
            name: allowed(new[name]) if name in new else old[name] for name in sorted(names) if name in {**old, **new}
        }
    return {target: budgets for target, budgets in after.items() if budgets}


def differences(before: Targets, after: Targets) -> Iterator[Move]:
    """What a rewrite changes: figure by figure, but in one line of a variant that comes or goes."""
    for target in dict.fromkeys((*before, *after)):
        old, new = before.get(target, {}), after.get(target, {})
        for variant in dict.fromkeys((*old, *new)):
            kernel = f"{variant.partition('-')[0]}_kernel"
            if variant in old and variant in new:
                yield from moves(kernel, variant, target, old[variant], new[variant])
            else:
                yield Move(kernel, variant, target, "all", None, None, "new" if variant in new else "gone")


def load(file: Path = FILE) -> Book:
    """The file; empty where there is none.

    Raises:
        ValueError: it is no JSON, or not of this schema, or a budget is not what a budget may be.
    """
    if not file.exists():
        return {}
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{file}: expected JSON, found {error}; {AGAIN}") from None
    if content.get("schema") != SCHEMA:
        raise ValueError(f"{file}: schema {content.get('schema')!r}: expected {SCHEMA}; {AGAIN}")
    return {
        triton: {
            target: {name: _budget(file, target, name, budget) for name, budget in budgets.items()}
            for target, budgets in targets.items()
        }
        for triton, targets in content["budgets"].items()
    }


def _budget(file: Path, target: str, variant: str, entry: dict[str, Any]) -> Figures:
    place = f"{file}: {variant} on {target}"
    if sorted(entry) != sorted(NAMES) or not all(type(value) is int and value >= 0 for value in entry.values()):
        raise ValueError(f"{place}: {entry}: expected counts for {', '.join(NAMES)}; {AGAIN}")
    if any(entry[name] for name in IN_MEMORY):
        raise ValueError(f"{place}: {entry}: expected no {' and no '.join(IN_MEMORY)}: no budget allows them")
    return Figures(**entry)


def text(book: Book) -> str:
    """The file's text: a line a variant, so that a change of one is a change of one line."""
    plain = {
        triton: {target: {name: dataclasses.asdict(budget) for name, budget in b.items()} for target, b in t.items()}
        for triton, t in book.items()
    }
    return _nested({"schema": SCHEMA, "budgets": plain}, 1) + "\n"


def _nested(value: Any, depth: int) -> str:
    if not isinstance(value, dict) or all(isinstance(inner, int) for inner in value.values()):
        return json.dumps(value)
    inner = ",\n".join(f"{' ' * depth}{json.dumps(key)}: {_nested(v, depth + 1)}" for key, v in value.items())
    return f"{{\n{inner}\n{' ' * (depth - 1)}}}"
