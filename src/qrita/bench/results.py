"""What was measured, and the JSON file that holds it, from which a run goes on where an earlier one stopped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from qrita.bench.jobs import Job
from qrita.bench.timing import Timed

FORMAT = 1


class BookError(ValueError):
    """The file is no file of results, or another machine's. Says what to do."""


@dataclass(frozen=True)
class Result:
    """One job.

    Attributes:
        inputs: how many inputs took turns.
        cache: in which state they leave the card's L2, in words.
        times: contender to its time.
        not_run: contender to the reason.
    """

    job: Job
    inputs: int
    cache: str
    times: Mapping[str, Timed]
    not_run: Mapping[str, str] = field(default_factory=dict)

    def share(self, contender: str, other: str) -> float | None:
        """A contender's time in units of another's; None where either has none."""
        mine, theirs = self.times.get(contender), self.times.get(other)
        return mine.micros / theirs.micros if mine and theirs else None


@dataclass(frozen=True)
class Hits:
    """How many rows of a job truncation by sigma settles, with room for so many tokens above its threshold, or all."""

    job: Job
    room: int | None
    hits: int


@dataclass(frozen=True)
class Here:
    """What every result of a book shares: a resumed run has to have the same.

    Attributes:
        card, device: the hardware, in words, and torch's name of the device.
        versions: of what all contenders share, and of our own sources.
        repeats: of each time.
    """

    card: str
    device: str
    versions: Mapping[str, str]
    repeats: int


@dataclass(frozen=True)
class Book:
    """The results of one machine.

    Attributes:
        command, date: of the latest run that added to it.
        kinds, about: contender to what it is: "floor", "ours", "peer" or "ablation"; and what was called.
        peers: their versions.
        missing: peers that were asked for and are not there, with the reason.
        hits: of the ablation.
        skipped: jobs that could not be run at all, in words, with the reason.
        left: how many jobs were still to do when the latest run ended.
    """

    here: Here
    command: str
    date: str
    kinds: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    peers: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    results: Mapping[Job, Result] = field(default_factory=dict)
    hits: Sequence[Hits] = ()
    skipped: Mapping[Job, str] = field(default_factory=dict)
    left: int = 0

    def with_result(self, result: Result) -> Book:
        """One more."""
        return replace(self, results={**self.results, result.job: result})

    def without(self, job: Job, reason: str) -> Book:
        """One that could not be run."""
        return replace(self, skipped={**self.skipped, job: reason})

    def ending_with(self, left: int) -> Book:
        """The book of a run that leaves so many jobs."""
        return replace(self, left=left)

    def to_do(self, jobs: Iterable[Job], contenders: Iterable[str]) -> list[Job]:
        """The jobs that the book has not, or not with all of these contenders."""
        wanted = set(contenders)
        known = {job: {*result.times, *result.not_run} for job, result in self.results.items()}
        return [job for job in jobs if job not in self.skipped and not (job in known and wanted <= known[job])]

    def to_json(self) -> str:
        """The file's text."""
        shared = asdict(replace(self, results={}, skipped={}))
        results = [asdict(result) for result in self.results.values()]
        skipped = [{"job": asdict(job), "reason": reason} for job, reason in self.skipped.items()]
        text = json.dumps({"format": FORMAT, **shared, "results": results, "skipped": skipped}, indent=1)
        return f"{text}\n"

    @classmethod
    def from_json(cls, text: str) -> Book:
        """The book of a file.

        Raises:
            BookError: it is none.
        """
        try:
            given = json.loads(text)
            if given.pop("format") != FORMAT:
                raise BookError(f"expected format {FORMAT} of `qrita bench --json`")
            results = [_result(each) for each in given.pop("results")]
            skipped = {Job.from_dict(each["job"]): each["reason"] for each in given.pop("skipped")}
            hits = tuple(Hits(**{**each, "job": Job.from_dict(each["job"])}) for each in given.pop("hits", ()))
            here = Here(**given.pop("here"))
            by_job = {result.job: result for result in results}
            return cls(here, results=by_job, hits=hits, skipped=skipped, **given)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise BookError(f"not what `qrita bench --json` writes ({type(error).__name__}: {error})") from None


def _result(given: dict[str, Any]) -> Result:
    times = {name: Timed(**timed) for name, timed in given.pop("times").items()}
    return Result(job=Job.from_dict(given.pop("job")), times=times, **given)


def read(path: Path, new: Book) -> Book:
    """The book of a file with what is `new` of this run; `new` where there is no file, or nothing in it.

    Raises:
        BookError: the file is no book, or another machine's.
    """
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if not text.strip():
        return new
    old = Book.from_json(text)
    for name, before in asdict(old.here).items():
        now = asdict(new.here)[name]
        if before != now:
            raise BookError(f"it was made with {name} {before!r}, this is {now!r}; name another file or remove it")
    return replace(
        new,
        results=old.results,
        kinds={**old.kinds, **new.kinds},
        about={**old.about, **new.about},
    )


def write(path: Path, book: Book) -> None:
    """In one step, so that a run that is ended leaves all that it has done."""
    draft = path.with_name(f"{path.name}.new")
    draft.write_text(book.to_json(), encoding="utf-8")
    draft.replace(path)
