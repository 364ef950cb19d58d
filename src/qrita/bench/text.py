"""Results and verdicts as lines: for a person who waits, and as Markdown for a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from qrita.bench.results import Book, Result
from qrita.bench.targets import Verdict, slower
from qrita.bench.timing import Timed
from qrita.cli.counting import counted


def time(micros: float) -> str:
    """Microseconds with as many digits as mean something: 1.43, 18.2, 437, 14,160."""
    return f"{micros:,.0f}" if micros >= 100 else f"{micros:.3g}"


def cell(timed: Timed) -> str:
    """A time with its spread."""
    text = f"{time(timed.micros)} ({time(timed.low)} to {time(timed.high)})"
    return text if timed.graph else f"{text}, launched one by one"


def progress(result: Result, number: int, total: int) -> str:
    """A line for a job that is done: our times and the floor."""
    copy = result.times.get("copy")
    said = [f"copy {time(copy.micros)} us"] if copy else []
    for name in ("mask", "candidates"):
        if timed := result.times.get(name):
            share = result.share(name, "copy")
            said.append(f"{name} {time(timed.micros)} us" + (f" = {share:.2f} x copy" if share else ""))
        elif name in result.not_run and name == "mask":
            said.append(f"{name} NOT RUN: {result.not_run[name]}")
    return f"{number:>4} of {total}  {result.job}: {', '.join(said)}"


def verdicts(found: Sequence[Verdict]) -> list[list[str]]:
    """A table of targets, heading first."""
    rows = [["", "work", "rows", "target", "reached"]]
    for verdict in found:
        job = verdict.limit.job
        work = f"{verdict.limit.contender}, {job.asked}"
        reached = verdict.words + (f" ({verdict.reason})" if verdict.reason else "")
        rows.append([verdict.state, work, job.shape, verdict.limit.words, reached])
    return rows


def count(found: Sequence[Verdict]) -> str:
    """How many of each."""
    states = [verdict.state for verdict in found]
    return ", ".join(f"{states.count(state)} {state}" for state in ("met", "missed", "not judged"))


def times(book: Book) -> list[list[str]]:
    """A table of times in microseconds: a job a row, a contender a column."""
    names = [name for name in book.kinds if any(name in result.times for result in book.results.values())]
    rows = [["rows", "k, p", *names]]
    for job, result in book.results.items():
        cells = [cell(result.times[name]) if name in result.times else "-" for name in names]
        rows.append([job.shape, job.asked, *cells])
    return rows


def not_run(book: Book) -> Iterator[str]:
    """Everything that was asked for and did not run, each reason once with how often it was met."""
    for name, reason in book.missing.items():
        yield f"{name}: not here: {reason}"
    reasons: dict[tuple[str, str], int] = {}
    for result in book.results.values():
        for name, reason in result.not_run.items():
            reasons[name, reason] = reasons.get((name, reason), 0) + 1
    for (name, reason), times in reasons.items():
        yield f"{name}: not in {times:,} of {counted(len(book.results), 'jobs')}: {reason}"
    for job, reason in book.skipped.items():
        yield f"{job}: {reason}"
    if book.left:
        yield f"{counted(book.left, 'jobs')} left when the run ended; a grid with the same --json goes on with them"


def where_slower(book: Book) -> Iterator[str]:
    """Where a peer was faster than ours."""
    for job, ours, name, share in slower(book.results, book.kinds):
        yield f"{ours}, {job}: {share:.2f} x the time of {name}"


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines with columns of equal width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def markdown(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The same as a table of Markdown."""
    heading, *others = rows
    yield _row(heading)
    yield "|" + "---|" * len(heading)
    yield from map(_row, others)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"


def document(book: Book, found: Sequence[Verdict]) -> str:
    """All of it as Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in {**book.here.versions, **book.peers}.items())
    lines = [
        f"{book.here.card}, {book.date}; {versions}. `{book.command}`",
        "",
        f"Microseconds a call: the median of {book.here.repeats} repeats, the 10th and the 90th percentile.",
        "",
    ]
    if found:
        lines += [f"Targets: {count(found)}.", "", *markdown(verdicts(found)), ""]
    if book.results:
        lines += [*markdown(times(book)), ""]
        lines += [f"- `{name}`: {about}" for name, about in book.about.items()]
        states = dict.fromkeys(f"{job.shape}: {result.cache}" for job, result in book.results.items())
        lines += ["", "The L2:", "", *(f"- {state}" for state in states)]
    for title, said in (("Not run:", [*not_run(book)]), ("Slower than a peer:", [*where_slower(book)])):
        if said:
            lines += ["", title, "", *(f"- {line}" for line in said)]
    return "\n".join(lines) + "\n"
