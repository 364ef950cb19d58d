"""The verdict of `qrita check`: a record, made from results, that becomes lines for a person or JSON for a program."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

from qrita.cli.counting import counted
from qrita.cli.findings import Finding
from qrita.cli.schedule import Stage
from qrita.cli.surroundings import Surroundings

State = Literal["passed", "failed", "interrupted", "nothing run"]


@dataclass(frozen=True)
class Result:
    """What became of one case: its stage, the record that builds it as JSON, its findings."""

    stage: str
    item: str
    findings: tuple[Finding, ...]

    @property
    def faults(self) -> tuple[Finding, ...]:
        """The findings that are failures."""
        return tuple(finding for finding in self.findings if finding.is_fault)


@dataclass(frozen=True)
class Failure:
    """One case that failed, as JSON, and the command that shows it again."""

    stage: str
    case: str
    faults: tuple[Finding, ...]
    replay: str

    @property
    def names(self) -> str:
        """The properties that failed; "raised" marks those in which the engine raised an exception."""
        return ", ".join(f"{fault.name} (raised)" if fault.status == "crashed" else fault.name for fault in self.faults)


@dataclass(frozen=True)
class Part:
    """A stage of the check in numbers: cases planned, run and failed."""

    name: str
    words: str
    planned: int
    run: int
    failed: int


@dataclass(frozen=True)
class Verdict:
    """What a check found.

    Attributes:
        parts: the stages.
        tried: how many cases each property was tried on.
        not_run: why a property could not be tried here, where that is so.
        failures: the cases that failed.
        ended: "" where everything planned was run; else why not.
    """

    surroundings: Surroundings
    parts: tuple[Part, ...]
    tried: dict[str, int]
    not_run: dict[str, str]
    failures: tuple[Failure, ...]
    seconds: float
    ended: str = ""
    format: int = field(default=1)

    @property
    def state(self) -> State:
        """Passed only where something was run and nothing of what was planned is missing."""
        if self.failures:
            return "failed"
        if self.ended:
            return "interrupted"
        return "passed" if self.checks else "nothing run"

    @property
    def checks(self) -> int:
        """How many comparisons were made."""
        return sum(self.tried.values())


def judge(
    here: Surroundings,
    stages: Sequence[Stage],
    results: Sequence[Result],
    failures: Sequence[Failure],
    *,
    seconds: float,
    ended: str,
) -> Verdict:
    """The verdict on what was planned and what came of it."""
    parts = tuple(_part(stage, [result for result in results if result.stage == stage.name]) for stage in stages)
    complete = all(part.run == part.planned for part in parts)
    tried, not_run = _tried(results)
    return Verdict(here, parts, tried, not_run, tuple(failures), seconds, "" if complete else ended)


def _part(stage: Stage, results: Sequence[Result]) -> Part:
    failed = sum(bool(result.faults) for result in results)
    return Part(stage.name, stage.words, len(stage.trials), len(results), failed)


def _tried(results: Iterable[Result]) -> tuple[dict[str, int], dict[str, str]]:
    """By property: on how many cases it was tried, and why it was not run."""
    counts: Counter[str] = Counter()
    reasons: dict[str, str] = {}
    for finding in (finding for result in results for finding in result.findings):
        if finding.status == "not run":
            reasons[finding.name] = finding.found
        else:
            counts[finding.name] += 1
    return dict(counts), reasons


def to_json(verdict: Verdict) -> str:
    """The verdict as one JSON object, indented."""
    record = {"verdict": verdict.state, "checks": verdict.checks, **asdict(verdict)}
    for failure in record["failures"]:
        failure["case"] = json.loads(failure["case"])  # an object, as in the files of --failures
    return json.dumps(record, indent=1) + "\n"


def lines(verdict: Verdict) -> Iterator[str]:
    """What a person reads, without the first line (`headline`)."""
    here, properties = verdict.surroundings, counted(len(verdict.tried), "properties", "property")
    yield _line("engine", f"{here.engine} on {here.device}: {here.card}")
    if here.plan:
        yield _line("plan", here.plan)
    yield _line("versions", ", ".join(f"{name} {version}" for name, version in here.versions.items()))
    for part in verdict.parts:
        missing = "" if part.run == part.planned else f" of {part.planned:,}"
        words = f": {part.words}" if part.planned else ""
        yield _line(part.name, f"{part.run:,}{missing}{words}")
    yield _line("checks", f"{counted(verdict.checks, 'comparisons')}, bit for bit, by {properties}")
    for name, reason in verdict.not_run.items():
        yield _line("not run", f"{name}: {reason}")
    if verdict.ended:
        yield _line("not run", f"{_missing(verdict.parts)}: {verdict.ended}")
    if verdict.failures:
        counts = Counter(fault.name for failed in verdict.failures for fault in failed.faults)
        yield _line("failed", ", ".join(f"{name} {count:,}" for name, count in counts.most_common()))


def headline(verdict: Verdict) -> str:
    """The verdict in one line."""
    cases = counted(sum(part.run for part in verdict.parts), "cases")
    outcome = f"{len(verdict.failures):,} of {cases} failed" if verdict.failures else cases
    seconds = "less than 1" if verdict.seconds < 1 else f"{verdict.seconds:,.0f}"
    return f"qrita check: {verdict.state.upper()}, {outcome} in {seconds} s"


def _line(name: str, text: str) -> str:
    return f"  {name:<10} {text}"


def _missing(parts: tuple[Part, ...]) -> str:
    return ", ".join(counted(part.planned - part.run, part.name) for part in parts if part.run < part.planned)
