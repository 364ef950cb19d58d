"""Try the best engine found here against the oracle, and print a verdict.

Every answer is compared bit for bit, on rows of real logits that travel with the package and on rows generated from
seeds. A failure is printed with the command that shows it again. Ctrl-C ends the check with a verdict on what was run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from qrita.cli.exits import FAILED, INTERRUPTED, PASSED, UsageError

HELP = "try the best engine found here against the oracle, and print a verdict"

RECIPES, QUICK_RECIPES = 3000, 150
MAX_VOCAB, GREATEST_VOCAB = 4096, 1 << 22
MAX_FAILURES = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--recipes",
        type=_whole(0, 10**9),
        metavar="N",
        help=f"how many generated rows to try (default: {RECIPES}; with --quick {QUICK_RECIPES})",
    )
    parser.add_argument(
        "--seed", type=_whole(0, 10**18), default=0, metavar="N", help="the seed of the first one (default: 0)"
    )
    parser.add_argument(
        "--max-vocab",
        type=_whole(1, GREATEST_VOCAB),
        default=MAX_VOCAB,
        metavar="N",
        help=f"the longest generated row (default: {MAX_VOCAB})",
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of it: seconds instead of a minute")
    parser.add_argument(
        "--engine",
        metavar="NAME",
        help="the engine to try, or MODULE:ATTRIBUTE for one of your own (default: the best found here)",
    )
    parser.add_argument(
        "--max-failures",
        type=_whole(1, 10**9),
        default=MAX_FAILURES,
        metavar="N",
        help=f"stop after that many failing cases (default: {MAX_FAILURES})",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the verdict there, for programs")
    parser.add_argument("--failures", type=Path, metavar="DIR", help="also write a file there for each failing case")


def run(args: argparse.Namespace) -> int:
    """Check, report, and return the exit status."""
    _prepare(args.json, args.failures)
    from qrita.cli import checking, schedule, surroundings, verdict
    from qrita.cli.screen import Screen

    screen, subject = Screen(), surroundings.subject(args.engine)
    recipes = args.recipes if args.recipes is not None else QUICK_RECIPES if args.quick else RECIPES
    screen.say(f"qrita check: engine {subject.name} on {subject.device}; Ctrl-C ends it with a verdict")
    found = checking.check(
        subject,
        schedule.stages(recipes=recipes, seed=args.seed, max_vocab=args.max_vocab, quick=args.quick),
        checking.Reporter(screen, args.engine, args.failures),
        args.max_failures,
    )
    checking.report(found, screen)
    if args.json:
        args.json.write_text(verdict.to_json(found), encoding="utf-8")
    return {"passed": PASSED, "interrupted": INTERRUPTED}.get(found.state, FAILED)


def _whole(low: int, high: int) -> Callable[[str], int]:
    """A reader of whole numbers within bounds."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number from {low} to {high}")
        return value

    return read


def _prepare(json: Path | None, failures: Path | None) -> None:
    """Find out now, rather than after a minute, that a file cannot be written.

    Raises:
        UsageError: says which.
    """
    option = ""
    try:
        if failures is not None:
            option = "--failures"
            failures.mkdir(parents=True, exist_ok=True)
        if json is not None:
            option = "--json"
            json.touch()
    except OSError as error:
        raise UsageError(f"argument {option}: {error}") from None
