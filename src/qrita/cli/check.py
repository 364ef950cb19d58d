"""Try the best engine found here, or another subject, against the oracle, and print a verdict.

Every answer is compared bit for bit, on rows of real logits that travel with the package and on rows generated from
seeds. A failure is printed with the command that shows it again. Ctrl-C ends the check with a verdict on what was run.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from qrita.cli import subject
from qrita.cli.exits import FAILED, INTERRUPTED, PASSED, UsageError
from qrita.cli.interrupts import ending_at_once

HELP = "try an implementation against the oracle, and print a verdict"

RECIPES, QUICK_RECIPES = 3000, 150
REAL_ROWS, QUICK_REAL_ROWS = 576, 48
"""What `schedule.real_rows` makes, known here without importing it, so that help comes at once."""

STANDARD_OUTPUT = "-"
MAX_VOCAB, GREATEST_VOCAB = 4096, 1 << 22
MAX_FAILURES = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--recipes",
        type=_whole(0, 10**9),
        metavar="N",
        help=f"how many generated rows to try (default: {RECIPES:,}; with --quick {QUICK_RECIPES:,})",
    )
    parser.add_argument(
        "--seed", type=_whole(0, 10**18), default=0, metavar="N", help="the seed of the first one (default: 0)"
    )
    parser.add_argument(
        "--max-vocab",
        type=_whole(1, GREATEST_VOCAB),
        default=MAX_VOCAB,
        metavar="N",
        help=f"the longest generated row (default: {MAX_VOCAB:,})",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"fewer cases of each kind: {QUICK_REAL_ROWS + QUICK_RECIPES:,} instead of {REAL_ROWS + RECIPES:,}, "
        "seconds instead of a minute",
    )
    subject.add_arguments(parser)
    parser.add_argument(
        "--max-failures",
        type=_whole(1, 10**9),
        default=MAX_FAILURES,
        metavar="N",
        help=f"stop after that many failing cases (default: {MAX_FAILURES})",
    )
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="also write the verdict there, for programs; - is standard output, with all else on standard error",
    )
    parser.add_argument("--failures", metavar="DIR", help="also write a file there for each failing case")
    parser.add_argument(
        "--records",
        metavar="DIR",
        default=os.environ.get("QRITA_RECORDS"),
        help="also write a record there of the smallest case of each failure, for `qrita report` "
        "(default: the variable QRITA_RECORDS)",
    )


def run(args: argparse.Namespace) -> int:
    """Check, report, and return the exit status."""
    failures = None if args.failures is None else Path(args.failures)
    _prepare(args.json, failures)
    with ending_at_once():
        from qrita.cli import checking, schedule, verdict
        from qrita.cli.screen import Screen

        tester = subject.tester(args)
        tried = tester.described
    screen = Screen(stderr=args.json == STANDARD_OUTPUT)
    recipes = args.recipes if args.recipes is not None else QUICK_RECIPES if args.quick else RECIPES
    with closing(tester):
        kind = "subject" if tried.contract else "engine"
        screen.say(f"qrita check: {kind} {tried.name} on {tried.device}; Ctrl-C ends it with a verdict")
        with ending_at_once():
            stages = schedule.stages(
                recipes=recipes,
                seed=args.seed,
                max_vocab=args.max_vocab,
                quick=args.quick,
                contract=tried.contract,
            )
        records = None if args.records is None else Path(args.records)
        reporter = checking.Reporter(screen, tuple(subject.again(args)), failures, args.subject, records)
        found = checking.check(tester, stages, reporter, args.max_failures)
    checking.report(found, screen)
    if args.json is not None:
        _write(args.json, verdict.to_json(found))
    return {"passed": PASSED, "interrupted": INTERRUPTED}.get(found.state, FAILED)


def _whole(low: int, high: int) -> Callable[[str], int]:
    """A reader of whole numbers within bounds."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number from {low:,} to {high:,}")
        return value

    return read


def _prepare(json: str | None, failures: Path | None) -> None:
    """Find out now, rather than after a minute, that a file cannot be written.

    Raises:
        UsageError: says which.
    """
    if failures is not None:
        try:
            failures.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=failures).close()
        except OSError as error:
            raise UsageError(_unwritable("--failures", failures, error)) from None
    if json not in (None, STANDARD_OUTPUT):
        path = Path(json)
        try:
            if path.is_file() or path.is_dir() or not path.exists():  # a pipe would end for its reader
                path.open("a").close()
        except OSError as error:
            raise UsageError(_unwritable("--json", path, error)) from None


def _write(json: str, text: str) -> None:
    """The verdict for programs, after it has been printed.

    Raises:
        UsageError: it cannot be written.
    """
    if json == STANDARD_OUTPUT:
        sys.stdout.write(text)
        return
    try:
        Path(json).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(_unwritable("--json", Path(json), error)) from None


def _unwritable(option: str, path: Path, error: OSError) -> str:
    """Why nothing can be written there. os.path raises nothing, where Path may."""
    if option == "--failures" and os.path.isfile(path):
        reason = "is a file, expected a folder"
    elif option == "--json" and os.path.isdir(path):
        reason = "is a folder, expected a file"
    else:
        reason = f"cannot be written: {error.strerror or error}"
    return f"argument {option}: {str(path)!r} {reason}"
