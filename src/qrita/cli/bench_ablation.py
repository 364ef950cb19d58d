"""What `qrita bench --ablation` and `--hits` do beyond measuring: usage, contenders, counting hits, tables."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qrita.cli.exits import FAILED, INTERRUPTED, PASSED, UsageError
from qrita.cli.interrupts import ending_at_once

if TYPE_CHECKING:
    import torch

    from qrita.bench.contenders import Contender
    from qrita.bench.jobs import Job
    from qrita.bench.results import Book, Hits
    from qrita.cli.screen import Screen

NORMAL_ROWS, INTERPRETED_ROWS = 1024, 8
"""Rows of normal logits whose hits are counted: on a GPU, and in Triton's interpreter, which takes seconds for each."""

PARTS = ("rows", "vocab", "dtype", "family", "case")
NOT_BESIDE = {
    "ablation": ("quick", "hits", "plots", "peer", "no_peers", *PARTS),
    "hits": ("quick", "json", "plots", "peer", "no_peers", "report_only", "seconds", *PARTS),
}


def refuse(args: argparse.Namespace) -> None:
    """Options that have no meaning beside one of the two.

    Raises:
        UsageError: there is one.
    """
    for mode, others in NOT_BESIDE.items():
        for other in others:
            if getattr(args, mode) and getattr(args, other):
                raise UsageError(f"--{mode}: expected no --{other.replace('_', '-')} beside it")


def contenders(peers: Sequence[Contender]) -> tuple[Contender, ...]:
    """The runs, where Triton is."""
    from qrita.bench.ablation.contenders import contenders as found

    return found(peers)


def with_hits(book: Book, device: torch.device, screen: Screen) -> tuple[Book, bool]:
    """The book with the hits, and whether a person ended the counting."""
    from qrita.bench.results import Hits

    counted: list[Hits] = []
    interrupted = False
    try:
        for found in _counted(device, NORMAL_ROWS if device.type == "cuda" else INTERPRETED_ROWS):
            if isinstance(found, Hits):
                counted.append(found)
                room = "all" if found.room is None else f"{found.room:,}"
                screen.say(f"  {found.job}, room for {room}: {found.hits:,} of {found.job.rows:,} rows hit")
            else:
                job, reason = found
                book = book.without(job, reason)
                screen.say(f"  {job}: NOT RUN: {reason}")
    except KeyboardInterrupt:
        interrupted = True
    return replace(book, hits=tuple(counted)), interrupted


def _counted(device: torch.device, normal_rows: int) -> Iterator[Hits | tuple[Job, str]]:
    from qrita.bench.ablation import hits

    for job in hits.jobs(normal_rows):
        for room in hits.ROOMS:
            try:
                yield hits.count(job, device, room)
            except RuntimeError as error:  # of the card, which may serve the next job
                yield job, f"hits with room for {room or 'all'}: {type(error).__name__}: {error}".splitlines()[0]


def lines(book: Book) -> Iterator[str]:
    """The tables, for a person who waits."""
    from qrita.bench import text
    from qrita.bench.ablation import tables

    yield ""
    yield from text.aligned(tables.runs(book))
    yield ""
    yield from text.aligned(tables.pairs(book))
    if book.hits:
        yield ""
        yield from text.aligned(tables.hits(book.hits))


def incomplete(book: Book) -> bool:
    """Whether a run of the table has no time."""
    return bool(book.missing) or any(result.not_run for result in book.results.values())


def sections(book: Book) -> Iterator[str]:
    """The tables, as Markdown."""
    from qrita.bench.ablation import tables

    return tables.sections(book)


def hits(args: argparse.Namespace, screen: Screen) -> int:
    """`qrita bench --hits`: on a GPU, or on the CPU in Triton's interpreter.

    Raises:
        UsageError: there is no such device, or no Triton.
    """
    with ending_at_once():
        import torch

        from qrita import engines
        from qrita.bench import surroundings, text
        from qrita.bench.ablation import tables
        from qrita.bench.results import Book

        try:
            if args.device == "cpu":
                engines.named("interpreter")
                device = torch.device("cpu")
            else:
                device = surroundings.gpu(args.device)
        except (surroundings.NoGpuError, RuntimeError) as error:
            raise UsageError(str(error)) from None
    empty = Book(surroundings.here(str(device), args.repeats), "", "")
    book, interrupted = with_hits(empty, device, screen)
    for line in text.aligned(tables.hits(book.hits)):
        screen.say(line)
    if args.markdown is not None:
        said = [f"{book.here.card}", "", *text.markdown(tables.hits(book.hits)), *text.not_run(book)]
        args.markdown.write_text("\n".join(said) + "\n", encoding="utf-8")
    ended = ", INTERRUPTED" if interrupted else ""
    screen.say(f"\nqrita bench{ended}: hits of truncation by sigma; {book.here.card}", style="bold")
    return INTERRUPTED if interrupted else FAILED if book.skipped else PASSED
