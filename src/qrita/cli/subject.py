"""The options that choose what is tested, for every command that tests something."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from qrita.cli.exits import UsageError

if TYPE_CHECKING:
    from qrita.testing.testers import Tester

SECONDS = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--subject",
        metavar="NAME",
        help="what to try: one of our engines (torch, triton, interpreter), held to a plan (triton:sigma) too; another "
        "implementation (torch-sort, torch-topk, vllm, flashinfer, flashinfer-top-k); or MODULE:ATTRIBUTE for one of "
        "your own, as docs/peers.md explains (default: the best engine found here)",
    )
    parser.add_argument(
        "--subject-path",
        metavar="PATH",
        help="a folder to import it from, or the file that it is, where it is not installed",
    )
    parser.add_argument(
        "--subject-timeout",
        type=_seconds,
        default=SECONDS,
        metavar="SECONDS",
        help="how long one property may take on one case before another's implementation counts as hung "
        f"(default: {SECONDS:g}); our own engines run in this process and have no limit",
    )


def tester(args: argparse.Namespace) -> Tester:
    """What tries properties on the subject that the options name: in this process for our engines, else in its own.

    Raises:
        UsageError: there is no such subject, or it cannot be loaded.
    """
    from qrita import engines
    from qrita.testing.foreign.loading import SubjectError, is_ours, load
    from qrita.testing.foreign.worker import Worker
    from qrita.testing.subjects import Subject
    from qrita.testing.testers import Here

    name = args.subject
    try:
        if name is None:
            best, device = engines.best()
            return Here(Subject(best.name, best, str(device)))
        if is_ours(name):
            ours = load(name, None)
            assert isinstance(ours, Subject)
            return Here(ours)
        return Worker(name, args.subject_path, args.subject_timeout)
    except SubjectError as error:
        raise UsageError(f"argument --subject: {error}") from None
    except (ValueError, RuntimeError) as error:
        raise UsageError(str(error)) from None


def again(args: argparse.Namespace) -> list[str]:
    """The options that choose the same subject again."""
    options = [] if args.subject is None else ["--subject", args.subject]
    if args.subject_path is not None:
        options += ["--subject-path", args.subject_path]
    if args.subject_timeout != SECONDS:
        options += ["--subject-timeout", f"{args.subject_timeout:g}"]
    return options


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value <= 86_400.0:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number of seconds above 0, at most 86,400")
    return value
