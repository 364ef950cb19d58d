"""Run one case again: show the row around its cut, the oracle's answer beside the engine's, and what still fails.

A case is a line of JSON as `qrita check` prints it, a file that holds one (--failures writes such files), or - for
standard input.
"""

from __future__ import annotations

import argparse

from qrita.cli.exits import FAILED, PASSED
from qrita.cli.interrupts import ending_at_once

HELP = "run one case again, and show where the answers part"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("case", metavar="FILE_OR_JSON", help="the case: JSON, a file, or - for standard input")
    parser.add_argument(
        "--engine",
        metavar="NAME",
        help="the engine to try, or MODULE:ATTRIBUTE for one of your own (default: the best found here)",
    )


def run(args: argparse.Namespace) -> int:
    """Replay, report, and return the exit status."""
    with ending_at_once():
        from qrita.cli import replaying, surroundings
        from qrita.cli.items import read
        from qrita.cli.screen import Screen

        item = read(args.case)
        subject = surroundings.subject(args.engine)
    replayed = replaying.replay(subject, item)
    screen = Screen()
    for line, style in replaying.lines(replayed):
        screen.say(line, style)
    return FAILED if replayed.faults else PASSED
