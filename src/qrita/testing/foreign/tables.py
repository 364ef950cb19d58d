"""The tables of docs/peers.md, made from the verdicts that `qrita check --subject ... --json FILE` writes.

    python -m qrita.testing.foreign.tables FILE... [--into docs/peers.md]

Without --into they are printed; with it they replace what stands between the document's two markers.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from qrita.testing.properties import PROPERTIES

BEGIN, END = "<!-- begin of what qrita.testing.foreign.tables writes -->", "<!-- end -->"

Verdict = dict[str, Any]


class TableError(Exception):
    """A file that is no verdict, or a document without markers. Names the file."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the tables; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m qrita.testing.foreign.tables", description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE", type=Path)
    parser.add_argument("--into", metavar="DOCUMENT", type=Path)
    args = parser.parse_args(arguments)
    try:
        text = tables([read(file) for file in args.files])
        if args.into is None:
            sys.stdout.write(text)
        else:
            args.into.write_text(spliced(args.into, text), encoding="utf-8")
    except (TableError, OSError) as error:
        parser.error(str(error))
    return 0


def read(file: Path) -> Verdict:
    """The verdict in a file.

    Raises:
        TableError: it holds something else.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TableError(f"{file} cannot be read: {error}") from None
    if not isinstance(found, dict) or found.get("format") != 2 or "properties" not in found:
        raise TableError(f"{file} is no verdict of format 2; expected a file that `qrita check --json` wrote")
    return found


def spliced(document: Path, text: str) -> str:
    """The document with the text between its markers.

    Raises:
        TableError: it has not both of them, once each and in order.
    """
    before, begin, rest = document.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise TableError(f"{document}: expected the lines {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n\n{text}\n{END}{after}"


def tables(verdicts: Sequence[Verdict]) -> str:
    """What was run, what came of each property, the smallest failures, and the contracts, in Markdown."""
    parts = (_runs(verdicts), _properties(verdicts), _failures(verdicts), _contracts(verdicts))
    return "\n".join("\n".join(part) + "\n" for part in parts)


def _name(verdict: Verdict) -> str:
    return str(verdict["surroundings"]["subject"])


def _runs(verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield "### What was run"
    yield ""
    yield from _head("subject", "what is called", "versions", "on", "cases", "comparisons")
    for verdict in verdicts:
        here = verdict["surroundings"]
        cases = "; ".join(f"{part['run']:,} {part['name']}" for part in verdict["parts"] if part["run"])
        ended = f" ({verdict['ended']})" if verdict["ended"] else ""
        versions = ", ".join(f"{name} {version}" for name, version in here["versions"].items())
        yield _row(
            _name(verdict),
            here["about"] or here["plan"],
            versions,
            here["card"],
            cases + ended,
            f"{verdict['checks']:,}",
        )


def _properties(verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield "### Property by property"
    yield ""
    yield from _head("property", *map(_name, verdicts))
    named = [*PROPERTIES, *sorted({name for verdict in verdicts for name in verdict["properties"]} - set(PROPERTIES))]
    for name in named:
        yield _row(f"`{name}`", *(_cell(verdict["properties"].get(name)) for verdict in verdicts))


def _cell(tally: dict[str, Any] | None) -> str:
    """One property of one subject. A property that was never tried says so: nothing is green by absence."""
    if tally is None:
        return "not run"
    failed = sum(tally["faults"].values())
    tried = tally["passed"] + failed
    if failed:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in tally["faults"].items() if kind != "failed")
        return f"**fails** on {failed:,} of {tried:,}" + (f" ({kinds})" if kinds else "")
    if tried:
        return f"passed, {tried:,}"
    return "not promised" if tally["not_promised"] and not tally["not_run"] else "not run"


def _failures(verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield "### The smallest failure of each kind"
    yield ""
    if not any(verdict["minimal"] for verdict in verdicts):
        yield "None."
    for verdict in verdicts:
        for minimal in verdict["minimal"]:
            kind = "" if minimal["status"] == "failed" else f" ({minimal['status']})"
            yield f"- {_name(verdict)}, `{minimal['property']}`{kind}: {_plain(minimal['found'])}"
            yield f"  `{json.dumps(minimal['case'])}`"


def _contracts(verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield "### What each promises, as it was read"
    yield ""
    contracted = [verdict for verdict in verdicts if verdict["surroundings"]["contract"]]
    if not contracted:
        yield "All of docs/semantics.md."
        return
    yield from _head("", *map(_name, contracted))
    contracts = [verdict["surroundings"]["contract"] for verdict in contracted]
    for field in (name for name in contracts[0] if name != "sources"):
        yield _row(f"`{field}`", *(_value(contract, field) for contract in contracts))
    yield ""
    for verdict, contract in zip(contracted, contracts, strict=True):
        reasons = "; ".join(f"`{field}`: {_plain(reason)}" for field, reason in contract["sources"].items())
        if reasons:
            yield f"- {_name(verdict)}: {reasons}."


def _value(contract: dict[str, Any], field: str) -> str:
    value = contract[field]
    if contract["order"] == "k alone" and field in ("tolerance", "tolerance_growth", "resolution", "p_values"):
        return ""  # of top-p, which it has not
    if isinstance(value, bool):
        return "yes" if value else "not promised"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _head(*cells: str) -> Iterator[str]:
    yield _row(*cells)
    yield "|" + "---|" * len(cells)


def _row(*cells: str) -> str:
    return f"| {' | '.join(map(_plain, cells))} |"


def _plain(text: str) -> str:
    """Text that ends no cell and starts no tag."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.exit(main())
