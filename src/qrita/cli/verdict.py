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
from qrita.testing.foreign.contract import Contract, unpromised
from qrita.testing.properties import PROPERTIES
from qrita.testing.sweep import FAULTS, Status

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
        """The properties that failed, with the kind of failure where that is not a wrong answer."""
        return ", ".join(f"{fault.name}{_KIND.get(fault.status, '')}" for fault in self.faults)


_KIND = {
    "crashed": " (raised)",
    "hung": " (hung)",
    "input changed": " (input changed)",
    "wrong form": " (wrong form)",
}


@dataclass(frozen=True)
class Minimal:
    """The smallest case found on which a property fails in one way, as JSON, and the command that shows it again.

    Attributes:
        shrunk: whether smaller ones were looked for. A case that hangs, or ends the process, is kept as it was met.
    """

    property: str
    status: Status
    found: str
    case: str
    replay: str
    shrunk: bool


@dataclass(frozen=True)
class Tally:
    """One property in numbers of cases.

    Attributes:
        faults: by kind of failure: "failed" (a wrong answer), "crashed", "hung", "input changed", "wrong form".
        reasons: why cases were not promised or not run, each with its number.
    """

    passed: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    not_promised: int = 0
    not_run: int = 0
    reasons: dict[str, int] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """Failures of every kind."""
        return sum(self.faults.values())

    @property
    def checks(self) -> int:
        """How many comparisons were made."""
        return self.passed + self.failed


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
        properties: every property that was tried, or that is not promised.
        failures: the cases that failed.
        minimal: one small case for each way in which a property fails.
        restarts: how often the process of a foreign subject had to be started again.
        ended: "" where everything planned was run; else why not.
    """

    surroundings: Surroundings
    parts: tuple[Part, ...]
    properties: dict[str, Tally]
    failures: tuple[Failure, ...]
    seconds: float
    minimal: tuple[Minimal, ...] = ()
    restarts: int = 0
    ended: str = ""
    format: int = field(default=2)

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
        return sum(tally.checks for tally in self.properties.values())


def judge(
    here: Surroundings,
    stages: Sequence[Stage],
    results: Sequence[Result],
    failures: Sequence[Failure],
    *,
    seconds: float,
    ended: str,
    minimal: Sequence[Minimal] = (),
    restarts: int = 0,
) -> Verdict:
    """The verdict on what was planned and what came of it."""
    parts = tuple(_part(stage, [result for result in results if result.stage == stage.name]) for stage in stages)
    complete = all(part.run == part.planned for part in parts)
    tallies = {**_unpromised(here, len(results)), **_tallies(results)}
    properties = {name: tallies[name] for name in sorted(tallies, key=_place)}
    return Verdict(
        here, parts, properties, tuple(failures), seconds, tuple(minimal), restarts, "" if complete else ended
    )


def _place(name: str) -> tuple[int, str]:
    """The order of the properties; what is none of them ("build") comes last."""
    names = [*PROPERTIES]
    return (names.index(name) if name in names else len(names), name)


def _part(stage: Stage, results: Sequence[Result]) -> Part:
    failed = sum(bool(result.faults) for result in results)
    return Part(stage.name, stage.words, len(stage.trials), len(results), failed)


def _tallies(results: Iterable[Result]) -> dict[str, Tally]:
    findings = [finding for result in results for finding in result.findings]
    tallies = {}
    for name in dict.fromkeys(finding.name for finding in findings):
        mine = [finding for finding in findings if finding.name == name]
        counts = Counter(finding.status for finding in mine)
        tallies[name] = Tally(
            passed=counts["passed"],
            faults={status: counts[status] for status in FAULTS if counts[status]},
            not_promised=counts["not promised"],
            not_run=counts["not run"],
            reasons=dict(Counter(finding.found for finding in mine if finding.status in ("not promised", "not run"))),
        )
    return tallies


def _unpromised(here: Surroundings, cases: int) -> dict[str, Tally]:
    """The properties that the contract says nothing about, whatever the case."""
    if here.contract is None:
        return {}
    reasons = {name: unpromised(here.contract, name) for name in PROPERTIES}
    return {
        name: Tally(not_promised=cases, reasons={reason: cases}) for name, reason in reasons.items() if reason and cases
    }


def to_json(verdict: Verdict) -> str:
    """The verdict as one JSON object, indented."""
    record = {"verdict": verdict.state, "checks": verdict.checks, **asdict(verdict)}
    for failure in (*record["failures"], *record["minimal"]):
        failure["case"] = json.loads(failure["case"])  # an object, as in the files of --failures
    return json.dumps(record, indent=1) + "\n"


def lines(verdict: Verdict) -> Iterator[str]:
    """What a person reads, without the first line (`headline`)."""
    here, tried = verdict.surroundings, [tally for tally in verdict.properties.values() if tally.checks]
    yield _line("subject" if here.contract else "engine", f"{here.subject} on {here.device}: {here.card}")
    if here.about:
        yield _line("called", here.about)
    if here.contract:
        yield _line("promised", promises(here.contract))
    if here.plan:
        yield _line("plan", here.plan)
    yield _line("versions", ", ".join(f"{name} {version}" for name, version in here.versions.items()))
    for part in verdict.parts:
        missing = "" if part.run == part.planned else f" of {part.planned:,}"
        words = f": {part.words}" if part.planned else ""
        yield _line(part.name, f"{part.run:,}{missing}{words}")
    how = "by its contract" if here.contract else "bit for bit"
    properties = counted(len(tried), "properties", "property")
    yield _line("checks", f"{counted(verdict.checks, 'comparisons')}, {how}, by {properties}")
    for name, tally in verdict.properties.items():
        if tally.not_run:
            yield _line("not run", f"{name}: {', '.join(tally.reasons)}")
    if verdict.restarts:
        yield _line("restarted", f"{counted(verdict.restarts, 'times')}: the subject's process hung or ended")
    if verdict.ended:
        yield _line("not run", f"{_missing(verdict.parts)}: {verdict.ended}")
    if verdict.failures:
        counts = Counter(fault.name for failed in verdict.failures for fault in failed.faults)
        yield _line("failed", ", ".join(f"{name} {count:,}" for name, count in counts.most_common()))
    if here.contract:
        yield from _table(verdict.properties)
    for minimal in verdict.minimal:
        yield f"  smallest   {minimal.property}{_KIND.get(minimal.status, '')}: {minimal.found}"
        yield f"             {minimal.replay}"


def promises(contract: Contract) -> str:
    """The promises of a contract that decide how sets are compared, in a line."""
    if contract.tolerance is None or not contract.top_p:
        tolerance = ""
    else:
        tolerance = f"; p within {contract.tolerance:.3g} + {contract.tolerance_growth:.3g} * sqrt(vocab)"
    ties = f"of ties {contract.ties}" if contract.ties != "lowest index first" else "ties by lowest index"
    return f"{', '.join(contract.outputs)}; {', '.join(contract.dtypes)}; {contract.order}; {ties}{tolerance}"


def _table(properties: dict[str, Tally]) -> Iterator[str]:
    yield ""
    yield f"  {'property':<18} {'passed':>8} {'failed':>8} {'not promised':>13} {'not run':>8}"
    for name, tally in properties.items():
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in tally.faults.items() if kind != "failed")
        why = "; ".join(f"{reason} {count:,}" for reason, count in tally.reasons.items()) if tally.checks else ""
        why = why or "; ".join(tally.reasons)
        note = "; ".join(filter(None, (kinds, why)))
        yield (
            f"  {name:<18} {tally.passed:>8,} {tally.failed:>8,} {tally.not_promised:>13,} {tally.not_run:>8,}"
            + (f"  {note}" if note else "")
        )


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
