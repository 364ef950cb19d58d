"""A lane's report says what ran where and how it ended, whatever becomes of it; a stub stands in for pytest."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import facts
import lane
import promises
import pytest
import targets
from facts import Facts, Gpu

STUB = """
import json, os, pathlib, signal, sys, time
folder = pathlib.Path(os.environ["STUB"])
number = len(list(folder.glob("call-*.json")))
does = json.loads(os.environ["STUB_DOES"])[number]

def told(signal, frame):
    (folder / f"told-{signal}").touch()
    if "then" in does:
        sys.exit(does["then"])

if does.keys() & {"then", "stays"}:
    signal.signal(signal.SIGTERM, told)
    signal.signal(signal.SIGINT, told)
lane = json.loads(next(pathlib.Path(os.environ["QRITA_REPORTS"]).glob("*/lane.json")).read_text())
call = {"arguments": sys.argv[1:], "profile": os.environ["HYPOTHESIS_PROFILE"], "cwd": os.getcwd(), "lane": lane}
draft = folder / "draft"
draft.write_text(json.dumps(call))
draft.rename(folder / f"call-{number}.json")
if "dies" in does:
    os.kill(os.getpid(), does["dies"])
while "status" not in does:
    time.sleep(0.01)
sys.exit(does["status"])
"""
FIELDS = {
    *("schema", "lane", "targets", "environment", "state", "installed", "card", "architecture", "wave", "driver"),
    *("torch", "triton", "python", "platform", "fusion", "overrides", "profile", "commit", "image", "command"),
    *("started", "finished", "outcome", "reason"),
}
MATRIX = targets.load()
H200 = Gpu("NVIDIA H200", "sm_90", 32)
MACHINE = Facts({"torch": "2.11.0+cu130", "triton": "3.6.0"}, "nvidia", (H200,), "580.159.04", "0")
"""One with a torch of its own and no older than any that is supported."""
PATIENCE = 60.0
"""Seconds that a process may take to do what a test waits for."""


@dataclass(frozen=True)
class Ended:
    """What a lane returned, what it reported, and the calls of pytest."""

    answer: int | str
    report: dict[str, Any]
    calls: list[dict[str, Any]]

    @property
    def verdict(self) -> tuple[str, str]:
        return self.report["outcome"], self.report["reason"]


Run = Callable[..., Ended]


def kept(environment: str, *gpus: Gpu) -> Facts:
    """What an environment promises."""
    made = promises.promise(MATRIX, environment, None, False, targets.ROOT)
    pins = {name: max(versions) for name, versions in (made.pins or {}).items()}
    return Facts(pins, made.vendor, gpus, fusion="0")


def statuses(*values: int) -> list[dict[str, int]]:
    """A stub that ends at once, with one status a call."""
    return [{"status": value} for value in values]


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the stub's notes; the variables of this run of pytest are out of the way."""
    for name in ("QRITA_TARGET", "QRITA_IMAGE", "HYPOTHESIS_PROFILE"):
        monkeypatch.setenv(name, "")  # so that what a lane sets is undone, too
        monkeypatch.delenv(name)
    folder = tmp_path / "stub"
    folder.mkdir()
    (folder / "pytest.py").write_text(STUB, encoding="utf-8")
    monkeypatch.setenv("STUB", str(folder))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(targets.ROOT / "ci")]))
    monkeypatch.setenv("QRITA_REPORTS", str(tmp_path / "reports"))
    return folder


@pytest.fixture
def run(stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a lane on a machine with these facts."""

    def run(*args: str, found: Facts, does: list[dict[str, int]], target: str = "") -> Ended:
        monkeypatch.setenv("QRITA_TARGET", target)
        monkeypatch.setenv("STUB_DOES", json.dumps(does))
        monkeypatch.setattr(facts, "gather", lambda: found)
        answer = lane.main([*args])
        return ended(answer, tmp_path / "reports" / (target or args[0]), stub)

    return run


def ended(answer: int | str, folder: Path, stub: Path) -> Ended:
    calls = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(stub.glob("call-*.json"))]
    return Ended(answer, json.loads((folder / "lane.json").read_text(encoding="utf-8")), calls)


def test_every_environment_of_the_matrix_has_a_suite() -> None:
    assert set(lane.SUITES) == set(MATRIX.environments)


def test_passed(run: Run) -> None:
    found = kept("cpu")
    ended = run("cpu", found=found, does=statuses(0))
    assert ended.answer == 0
    assert ended.verdict == ("passed", "")
    assert set(ended.report) == FIELDS
    expected = {"schema": 1, "lane": "cpu", "targets": ["cpu"], "environment": "cpu", "state": "hardware"}
    assert ended.report.items() >= {**expected, "installed": False, "profile": "pr", "card": None}.items()
    assert ended.report["torch"] == found.distributions["torch"]
    moment = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"
    assert re.fullmatch(moment, ended.report["started"])
    assert re.fullmatch(moment, ended.report["finished"])


def test_the_report_says_running_while_pytest_runs(run: Run) -> None:
    (call,) = run("cpu", found=kept("cpu"), does=statuses(0)).calls
    assert call["lane"]["outcome"] == "running"
    assert call["lane"]["finished"] is None
    assert set(call["lane"]) == FIELDS


def test_what_pytest_is_told(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "reports" / "interpreter"
    first, second = run("interpreter", "--", "-k", "a b", found=kept("interpreter"), does=statuses(0, 0)).calls
    for number, call in enumerate((first, second), 1):
        assert call["arguments"][-2:] == ["-k", "a b"]
        assert {f"--junit-xml={folder / f'results-{number}.xml'}", f"--records={folder / 'records'}"} <= {
            *call["arguments"]
        }
        assert (call["profile"], call["cwd"]) == ("slice", str(targets.ROOT))
    assert "tests/kernels" in first["arguments"]
    assert {"--engine", "interpreter", "tests/conformance"} <= {*second["arguments"]}


@pytest.mark.parametrize("there", [True, False])
def test_a_test_that_hangs_is_ended_where_the_plugin_is_there(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], there: bool
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: there or None)
    (call,) = run("cpu", found=kept("cpu"), does=statuses(0)).calls
    assert ("--timeout" in call["arguments"]) == there
    said = capsys.readouterr().out
    assert ("pytest-timeout is not installed here" in said) != there
    assert "ci/lane.py: " + shlex.join([sys.executable, "-m", "pytest", *call["arguments"]]) in said


def test_the_profile_of_the_caller_stays(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYPOTHESIS_PROFILE", "nightly")
    ended = run("cpu", found=kept("cpu"), does=statuses(0))
    assert ended.report["profile"] == ended.calls[0]["profile"] == "nightly"


@pytest.mark.parametrize("environment", lane.SUITES)
def test_the_worth_of_each_environment(run: Run, environment: str) -> None:
    of_matrix = {t.evidence.state for t in MATRIX.targets.values() if t.environment == environment}
    gpus = (H200,) if MATRIX.stacks.get(environment, MATRIX.stacks["cpu"]).vendor != "cpu" else ()
    ended = run(environment, found=kept(environment, *gpus), does=statuses(*[0] * len(lane.SUITES[environment].calls)))
    assert ended.verdict == ("passed", "")
    assert ended.report["state"] in of_matrix | {"hardware"}
    assert (ended.report["state"] == "hardware") == (environment not in ("interpreter", "compile", "sim"))


def test_refused(run: Run) -> None:
    ended = run("cuda", found=kept("cuda"), does=statuses(0, 0))
    outcome, reason = ended.verdict
    assert outcome == "refused"
    assert reason.startswith("environment 'cuda' promises an NVIDIA GPU")
    assert ended.answer == f"ci/guard.py: {reason}"
    assert ended.calls == []
    assert set(ended.report) == FIELDS
    assert ended.report["finished"] is None


@pytest.mark.parametrize(
    ("values", "answer", "calls"),
    [
        ((0, 0), 0, 2),
        ((0, 5), 0, 2),  # on one GPU no test needs several
        ((1, 0), 1, 2),
        ((0, 1), 1, 2),
        ((5, 1), 1, 2),
        ((3, 1), 3, 2),
        ((4, 5), 4, 2),
        ((2, 0), 2, 1),  # interrupted
    ],
)
def test_a_suite_of_two_calls(run: Run, values: tuple[int, int], answer: int, calls: int) -> None:
    ended = run("cuda", found=kept("cuda", H200), does=statuses(*values))
    assert (ended.answer, len(ended.calls)) == (answer, calls)
    assert ended.verdict == (("failed", f"pytest ended with status {answer}") if answer else ("passed", ""))
    assert ended.report["finished"] is not None


@pytest.mark.parametrize(
    ("environment", "arguments", "values", "failed", "said"),
    [
        ("cuda", (), (0, 5), 0, (2, "what is marked several_gpus needs two GPUs")),
        ("cuda", (), (5, 0), 1, None),
        ("cuda", (), (5, 5), 1, None),
        ("interpreter", (), (5, 0), 1, None),
        ("interpreter", (), (0, 5), 2, None),
        ("cpu", (), (5,), 1, None),
        ("cuda", ("-k", "a b"), (5, 0), 0, (1, "the arguments were -k 'a b'")),
        ("interpreter", ("-x",), (0, 5), 0, (2, "the arguments were -x")),
        ("cuda", ("-k", "a b"), (5, 5), 1, None),
        ("cpu", ("-k", "a b"), (5,), 1, None),
    ],
)
def test_a_call_that_selects_nothing(
    run: Run,
    capsys: pytest.CaptureFixture[str],
    environment: str,
    arguments: tuple[str, ...],
    values: tuple[int, ...],
    failed: int,
    said: tuple[int, str] | None,
) -> None:
    """It fails where it is not meant to be possible, and is told in the log where it is."""
    found = kept(environment, *((H200,) if environment == "cuda" else ()))
    ended = run(environment, "--", *arguments, found=found, does=statuses(*values))
    sentence = f"call {failed} of pytest selected no test: "
    outcome, reason = ended.verdict
    assert (ended.answer, outcome) == ((lane.NO_TESTS, "failed") if failed else (0, "passed"))
    assert reason.startswith(sentence) if failed else not reason
    assert not failed or reason.endswith(shlex.join(arguments))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("ci/lane.py: call ")]
    assert lines == ([f"ci/lane.py: call {said[0]} of pytest selected no test; {said[1]}"] if said else [])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_pytest_killed_is_a_failure(run: Run, number: int) -> None:
    ended = run("interpreter", found=kept("interpreter"), does=[{"dies": number}, {"status": 0}])
    assert (ended.answer, len(ended.calls)) == (128 + number, 1)
    assert ended.verdict == ("failed", f"pytest ended with status {128 + number}")


@pytest.mark.parametrize(
    ("args", "target", "command"),
    [
        ((), "", "ci/tox -e cuda"),
        (("--",), "", "ci/tox -e cuda"),
        (("--", "-k", "a b"), "", "ci/tox -e cuda -- -k 'a b'"),
        ((), "cuda-h200", "ci/tox --target cuda-h200"),
        (("--installed",), "cuda-h200", "ci/tox --installed cuda-h200"),
        (("--installed", "--", "-x"), "cuda-h200", "ci/tox --installed cuda-h200 -- -x"),
    ],
)
def test_the_command_that_runs_it_again(
    run: Run, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], target: str, command: str
) -> None:
    found = MACHINE if "--installed" in args else kept("cuda", H200)
    ended = run("cuda", *args, found=found, does=statuses(0, 1), target=target)
    assert ended.report["command"] == command
    assert ended.report["installed"] == ("--installed" in args)
    assert f"again: {command}\n" in capsys.readouterr().out


def test_a_promised_target_names_the_lane(run: Run) -> None:
    ended = run("cuda", "--installed", found=MACHINE, does=statuses(0, 0), target="cuda-h200")
    expected = {"lane": "cuda-h200", "targets": ["cuda-h200"], "card": "NVIDIA H200", "architecture": "sm_90"}
    versions = {"torch": "2.11.0+cu130", "triton": "triton 3.6.0", "driver": "580.159.04", "fusion": "0"}
    assert ended.report.items() >= {**expected, **versions}.items()


@pytest.mark.parametrize(
    ("card", "names"),
    [
        (H200, ["cuda-h200"]),
        (Gpu("NVIDIA H100 PCIe", "sm_90", 32), ["cuda-h100"]),
        (Gpu("NVIDIA GH200 480GB", "sm_90", 32), []),
        (Gpu("NVIDIA A100", "sm_80", 32), []),
    ],
)
def test_without_a_named_target_the_card_tells_it(run: Run, card: Gpu, names: list[str]) -> None:
    assert run("cuda", found=kept("cuda", card), does=statuses(0, 0)).report["targets"] == names


def test_without_cards_a_lane_is_all_targets_of_its_environment(run: Run) -> None:
    ended = run("compile", found=kept("compile"), does=statuses(0))
    assert ended.report["targets"] == [n for n, t in MATRIX.targets.items() if t.environment == "compile"]


SIMULATED = [name for name, target in MATRIX.targets.items() if target.environment == "sim"]


def test_simulated_cards_have_a_call_each(run: Run) -> None:
    ended = run("sim", found=kept("sim"), does=statuses(*[0] * (1 + len(SIMULATED))))
    engines = [call["arguments"][call["arguments"].index("--engine") + 1] for call in ended.calls[1:]]
    assert engines == ended.report["targets"] == SIMULATED
    assert "--engine" not in ended.calls[0]["arguments"]
    assert {call["profile"] for call in ended.calls} == {"sim"}


@pytest.mark.parametrize("name", SIMULATED)
def test_one_simulated_card(run: Run, name: str) -> None:
    ended = run("sim", found=kept("sim"), does=statuses(0, 0), target=name)
    assert [name in call["arguments"] for call in ended.calls] == [False, True]
    assert (ended.report["targets"], ended.report["state"]) == ([name], "simulated")


def test_a_night_of_an_engine_that_is_slow(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYPOTHESIS_PROFILE", "nightly")
    ended = run("sim", found=kept("sim"), does=statuses(0, 0), target=SIMULATED[0])
    assert {call["profile"] for call in ended.calls} == {"nightly-slice"}


def test_what_an_earlier_run_left_is_removed(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "reports" / "cuda"
    (folder / "records").mkdir(parents=True)
    for name in ("results-1.xml", "results-9.xml", "notes.txt", "records/1.json"):
        (folder / name).touch()
    run("cuda", found=kept("cuda"), does=[])  # refused
    assert sorted(file.name for file in folder.rglob("*") if file.is_file()) == ["lane.json", "notes.txt"]


def test_a_lane_that_ends_while_it_looks_leaves_no_earlier_verdict(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("cpu", found=kept("cpu"), does=statuses(0))

    def crash() -> Facts:
        raise SystemExit("as where the import of torch crashes")

    monkeypatch.setattr(facts, "gather", crash)
    with pytest.raises(SystemExit):
        lane.main(["cpu"])
    assert not (tmp_path / "reports" / "cpu" / "lane.json").exists()


@pytest.mark.parametrize(
    ("environment", "target", "sentence"),
    [
        ("py311-rocm", "", "ci/lane.py: tox.ini defines no environment 'py311-rocm'"),
        ("rocm", "cuda-h100", "ci/lane.py: target 'cuda-h100' does not run in the environment 'rocm'"),
        ("check", "", "ci/lane.py: the environment 'check' has no tests; expected one of cpu, "),
    ],
)
def test_no_such_lane(
    stub: Path, monkeypatch: pytest.MonkeyPatch, environment: str, target: str, sentence: str
) -> None:
    monkeypatch.setenv("QRITA_TARGET", target)
    assert str(lane.main([environment])).startswith(sentence)
    assert list(stub.glob("call-*")) == []


def test_a_lane_ends_with_its_sentence(stub: Path) -> None:
    command = [sys.executable, "-B", str(targets.ROOT / "ci" / "lane.py"), "py311-rocm"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("ci/lane.py: tox.ini defines no environment 'py311-rocm'")
    assert not list(stub.glob("call-*"))


SCRIPT = """
import json, sys
import facts, lane
found = facts.Facts(**json.loads(sys.argv[1]))
facts.gather = lambda: found
sys.exit(lane.main(["interpreter"]))
"""


@contextlib.contextmanager
def started(stub: Path, monkeypatch: pytest.MonkeyPatch, **does: int) -> Iterator[subprocess.Popen[bytes]]:
    """A lane in a process of its own, whose first pytest is under way. In the end nothing of it is left."""
    monkeypatch.setenv("STUB_DOES", json.dumps([does, {"status": 0}]))
    found = json.dumps(dataclasses.asdict(kept("interpreter")))
    process = subprocess.Popen([sys.executable, "-Bc", SCRIPT, found], start_new_session=True)
    try:
        call, end = stub / "call-0.json", time.monotonic() + PATIENCE
        while not call.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        assert call.exists()
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.parametrize("does", [{}, {"then": 0}, {"then": 1}], ids=["dies of it", "ends well", "ends badly"])
def test_a_lane_that_is_told_to_end_tells_pytest(
    stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: dict[str, int]
) -> None:
    with started(stub, monkeypatch, **does) as process:
        process.terminate()
        answer = process.wait(PATIENCE)
    seen = ended(answer, tmp_path / "reports" / "interpreter", stub)
    assert (answer, len(seen.calls)) == (128 + signal.SIGTERM, 1)
    assert seen.verdict == ("failed", "told to end by SIGTERM")
    assert seen.report["finished"] is not None
    assert (stub / f"told-{int(signal.SIGINT)}").exists() == bool(does)
    assert not (stub / f"told-{int(signal.SIGTERM)}").exists()


def test_a_lane_that_is_told_again_passes_that_on(stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {number: stub / f"told-{int(number)}" for number in (signal.SIGINT, signal.SIGTERM)}
    end = time.monotonic() + PATIENCE
    with started(stub, monkeypatch, stays=1) as process:
        for file in told.values():
            process.terminate()
            while not file.exists() and time.monotonic() < end:
                time.sleep(0.02)
            assert file.exists()
    assert json.loads((tmp_path / "reports" / "interpreter" / "lane.json").read_text())["outcome"] == "failed"


def test_a_lane_that_is_killed_after_it_was_told_to_end_has_said_so(
    stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where pytest waits for a GPU and `docker stop` loses its patience."""
    folder, end = tmp_path / "reports" / "interpreter", time.monotonic() + PATIENCE
    with started(stub, monkeypatch, stays=1) as process:
        process.terminate()
        while not (stub / f"told-{int(signal.SIGINT)}").exists() and time.monotonic() < end:
            time.sleep(0.02)
        process.kill()
        answer = process.wait(PATIENCE)
    assert answer == -signal.SIGKILL
    seen = ended(answer, folder, stub)
    assert seen.verdict == ("failed", "told to end by SIGTERM")
    assert set(seen.report) == FIELDS


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("before", [0, 1], ids=["before the first call", "between the calls"])
def test_a_lane_that_is_told_to_end_while_no_pytest_runs(
    run: Run, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, before: int
) -> None:
    asked: list[int] = []
    timeout = lane._timeout

    def told() -> list[str]:
        """What a lane asks for before each call of pytest."""
        if len(asked) == before:
            signal.raise_signal(number)
        asked.append(before)
        return timeout()

    monkeypatch.setattr(lane, "_timeout", told)
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    ended = run("interpreter", found=kept("interpreter"), does=statuses(0, 0))
    assert (ended.answer, len(ended.calls)) == (128 + number, before)
    assert ended.verdict == ("failed", f"told to end by {number.name}")
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers


def test_only_a_second_interrupt_is_passed_on(stub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first Ctrl-C reaches pytest without the lane: it is in the same group of processes."""
    told, sent = stub / f"told-{int(signal.SIGINT)}", 0
    with started(stub, monkeypatch, then=0) as process:
        while not told.exists() and sent < PATIENCE / 0.2:
            process.send_signal(signal.SIGINT)
            sent += 1
            time.sleep(0.2)
        answer = process.wait(PATIENCE)
    assert sent > 1
    assert answer == 128 + signal.SIGINT
    assert ended(answer, tmp_path / "reports" / "interpreter", stub).verdict == ("failed", "told to end by SIGINT")
