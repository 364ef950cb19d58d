"""Run a lane: the guard, the tests of the environment, and the report that says what happened.

python ci/lane.py ENVIRONMENT [--installed] [-- ARGUMENTS OF PYTEST]

The report is the directory reports/LANE (QRITA_REPORTS names another parent), LANE being the target that QRITA_TARGET
promises or else the environment: lane.json says what ran where and how it ended, results-N.xml is what pytest wrote,
records/ the failures of properties. A lane that its guard refuses writes lane.json too, so that it is seen not to have
run; only a name that is no lane, or a target of another environment, leaves none.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib.util
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import facts
import promises
import targets

ROOT = targets.ROOT
SCHEMA = 1
"""Of lane.json."""
NO_TESTS = 5
"""pytest's status where nothing was selected."""
PYTEST = ("-n", "auto", "--maxprocesses", "16", "--dist", "worksteal")
PATIENCE = {"nightly": "7200", "nightly-slice": "7200"}
"""Seconds that a test may take by profile, else 300, where pytest-timeout is there to end it."""
SLICES = {"slice": "nightly-slice", "sim": "nightly-slice"}
"""The nightly profile of suites whose engine takes a second for an example."""


@dataclass(frozen=True)
class Call:
    """One call of pytest.

    Attributes:
        empty: why it may select nothing on some machines; "" where that is a failure.
        target: the one that it is about, where the environment is that of several; "" is all of them.
    """

    arguments: tuple[str, ...]
    empty: str = ""
    target: str = ""


@dataclass(frozen=True)
class Suite:
    """What an environment runs: what its answers are worth, hypothesis's profile, one pytest call after another."""

    state: str
    profile: str
    calls: tuple[Call, ...]


ABLATION = "tests/bench/test_ablation_kernels.py"
"""Kernels that are in no plan, and so in no other test."""
ON_CPU = Suite("hardware", "pr", (Call(("tests",)),))
ON_GPU = Suite(
    "hardware",
    "pr",
    (
        Call(("--engine", "triton", "-m", "not several_gpus", "tests/gpu", "tests/conformance", ABLATION)),
        Call(  # of its own, since each worker above sees one GPU
            ("--engine", "triton", "-m", "several_gpus", "-n", "0", "tests/gpu"),
            empty="what is marked several_gpus needs two GPUs",
        ),
    ),
)
SIMULATED = ("sim-gfx942", "sim-gfx950", "sim-gfx1100", "sim-gfx1201")
"""Targets, and engines of the tests."""
SUITES = {
    "cpu": ON_CPU,
    "cpu-min": ON_CPU,
    "interpreter": Suite(
        "interpreted",
        "slice",
        (
            Call(("tests/kernels",)),
            Call(("--engine", "interpreter", "-m", "not large", "tests/conformance", ABLATION)),
        ),
    ),
    "compile": Suite("compiled", "pr", (Call(("tests/compile",)),)),
    "sim": Suite(
        "simulated",
        "sim",
        (
            Call(("tests/amdsim", "tests/sim")),  # about the simulator, and all cards at once
            *(
                Call(("--engine", name, "-m", "not large", "tests/sim", "tests/conformance"), target=name)
                for name in SIMULATED
            ),
        ),
    ),
    "cuda": ON_GPU,
    "cuda-min": ON_GPU,
    "rocm": ON_GPU,
    "rocm-min": ON_GPU,
}


def main(args: list[str]) -> int | str:
    """What sys.exit takes: the guard's sentence, or the first status of pytest that is not 0."""
    own, extra = (args[: args.index("--")], args[args.index("--") + 1 :]) if "--" in args else (args, [])
    environment, installed = own[0], "--installed" in own
    target = os.environ.get("QRITA_TARGET") or None
    folder = Path(os.environ.get("QRITA_REPORTS") or ROOT / "reports") / (target or environment)
    stale_ones = (*folder.glob("results-*.xml"), *folder.glob("records/*.json"))
    for stale in (folder / "lane.json", *stale_ones):  # first: what follows may not return
        stale.unlink(missing_ok=True)
    try:
        matrix = targets.load()
        made = promises.promise(matrix, environment, target, installed, ROOT)
    except ValueError as error:
        return f"ci/lane.py: {error}"
    if environment not in SUITES:
        return f"ci/lane.py: the environment {environment!r} has no tests; expected one of {', '.join(SUITES)}"
    suite, found = _about(SUITES[environment], target), facts.gather()
    profile = os.environ.get("HYPOTHESIS_PROFILE") or suite.profile
    os.environ["HYPOTHESIS_PROFILE"] = SLICES.get(suite.profile, profile) if profile == "nightly" else profile
    report = {
        "schema": SCHEMA,
        "lane": folder.name,
        "targets": [target] if target else _targets(matrix, environment, found),
        "environment": environment,
        "state": suite.state,
        "installed": installed,
        **facts.identity(found, ROOT),
        "profile": os.environ["HYPOTHESIS_PROFILE"],
        "command": _command(environment, target, installed, extra),
        "started": _now(),
    }
    sentence = promises.broken(made, found, matrix)
    if sentence:
        _write(folder, {**report, "outcome": "refused", "reason": sentence})
        return f"ci/guard.py: {sentence}"
    told = Told(lambda reason: _write(folder, {**report, "outcome": "failed", "reason": reason, "finished": _now()}))
    with told.listening():
        _write(folder, {**report, "outcome": "running", "reason": ""})
        status, reason = _run(suite, folder, extra, told)
        outcome = "failed" if status else "passed"
        _write(folder, {**report, "outcome": outcome, "reason": reason, "finished": _now()})
    verdict = f"{outcome}: {reason}" if reason else outcome
    print(f"ci/lane.py: {folder.name} {verdict}; report in {folder}; again: {report['command']}", flush=True)
    return status


def _about(suite: Suite, target: str | None) -> Suite:
    """Without the calls that are about other targets than a named one."""
    return replace(suite, calls=tuple(call for call in suite.calls if target is None or call.target in ("", target)))


def _targets(matrix: targets.Matrix, environment: str, found: facts.Facts) -> list[str]:
    """The targets that a run without a named one is about: those of its environment, by the card where there is one."""
    card = found.gpus[0] if found.gpus else None
    return [
        name
        for name, target in matrix.targets.items()
        if target.environment == environment and (target.card is None or bool(card and card.is_a(target.card)))
    ]


@dataclass
class Told:
    """The signals that ask this process to end, from the lane's first report to its last.

    Whatever pytest makes of a signal, the lane did not end by itself: its status and its report say so. The report says
    it at once, since whoever asked (`docker stop`) may kill what has not ended in time.

    Attributes:
        report: writes why the lane failed.
        signals: what it was told so far.
        process: the pytest that is under way, which is told too, first by SIGINT. A first Ctrl-C reaches it by itself.
    """

    report: Callable[[str], None]
    signals: list[signal.Signals] = field(default_factory=list)
    process: subprocess.Popen[bytes] | None = None

    @property
    def reason(self) -> str:
        return f"told to end by {self.signals[-1].name}"

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._hear) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _hear(self, number: int, _: object) -> None:
        self.signals.append(signal.Signals(number))
        first = len(self.signals) == 1
        if self.process and first:  # without a pytest the lane may be writing a report, and looks before it goes on
            self.report(self.reason)
        if self.process and not (first and number == signal.SIGINT):
            self.process.send_signal(signal.SIGINT if first else number)  # with SIGTERM it would write no results

    def wait(self, command: list[str]) -> int:
        """The status of a pytest that runs meanwhile."""
        with subprocess.Popen(command, cwd=ROOT) as process:
            self.process = process
            if self.signals:  # heard while it was started
                process.send_signal(signal.SIGINT)
            try:
                return process.wait()
            finally:
                self.process = None


def _run(suite: Suite, folder: Path, extra: list[str], told: Told) -> tuple[int, str]:
    """Every call of pytest, also after one that failed: the first status that is a failure, and why it is."""
    statuses: list[int] = []
    for number, call in enumerate(suite.calls, 1):
        report = (f"--junit-xml={folder / f'results-{number}.xml'}", f"--records={folder / 'records'}")
        command = [sys.executable, "-m", "pytest", *PYTEST, *_timeout(), *call.arguments, *report, *extra]
        print(f"ci/lane.py: {shlex.join(command)}", flush=True)
        if not told.signals:
            statuses.append(told.wait(command))
        if told.signals:
            return 128 + told.signals[-1], told.reason
        if statuses[-1] < 0 or statuses[-1] == 2:  # killed or interrupted
            status = statuses[-1] if statuses[-1] > 0 else 128 - statuses[-1]
            return status, f"pytest ended with status {status}"
    for status in statuses:
        if status not in (0, NO_TESTS):
            return status, f"pytest ended with status {status}"
    return _nothing_selected(suite, statuses, extra)


def _nothing_selected(suite: Suite, statuses: list[int], extra: list[str]) -> tuple[int, str]:
    """Whether a call that selected no test is a failure: not where it may be so, nor where a person chose the tests.

    A person's arguments (-k oracle) go to every call, and may leave one of them empty, but not all.
    """
    empty = [number for number, status in enumerate(statuses, 1) if status == NO_TESTS]
    for number in empty:
        call = suite.calls[number - 1]
        if len(empty) == len(statuses) or not (call.empty or extra):
            return NO_TESTS, f"call {number} of pytest selected no test: {shlex.join((*call.arguments, *extra))}"
        why = call.empty or f"the arguments were {shlex.join(extra)}"
        print(f"ci/lane.py: call {number} of pytest selected no test; {why}", flush=True)
    return 0, ""


def _timeout() -> list[str]:
    if importlib.util.find_spec("pytest_timeout"):
        return ["--timeout", PATIENCE.get(os.environ["HYPOTHESIS_PROFILE"], "300")]
    print("ci/lane.py: pytest-timeout is not installed here, so a test that hangs is not ended", flush=True)
    return []


def _command(environment: str, target: str | None, installed: bool, extra: list[str]) -> str:
    """What runs this lane again."""
    if installed:
        command = f"ci/tox --installed {target or environment}"
    elif target:
        command = f"ci/tox --target {target}"
    else:
        command = f"ci/tox -e {environment}"
    return f"{command} -- {shlex.join(extra)}" if extra else command


def _write(folder: Path, report: dict[str, Any]) -> None:
    """In one step, so that a reader finds one or the other."""
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / "lane.json.new"
    draft.write_text(json.dumps({"finished": None, **report}, indent=1) + "\n", encoding="utf-8")
    draft.replace(folder / "lane.json")


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
