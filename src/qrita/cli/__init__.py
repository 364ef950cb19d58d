"""The command `qrita`. Each command has a file of its own, which imports what it needs when it runs."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn

import qrita
from qrita.cli import bench, check, replay, report, tune
from qrita.cli.exits import BROKEN_PIPE, INTERRUPTED, USAGE, UsageError
from qrita.cli.interrupts import MESSAGE

COMMANDS = {command.__name__.rpartition(".")[2]: command for command in (check, replay, report, bench, tune)}

_EPILOG = """\
exit status: 0 passed, 1 failed, 2 wrong usage, 130 interrupted

The definition of every answer is docs/semantics.md in the source.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    try:
        status = _run(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
    except SystemExit as stop:  # argparse, after it has printed why
        return stop.code if isinstance(stop.code, int) else USAGE
    except KeyboardInterrupt:
        print(MESSAGE, file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains once more at exit
        return BROKEN_PIPE
    return status


def _run(arguments: list[str]) -> int:
    parser = _parser()
    if arguments and arguments[0] not in COMMANDS and not arguments[0].startswith("-"):
        parser.error(f"unknown command {arguments[0]!r}" + _near(arguments[0], COMMANDS, ", ".join(COMMANDS)))
    args, unknown = parser.parse_known_args(arguments)
    if args.command is None:
        if unknown:
            parser.error(_unknown(unknown[0], parser))
        parser.print_help(sys.stderr)
        return USAGE
    command: argparse.ArgumentParser = args.parser
    if unknown:
        command.error(_unknown(unknown[0], command))
    try:
        status: int = args.run(args)
    except UsageError as error:
        command.error(str(error))
    return status


class _Parser(argparse.ArgumentParser):
    """Errors end with the way to help."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: error: {message}\n(`{self.prog} --help` lists what there is)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="qrita",
        description="Exact, deterministic top-k / top-p truncation of LLM logits: try it on this machine.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"qrita {qrita.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, command in COMMANDS.items():
        added = commands.add_parser(
            name,
            help=command.HELP,
            description=command.__doc__,
            epilog=_EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.add_arguments(added)
        added.set_defaults(run=command.run, parser=added)
    return parser


def _unknown(argument: str, parser: argparse.ArgumentParser) -> str:
    options = [option for action in parser._actions for option in action.option_strings]
    return f"unknown argument {argument!r}" + _near(argument.partition("=")[0], options)


def _near(word: str, options: Iterable[str], expected: str = "") -> str:
    """The end of a message about a word that is none of the options."""
    near = difflib.get_close_matches(word, options, n=1)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; expected one of {expected}" if expected else ""
