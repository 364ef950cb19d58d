"""The tables: the runs beside the paper's, and how often truncation hits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from qrita.bench import text
from qrita.bench.ablation.runs import JOB, RUNS, Run
from qrita.bench.results import Book, Hits

PAPERS = {run.name: run.paper for run in RUNS if run.paper is not None}
"""Milliseconds on an H100."""


def runs(book: Book) -> list[list[str]]:
    """A run a row, heading first: its parts, what it promises, times, and both in units of run A."""
    heading = ["run", "truncation", "search", "duplicates", "blocks", "kernels", "answer"]
    return [[*heading, "paper, ms", "x A", "here, us", "x A"], *(_cells(run, book) for run in RUNS)]


def _cells(run: Run, book: Book) -> list[str]:
    result = book.results.get(JOB)
    timed = result.times.get(run.name) if result else None
    share = result.share(run.name, "A") if result else None
    parts = [run.truncation, run.search, "on" if run.duplicates else "off", "tuned" if run.tuned else "fixed", run.by]
    if run.by == "torch":
        parts = [run.truncation, run.search, "-", "-", run.by]
    paper = ["-", "-"] if run.paper is None else [f"{run.paper:.3f}", f"{run.paper / PAPERS['A']:.2f}"]
    here = [text.cell(timed) if timed else "-", f"{share:.2f}" if share else "-"]
    return [run.name, *parts, run.kind, *paper, *here]


def hits(found: Iterable[Hits]) -> list[list[str]]:
    """Rows of one kind with one k or p a row, heading first; a column for each room."""
    some = list(found)
    rooms = [*dict.fromkeys(each.room for each in some)]
    shares = {(each.job, each.room): f"{each.hits:,} of {each.job.rows:,}" for each in some}
    jobs = dict.fromkeys(each.job for each in some)
    heading = ["rows", "k, p", *(f"hits with room for {'all' if room is None else f'{room:,}'}" for room in rooms)]
    return [heading, *([job.shape, job.asked, *(shares.get((job, room), "-") for room in rooms)] for job in jobs)]


def sections(book: Book) -> Iterator[str]:
    """Both as Markdown, for the document of a run."""
    yield "The paper's runs, on an H100 and here. NOT EXACT: keeps every token that is equal to the last one it should."
    yield ""
    yield from text.markdown(runs(book))
    yield ""
    if book.hits:
        yield "Rows that truncation by sigma settles:"
        yield ""
        yield from text.markdown(hits(book.hits))
        yield ""
