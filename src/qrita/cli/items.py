"""Reading a case that a person names: as JSON, in a file, or on standard input."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from qrita.cli.exits import UsageError
from qrita.cli.findings import Item
from qrita.testing.real import RealRow
from qrita.testing.recipes import Recipe, RecipeError

EXAMPLE = """'{"family": "normal", "vocab": 100, "k": 5}'"""

GREATEST_FILE = 1 << 20
"""Bytes of the longest file that may be a case."""


def read(source: str) -> Item:
    """The case that a command line names.

    Raises:
        UsageError: what is wrong with it.
    """
    text = _text(source)
    if not text.strip():
        raise UsageError(f"{_shown(source)} is empty; expected a case such as {EXAMPLE}")
    try:
        return _item(json.loads(text))
    except RecipeError as error:
        raise UsageError(str(error)) from None
    except (ValueError, RecursionError) as error:  # not JSON; an integer of too many digits; nested too deeply
        raise UsageError(
            f"{_shown(source)}: not JSON ({error}); expected one object, as qrita check prints it"
        ) from None


def _text(source: str) -> str:
    if source.lstrip()[:1] in ("{", "["):
        return source
    try:
        if source == "-":
            return sys.stdin.read(GREATEST_FILE)
        with Path(source).open(encoding="utf-8") as file:
            return file.read(GREATEST_FILE)
    except (OSError, ValueError) as error:  # no such file, no text, a name that no file can have
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"{_shown(source)}: neither a JSON object nor a file that can be read ({reason}); "
            f"expected a case such as {EXAMPLE}"
        ) from None


def _item(given: Any) -> Item:
    if not isinstance(given, dict):
        raise RecipeError(f"case={given!r:.60}: expected a JSON object such as " + '{"family": "normal", "vocab": 100}')
    if "case" in given:  # a file that --failures wrote
        return _item(given["case"])
    if "failures" in given:
        raise RecipeError("a verdict of qrita check; expected one case: the `case` of one of its `failures`")
    if "real" in given:
        return RealRow.from_dict(given)
    return Recipe.from_json(json.dumps(given))


def _shown(source: str) -> str:
    return "standard input" if source == "-" else f"{source!r:.60}"
