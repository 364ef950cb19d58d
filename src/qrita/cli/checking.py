"""The work of `qrita check`: run the stages, say what failed as it fails, and come to a verdict."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from qrita.cli import surroundings, verdict
from qrita.cli.counting import counted
from qrita.cli.findings import Finding, Item, findings
from qrita.cli.interrupts import ending_at_once
from qrita.cli.schedule import Stage
from qrita.cli.screen import Screen, progress
from qrita.cli.smallest import Met, keep_shortest, smallest
from qrita.cli.verdict import Failure, Minimal, Result, Verdict
from qrita.report import checked
from qrita.report import record as records
from qrita.testing.properties import PROPERTIES
from qrita.testing.testers import Tester


@dataclass(frozen=True)
class Reporter:
    """Where failures go as they come: to the screen, and into a directory where one is given.

    Attributes:
        chosen: the options that choose the same subject again.
        subject: what --subject chose.
        records: where records of the smallest cases go.
    """

    screen: Screen
    chosen: tuple[str, ...]
    directory: Path | None
    subject: str | None = None
    records: Path | None = None

    def failure(self, failure: Failure, number: int) -> None:
        """Print one, and write it."""
        self.screen.say(f"FAILED {number}: {failure.names}", style="bold red")
        fault = failure.faults[0]
        self.screen.say(f"  {fault.name}: {fault.found}")
        self.screen.say(f"  replay: {failure.replay}")
        if self.directory is not None:
            name = f"{number:04}-{failure.stage.replace(' ', '-')}-{fault.name}.json"
            try:
                (self.directory / name).write_text(record(failure), encoding="utf-8")
            except OSError as error:  # the check is worth more than its files
                self.screen.say(f"  {name} cannot be written: {error.strerror or error}", style="bold red")

    def smallest(self, tester: Tester, item: Item, fault: Finding) -> None:
        """Write a record of the smallest case that fails in one way. Trying it again can fail: the check goes on."""
        if self.records is None or fault.name not in PROPERTIES:
            return
        try:
            again = self.replay_command(item.to_json())
            found = checked.record(tester, item, fault, subject=self.subject, again=again)
            self.screen.say(f"  record: {records.write(found, self.records)}")
        except Exception as error:
            self.screen.say(f"  no record of {fault.name}: {type(error).__name__}: {error}", style="bold red")

    def replay_command(self, item: str) -> str:
        """What to type to see a case again."""
        return quoted([*surroundings.program(), "replay", *self.chosen, item])


def check(tester: Tester, stages: tuple[Stage, ...], reporter: Reporter, max_failures: int) -> Verdict:
    """Run the stages until they end, until a person ends them, or until enough has failed."""
    with ending_at_once():  # the first call of an engine imports more
        here = surroundings.find(tester.described)  # first: an engine that cannot say how it works ends it here
    start, ended = time.monotonic(), ""
    results: list[Result] = []
    failures: list[Failure] = []
    minimal: list[Minimal] = []
    met: Met = {}
    with one_thread(), closing(_results(tester, stages, reporter.screen)) as running:
        try:
            for item, result in running:
                results.append(result)
                keep_shortest(met, item, result.faults)
                if result.faults:
                    command = reporter.replay_command(result.item)
                    failures.append(Failure(result.stage, result.item, result.faults, command))
                    reporter.failure(failures[-1], len(failures))
                if len(failures) == max_failures:
                    ended = f"stopped after {counted(max_failures, 'failures')} (--max-failures)"
                    break
            running.close()
            for case in met.values():
                item, fault, shrunk = smallest(tester, *case)
                minimal.append(_minimal(item, fault, shrunk, reporter))
                reporter.smallest(tester, item, fault)
        except KeyboardInterrupt:
            ended = "interrupted"
            minimal.extend(_minimal(*case, False, reporter) for case in [*met.values()][len(minimal) :])
    seconds = time.monotonic() - start
    return verdict.judge(
        here, stages, results, failures, seconds=seconds, ended=ended, minimal=minimal, restarts=tester.restarts
    )


def _minimal(item: Item, fault: Finding, shrunk: bool, reporter: Reporter) -> Minimal:
    case = item.to_json()
    return Minimal(fault.name, fault.status, fault.found, case, reporter.replay_command(case), shrunk)


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one thread: rows are short, and threads that wait for a busy core cost more than they bring.

    The property `threads` tries other numbers.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _results(tester: Tester, stages: tuple[Stage, ...], screen: Screen) -> Generator[tuple[Item, Result], None, None]:
    failed = 0
    for stage in stages:
        if stage.trials:
            with progress(screen, stage.name, len(stage.trials)) as advance:
                for trial in stage.trials:
                    found = tuple(findings(tester, trial.item, trial.properties))
                    result = Result(stage.name, trial.item.to_json(), found)
                    failed += bool(result.faults)
                    advance(failed)
                    yield trial.item, result


def report(found: Verdict, screen: Screen) -> None:
    """The verdict, last on the screen."""
    screen.say()
    screen.say(verdict.headline(found), style="bold green" if found.state == "passed" else "bold red")
    for line in verdict.lines(found):
        screen.say(line)


def record(failure: Failure) -> str:
    """A failure as a file: `qrita replay` reads it."""
    faults = [vars(fault) for fault in failure.faults]
    return json.dumps({"case": json.loads(failure.case), "replay": failure.replay, "faults": faults}, indent=1) + "\n"


def quoted(arguments: list[str]) -> str:
    """Arguments for the shell."""
    return subprocess.list2cmdline(arguments) if os.name == "nt" else shlex.join(arguments)
