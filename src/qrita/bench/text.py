"""Results and verdicts as lines: for a person who waits, and as Markdown for a document."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from qrita.bench.lines import FLOOR, Line, Scaling, scalings
from qrita.bench.results import Book, Result
from qrita.bench.targets import Verdict, slower
from qrita.bench.timing import Timed
from qrita.bench.tuner import Step
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


LINES = (
    "Cost as a line: time = fixed + bytes / speed. Bytes are those of the logits, twice for a mask and a copy, which "
    "read and write them, once for candidates and a read. Fitted by least squares of relative errors, the largest of "
    'which is "off by".'
)


def lines(book: Book) -> list[list[str]]:
    """A table of fitted lines beside those of their floors, heading first; empty where too few sizes were measured."""
    rows = [_scaling(found) for found in scalings(book.results)]
    line = ["fixed, us", "TB/s", "off by"]
    return [["rows", "k, p", "work", *line, "floor", *line], *rows] if rows else []


def _scaling(found: Scaling) -> list[str]:
    first, last = found.first, found.last
    counts = f"{first.rows:,} to {last.rows:,}" if found.along == "rows" else f"{first.rows:,}"
    vocabs = f"{first.vocab:,} to {last.vocab:,}" if found.along == "vocab" else f"{first.vocab:,}"
    shape = f"{counts} x {vocabs} {first.dtype} {first.family}, {counted(found.line.sizes, 'sizes')}"
    floor = _line(found.floor) if found.floor else ["-", "-", "-"]
    return [shape, first.asked, found.contender, *_line(found.line), FLOOR[found.contender], *floor]


def _line(line: Line) -> list[str]:
    speed = "level" if math.isinf(line.speed) else f"{line.speed / 1e6:.3g}"
    return [time(line.fixed), speed, f"{line.deviation:.0%}"]


def tried(step: Step) -> Iterator[list[str]]:
    """Rows of the table of what was tried, whose heading is `TRIED`."""
    yield [step.field, str(step.before), "in use", "1", "", ""]
    for trial in (*step.trials, *([step.again] if step.again else [])):
        again = " again" if trial is step.again else ""
        jobs = sorted(trial.shares, key=lambda job: trial.shares[job])
        ends = [f"{trial.shares[job]:.3f} {job}" for job in (jobs[0], jobs[-1])] if jobs else ["", ""]
        mean = f"{trial.mean:.3f}" if jobs else ""
        yield [step.field, f"{trial.value}{again}", step.verdict(trial), mean, *ends]


TRIED = ["figure", "value", "verdict", "mean", "best job", "worst job"]
"""The heading of that table. Its numbers are times in units of that with the figures in use."""


def compared(step: Step) -> Iterator[str]:
    """A sentence for each value that was tried, for an entry."""
    for trial in step.trials:
        said = step.verdict(trial)
        if trial.shares:
            some = trial.shares.values()
            said += f", {trial.mean:.3f} x its time in {counted(len(some), 'jobs')}, {min(some):.3f} to {max(some):.3f}"
        if step.again is not None and step.again.shares and trial.value == step.again.value:
            said += f"; measured again {step.again.mean:.3f}"
        yield f"{step.field} {trial.value} against {step.before}: {said}"


def left_out(step: Step) -> Iterator[str]:
    """What could not be measured, each reason once for a value."""
    for job, reason in step.failed.items():
        yield f"{step.field}, {job}: {reason}"
    for trial in (*step.trials, *([step.again] if step.again else [])):
        for reason in dict.fromkeys(trial.failed.values()):
            jobs = [job for job, other in trial.failed.items() if other == reason]
            yield f"{step.field} {trial.value}, in {counted(len(jobs), 'jobs')}, first {jobs[0]}: {reason}"


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


def document(book: Book, found: Sequence[Verdict], tables: Iterable[str] = ()) -> str:
    """All of it as Markdown, with further tables before the times."""
    versions = ", ".join(f"{name} {version}" for name, version in {**book.here.versions, **book.peers}.items())
    said = [
        f"{book.here.card}, {book.date}; {versions}. `{book.command}`",
        "",
        f"Microseconds a call: the median of {book.here.repeats} repeats, the 10th and the 90th percentile.",
        "",
    ]
    if found:
        said += [f"Targets: {count(found)}.", "", *markdown(verdicts(found)), ""]
    said += tables
    if book.results:
        said += [*markdown(times(book)), ""]
        if fitted := lines(book):
            said += [LINES, "", *markdown(fitted), ""]
        said += [f"- `{name}`: {about}" for name, about in book.about.items()]
        states = dict.fromkeys(f"{job.shape}: {result.cache}" for job, result in book.results.items())
        said += ["", "The L2:", "", *(f"- {state}" for state in states)]
    for title, more in (("Not run:", [*not_run(book)]), ("Slower than a peer:", [*where_slower(book)])):
        if more:
            said += ["", title, "", *(f"- {line}" for line in more)]
    return "\n".join(said) + "\n"
