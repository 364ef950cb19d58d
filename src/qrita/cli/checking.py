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
from qrita.cli.findings import findings
from qrita.cli.interrupts import ending_at_once
from qrita.cli.schedule import Stage
from qrita.cli.screen import Screen, progress
from qrita.cli.verdict import Failure, Result, Verdict
from qrita.testing.subjects import Subject


@dataclass(frozen=True)
class Reporter:
    """Where failures go as they come: to the screen, and into a directory where one is given."""

    screen: Screen
    engine: str | None
    directory: Path | None

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

    def replay_command(self, item: str) -> str:
        """What to type to see a case again."""
        engine = ["--engine", self.engine] if self.engine else []
        return quoted([*surroundings.program(), "replay", *engine, item])


def check(subject: Subject, stages: tuple[Stage, ...], reporter: Reporter, max_failures: int) -> Verdict:
    """Run the stages until they end, until a person ends them, or until enough has failed."""
    with ending_at_once():  # the first call of an engine imports more
        here = surroundings.find(subject)  # first: an engine that cannot even say how it works ends it here
    start, ended = time.monotonic(), ""
    results: list[Result] = []
    failures: list[Failure] = []
    with one_thread(), closing(_results(subject, stages, reporter.screen)) as running:
        try:
            for result in running:
                results.append(result)
                if result.faults:
                    command = reporter.replay_command(result.item)
                    failures.append(Failure(result.stage, result.item, result.faults, command))
                    reporter.failure(failures[-1], len(failures))
                if len(failures) == max_failures:
                    ended = f"stopped after {counted(max_failures, 'failures')} (--max-failures)"
                    break
        except KeyboardInterrupt:
            ended = "interrupted"
    return verdict.judge(here, stages, results, failures, seconds=time.monotonic() - start, ended=ended)


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


def _results(subject: Subject, stages: tuple[Stage, ...], screen: Screen) -> Generator[Result, None, None]:
    failed = 0
    for stage in stages:
        if stage.trials:
            with progress(screen, stage.name, len(stage.trials)) as advance:
                for trial in stage.trials:
                    found = tuple(findings(subject, trial.item, trial.properties))
                    result = Result(stage.name, trial.item.to_json(), found)
                    failed += bool(result.faults)
                    advance(failed)
                    yield result


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
