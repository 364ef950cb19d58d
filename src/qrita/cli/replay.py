"""Run one case again: show the row around its cut, the oracle's answer beside the engine's, and what still fails.

A case is a line of JSON as `qrita check` prints it, a file that holds one (--failures writes such files), or - for
standard input.
"""

from __future__ import annotations

import argparse
from contextlib import closing

from qrita.cli import replay_everywhere, replay_saving, subject
from qrita.cli.exits import FAILED, PASSED
from qrita.cli.interrupts import ending_at_once

HELP = "run one case again, and show where the answers part"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("case", metavar="FILE_OR_JSON", help="the case: JSON, a file, or - for standard input")
    subject.add_arguments(parser)
    replay_everywhere.add_arguments(parser)
    replay_saving.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Replay, report, and return the exit status."""
    replay_saving.check(args)
    replay_everywhere.check(args)
    if args.everywhere:
        return _everywhere(args)
    with ending_at_once():
        from qrita.cli import replaying
        from qrita.cli.items import read
        from qrita.cli.screen import Screen

        item = read(args.case)
        tester = subject.tester(args)
        saved = replay_saving.save(args, item) if args.save_vector else None
    with closing(tester):
        replayed = replaying.replay(tester, item)
    screen = Screen()
    if saved:
        screen.say(saved)
    for line, style in replaying.lines(replayed):
        screen.say(line, style)
    return FAILED if replayed.faults else PASSED


def _everywhere(args: argparse.Namespace) -> int:
    """Replay on every engine, and return the exit status."""
    with ending_at_once():
        from qrita.cli.findings import case
        from qrita.cli.items import read
        from qrita.cli.screen import Screen

        item = read(args.case)
    built = case(item)
    found = tuple(replay_everywhere.columns(item, built, args))
    screen = Screen()
    for line, style in replay_everywhere.lines(item, built, found):
        screen.say(line, style)
    return FAILED if any(column.is_fault for column in found) else PASSED
