"""Measure the kernels on this machine's GPU, beside the floors that memory sets and other implementations.

With --quick, the rows of the table of targets, each met or missed: minutes. With --ablation, what each part of the
paper's kernel is worth: a minute or two. Without them, a grid of shapes, k, p, dtypes and kinds of rows: hours, in as
many runs as it takes, since each goes on where the file of --json ends. All that is compared takes turns in one run:
several calls to a CUDA graph, timed by events, on rows made for it.
"""

from __future__ import annotations

import argparse
import datetime
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from qrita.cli import bench_ablation
from qrita.cli.counting import counted
from qrita.cli.exits import FAILED, INTERRUPTED, PASSED, UsageError
from qrita.cli.interrupts import ending_at_once

if TYPE_CHECKING:
    from qrita.bench.contenders import Contender
    from qrita.bench.jobs import Job
    from qrita.bench.peers import Peers
    from qrita.bench.results import Book
    from qrita.bench.running import Machine
    from qrita.bench.timing import Timer
    from qrita.cli.screen import Screen

HELP = "measure the kernels on this GPU, beside memory's floors and other implementations"
REPEATS = 15
PEERS = ("torch-sort", "torch-topk", "vllm", "flashinfer")
"""As in `qrita.bench.peers`, known here without importing it, so that help comes at once."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--quick", action="store_true", help="the table of targets, met or missed, instead of the grid")
    parser.add_argument(
        "--ablation", action="store_true", help="the paper's table of what each part of the kernel is worth, and --hits"
    )
    parser.add_argument(
        "--hits",
        action="store_true",
        help="count the rows that truncation by sigma settles; with --device cpu in Triton's interpreter, for minutes",
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write every result there as it comes; a grid leaves out what the file has, --quick measures it anew",
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write all tables there")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="also draw there, as SVG and PNG; needs matplotlib")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME[=PATH]",
        help=f"another implementation: {', '.join(PEERS)}, with the folder or file that it is in, where it is not "
        "installed (default: all of them, where they are installed)",
    )
    parser.add_argument(
        "--report-only",
        action="store_true",
        help="measure nothing and need no GPU: the tables and plots of the file of --json",
    )
    parser.add_argument("--no-peers", action="store_true", help="none of them")
    parser.add_argument(
        "--repeats", type=_whole(1), default=REPEATS, metavar="N", help=f"of each time (default: {REPEATS})"
    )
    parser.add_argument("--seconds", type=_whole(1), metavar="N", help="start no job after that time")
    parser.add_argument("--device", default="cuda", help="torch's name of the GPU (default: cuda)")
    only = parser.add_argument_group("parts of the grid", "each takes several, with commas between them")
    only.add_argument("--rows", type=_several(int), metavar="N", help="batches (default: 1, 2, 4, ... 4096)")
    only.add_argument("--vocab", type=_several(int), metavar="N", help="tokens")
    only.add_argument("--dtype", type=_several(str), metavar="NAME", help="float32, bfloat16, float16")
    only.add_argument(
        "--family",
        type=_several(str),
        metavar="NAME",
        help="kinds of rows: normal, real, equal, two values, outlier, half masked",
    )
    only.add_argument("--case", type=_several(str), metavar="K:P", help="such as 50:0.9,:0.9,1000:")


def run(args: argparse.Namespace) -> int:
    """Measure, report, and return the exit status."""
    bench_ablation.refuse(args)
    if args.report_only:
        return _report(args, _read(args), False, _screen())
    if args.hits:
        return bench_ablation.hits(args, _screen())
    peers_wanted = _peers_wanted(["torch-sort"] if args.ablation else args.peer, args.no_peers)
    with ending_at_once():
        from qrita.bench import gpu, peers, running, surroundings

        jobs = _jobs(args)
        try:
            device = surroundings.gpu(args.device)
        except surroundings.NoGpuError as error:
            raise UsageError(str(error)) from None
        found = peers.find(peers_wanted)
        contenders = _contenders(args, found)
    screen = _screen()
    with running.settled(device) as machine:
        book = _book(args, machine, contenders, found)
        book, interrupted = _measured(args, book, jobs, contenders, gpu.GraphTimer(), machine, screen)
        if args.ablation and not interrupted:
            book, interrupted = bench_ablation.with_hits(book, device, screen)
    return _report(args, book, interrupted, screen)


def _screen() -> Screen:
    from qrita.cli.screen import Screen

    return Screen()


def _read(args: argparse.Namespace) -> Book:
    """The file, to be reported on.

    Raises:
        UsageError: there is none, or it is no book.
    """
    from qrita.bench.results import Book, BookError

    if args.json is None:
        raise UsageError("--report-only: expected --json FILE beside it, which has what was measured")
    try:
        return Book.from_json(args.json.read_text(encoding="utf-8"))
    except (BookError, OSError, UnicodeDecodeError) as error:
        raise UsageError(f"argument --json: {str(args.json)!r}: {error}") from None


def _jobs(args: argparse.Namespace) -> tuple[Job, ...]:
    from qrita.bench import jobs

    parts = {
        "batches": args.rows,
        "vocabs": args.vocab,
        "dtypes": args.dtype,
        "families": args.family,
        "cases": args.case and tuple(map(_case, args.case)),
    }
    given = {name: value for name, value in parts.items() if value}
    if args.ablation:
        from qrita.bench.ablation.runs import JOB

        return (JOB,)
    if args.quick:
        if given:
            raise UsageError("--quick: its jobs are those of the targets; expected no parts of the grid beside it")
        return jobs.quick()
    try:
        found = tuple(jobs.grid(**given))
    except jobs.JobError as error:
        raise UsageError(str(error)) from None
    if not found:
        raise UsageError(
            f"these parts of the grid have no job; expected --vocab {jobs.REAL_VOCAB} with real rows and another with "
            "all others, and a k below it"
        )
    return found


def _contenders(args: argparse.Namespace, peers: Peers) -> tuple[Contender, ...]:
    from qrita.bench.contenders import FLOORS, OURS

    return bench_ablation.contenders(peers.contenders) if args.ablation else (*FLOORS, *OURS, *peers.contenders)


def _book(args: argparse.Namespace, machine: Machine, contenders: tuple[Contender, ...], peers: Peers) -> Book:
    """What is known before anything is measured, with the results of the file.

    Raises:
        UsageError: the file cannot be used.
    """
    from qrita.bench import results, surroundings

    here = surroundings.here(machine.device, args.repeats)
    new = results.Book(
        here=surroundings.with_ablation(here) if args.ablation else here,
        command=shlex.join(["qrita", *sys.argv[1:]]),
        date=datetime.date.today().isoformat(),
        kinds={each.name: each.kind for each in contenders},
        about={each.name: each.about for each in contenders},
        peers=peers.versions,
        missing=peers.missing,
    )
    if args.json is None:
        return new
    try:
        book = results.read(args.json, new)
        results.write(args.json, book)
    except (results.BookError, OSError) as error:
        raise UsageError(f"argument --json: {str(args.json)!r}: {error}") from None
    return book


def _measured(
    args: argparse.Namespace,
    book: Book,
    jobs: tuple[Job, ...],
    contenders: tuple[Contender, ...],
    timer: Timer,
    machine: Machine,
    screen: Screen,
) -> tuple[Book, bool]:
    """The book with what was measured, and whether a person ended it."""
    from qrita.bench import results, running, text
    from qrita.bench.results import Result

    names = [each.name for each in contenders]
    to_do = list(jobs) if args.quick or args.ablation else book.to_do(jobs, names)
    screen.say(
        f"qrita bench: {len(to_do):,} of {len(jobs):,} jobs on {book.here.card}; contenders {', '.join(names)}; first "
        "calls compile; Ctrl-C ends it with a report"
    )
    for name, reason in book.missing.items():
        screen.say(f"  NOT HERE: {name}: {reason}")
    done, interrupted = 0, False
    try:
        over = running.deadline(args.seconds)
        for found in running.results(to_do, contenders, timer, machine, args.repeats, over):
            done += 1
            if isinstance(found, Result):
                book = book.with_result(found)
                screen.say(text.progress(found, done, len(to_do)))
            else:
                job, reason = found
                book = book.without(job, reason)
                screen.say(f"{done:>4} of {len(to_do)}  {job}: NOT RUN: {reason}")
            if args.json is not None:
                results.write(args.json, book)
    except KeyboardInterrupt:
        interrupted = True
    return book.ending_with(len(to_do) - done), interrupted


def _report(args: argparse.Namespace, book: Book, interrupted: bool, screen: Screen) -> int:
    from qrita.bench import plots, results, targets, text

    tables = bench_ablation.sections(book) if args.ablation else ()
    verdicts = [targets.judge(limit, book.results, book.here.card) for limit in targets.limits()] if args.quick else []
    if verdicts:
        screen.say()
        for line in text.aligned(text.verdicts(verdicts)):
            screen.say(line, style="bold red" if line.startswith("missed") else "")
    for line in bench_ablation.lines(book) if args.ablation else ():
        screen.say(line)
    fitted = [*text.aligned(text.lines(book))]
    missing, slower = [*text.not_run(book)], [*text.where_slower(book)]
    for title, said in ((text.LINES, fitted), ("not run:", missing), ("slower than a peer:", slower)):
        if said:
            screen.say(f"\n{title}")
            for line in said:
                screen.say(f"  {line}")
    failed = bool(book.left or book.skipped) or any(verdict.state != "met" for verdict in verdicts)
    failed |= args.ablation and bench_ablation.incomplete(book)
    try:
        if args.json is not None and not args.report_only:
            results.write(args.json, book)
        if args.markdown is not None:
            args.markdown.write_text(text.document(book, verdicts, tables), encoding="utf-8")
        if args.plots is not None:
            for file in plots.draw(book, args.plots):
                screen.say(f"wrote {file}")
    except (plots.PlotError, OSError) as error:
        screen.say(f"qrita bench: {error}", style="bold red")
        failed = True
    what = f": {text.count(verdicts)}" if verdicts else f": {counted(len(book.results), 'jobs')} measured"
    ended = ", INTERRUPTED" if interrupted else ""
    screen.say(f"\nqrita bench{ended}{what}; {book.here.card}", style="bold")
    return INTERRUPTED if interrupted else FAILED if failed else PASSED


def _peers_wanted(given: list[str], none: bool) -> dict[str, str | None]:
    if none and given:
        raise UsageError("--no-peers: expected no --peer beside it")
    named = {name: path or None for name, _, path in (each.partition("=") for each in given)}
    for name in named:
        if name not in PEERS:
            raise UsageError(f"argument --peer: {name!r}: expected one of {', '.join(PEERS)}")
    if none:
        return {}
    return named if named else dict.fromkeys(PEERS)


def _case(text: str) -> tuple[int | None, float | None]:
    k, colon, p = text.partition(":")
    try:
        if colon and (k or p):
            return int(k) if k else None, float(p) if p else None
    except ValueError:
        pass
    raise UsageError(f"argument --case: {text!r}: expected K:P, of which one may be missing, such as 50:0.9 or :0.9")


def _whole(low: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < low:
            raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number of at least {low:,}")
        return int(text)

    return read


def _several(kind: Callable[[str], int | str]) -> Callable[[str], tuple[int | str, ...]]:
    def read(text: str) -> tuple[int | str, ...]:
        try:
            return tuple(kind(each.strip()) for each in text.split(",") if each.strip())
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r}: expected whole numbers with commas between them") from None

    return read
