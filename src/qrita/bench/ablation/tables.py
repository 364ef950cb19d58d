"""The tables: the runs beside the paper's, what a part is worth, and how often truncation hits."""

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


PAIRS = (
    ("fixed blocks instead of tuned ones", "B", "A"),
    ("duplicates off", "C", "B-bench"),
    ("a miss instead of a hit", "D", "C"),
    ("no truncation instead of a hit", "E", "C"),
    ("a miss instead of no truncation", "D", "E"),
    ("one pivot instead of three, after a hit", "F", "C"),
    ("one pivot instead of three, after a miss", "G", "D"),
    ("a sort instead of three pivots", "I", "C"),
    ("torch's sort instead of all", "J", "A"),
    ("the package's own miss instead of its hit", "miss", "A"),
    ("the package's own search of whole rows instead of a hit", "none", "A"),
    ("groups instead of a hit by sigma", "groups", "A"),
)
"""What a part is worth: a run, and the one without that part. B-bench, which the paper has not, is its B."""


def pairs(book: Book) -> list[list[str]]:
    """How many times as long a run takes as another: the paper's, and here."""
    result = book.results.get(JOB)
    rows = [["part", "runs", "paper", "here"]]
    for part, run, other in PAIRS:
        mine, theirs = PAPERS.get(run), PAPERS.get("B" if other == "B-bench" else other)
        share = result.share(run, other) if result else None
        paper = f"{mine / theirs:.2f}" if mine and theirs else "-"
        rows.append([part, f"{run} / {other}", paper, f"{share:.2f}" if share else "-"])
    return rows


def hits(found: Iterable[Hits]) -> list[list[str]]:
    """Rows of one kind with one k or p a row, heading first; a column for each room."""
    some = list(found)
    rooms = [*dict.fromkeys(each.room for each in some)]
    shares = {(each.job, each.room): f"{each.hits:,} of {each.job.rows:,}" for each in some}
    jobs = dict.fromkeys(each.job for each in some)
    heading = ["rows", "k, p", *(f"hits with room for {'all' if room is None else f'{room:,}'}" for room in rooms)]
    return [heading, *([job.shape, job.asked, *(shares.get((job, room), "-") for room in rooms)] for job in jobs)]


def sections(book: Book) -> Iterator[str]:
    """All as Markdown, for the document of a run."""
    yield "The paper's runs, on an H100 and here. NOT EXACT: keeps every token that is equal to the last one it should."
    yield ""
    yield from text.markdown(runs(book))
    yield ""
    yield from text.markdown(pairs(book))
    yield ""
    if book.hits:
        yield "Rows that truncation by sigma settles:"
        yield ""
        yield from text.markdown(hits(book.hits))
        yield ""
