"""Merge what lanes report into a Markdown summary, an HTML page, or JUnit XML.

`merge` reads directories that lanes left (lane.json, pytest's results*.xml, records of failures). A lane that was
expected and is not there shows as "not run". What cannot be read is named, and the rest is merged all the same.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from qrita.report import markdown, suites, verdict
from qrita.report.merging import Merged, merge

HELP = "merge what lanes report into a Markdown summary, an HTML page, or JUnit XML"

PASSED, FAILED, USAGE = 0, 1, 2

_EPILOG = """\
exit status: 0 if every lane passed, those expected among them; 1 if one did not, was not run, or cannot be read;
2 wrong usage
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    merging = commands.add_parser(
        "merge",
        help="merge lanes",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    merging.add_argument("directories", metavar="DIR", nargs="+", type=Path, help="a lane's, or one above several")
    merging.add_argument(
        "--expected",
        metavar="FILE",
        type=Path,
        help='the lanes that have to be there: a JSON list of objects such as {"lane": "cpu"}, '
        "as `ci/matrix.py jobs` prints it",
    )
    merging.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        action="append",
        required=True,
        type=Path,
        help="what to write, by its ending: .md, .html or .xml; may be given more than once",
    )
    merging.set_defaults(parser=merging)


def run(args: argparse.Namespace) -> int:
    """Merge, write, say in a line what came of it, and return the exit status."""
    for output in args.output:
        if output.suffix not in _WRITERS:
            args.parser.error(f"argument -o: {str(output)!r}: expected a name that ends in {', '.join(_WRITERS)}")
    merged = merge(args.directories, args.expected)
    for output in args.output:
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(_WRITERS[output.suffix](merged), encoding="utf-8")
        except ModuleNotFoundError as error:
            args.parser.error(f"argument -o: {str(output)!r} needs {error.name}: `python -m pip install {error.name}`")
        except OSError as error:
            args.parser.error(f"argument -o: {str(output)!r} cannot be written: {error.strerror or error}")
    for problem in merged.problems:
        print(f"{args.parser.prog}: {problem}", file=sys.stderr)
    for lane in merged.lanes:
        if not lane.state.good:
            print(f"{args.parser.prog}: {lane.name} {lane.state.word}: {verdict.reason(lane)}", file=sys.stderr)
    print(verdict.headline(merged))
    return PASSED if merged.good else FAILED


def _html(merged: Merged) -> str:
    from qrita.report.page import page

    return page(merged)


_WRITERS = {".md": markdown.summary, ".html": _html, ".xml": suites.suites}
