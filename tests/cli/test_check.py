"""`qrita check`: what it tries, what it says, what it exits with."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from qrita.cli import check as options
from qrita.cli import checking, main, schedule, verdict
from qrita.cli.findings import Finding
from qrita.cli.schedule import CORE, TURNS, Stage, Trial
from qrita.cli.surroundings import Surroundings
from qrita.cli.verdict import Failure, Result
from qrita.testing.foreign import loading, worker
from qrita.testing.properties import PROPERTIES
from qrita.testing.real import RealRow
from qrita.testing.recipes import Recipe
from qrita.testing.testers import Here

HERE = Path(__file__).parent

CASES = (
    Trial(Recipe("normal", 300, k=5, p=0.5), CORE),
    Trial(Recipe("equal", 40, "bfloat16", k=7), (*CORE, "one_answer")),
    Trial(Recipe("normal", 20), CORE),
)
SMALL = (Stage("real rows", "one", (Trial(RealRow("smollm2-21", k=3), CORE),)), Stage("recipes", "three", CASES))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines of one's own run in this process: a process of their own takes seconds to start."""
    monkeypatch.setattr(worker, "Worker", lambda name, path, seconds: Here(loading.load(name, path)))  # type: ignore[arg-type]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, here: None) -> None:
    """A check that tries four cases."""
    monkeypatch.setattr(schedule, "stages", lambda **_: SMALL)


def shell(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-m", "qrita", *arguments])


def run(command: list[str] | str) -> subprocess.CompletedProcess[str]:
    """Run as a person would; one thread, since tests share the cores."""
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command,
        shell=isinstance(command, str),
        cwd=HERE,
        env=env,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


# --- the whole thing, as a person runs it -----------------------------------------------------------------------


def test_quick_check_passes(tmp_path: Path) -> None:
    done = shell("check", "--quick", "--recipes", "20", "--json", str(tmp_path / "verdict.json"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "real rows: 48 of 48" in done.stdout
    assert "qrita check: PASSED, 68 cases in " in done.stdout
    assert "\x1b" not in done.stdout
    found = json.loads((tmp_path / "verdict.json").read_text(encoding="utf-8"))
    assert found["verdict"] == "passed"
    assert [part["run"] for part in found["parts"]] == [48, 20]


def test_a_planted_fault_is_found_and_its_command_shows_it_again() -> None:
    done = shell("check", "--quick", "--subject", "planted_engines:OneMore", "--max-failures", "1")
    assert done.returncode == 1
    assert "FAILED, 1 of " in done.stdout
    command = next(line.split("replay: ")[1] for line in done.stdout.splitlines() if "replay: " in line)
    again = run(command)
    assert again.returncode == 1, again.stderr
    assert "<- differs in " in again.stdout
    right = shlex.split(command)[-1]
    assert shell("replay", "--subject", "planted_engines:Right", right).returncode == 0


# --- in small ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
def test_passed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--subject", "planted_engines:Right"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "qrita check: PASSED, 4 cases in " in lines[-7]
    assert lines[-6].startswith("  engine     one-more on cpu: ")
    assert lines[-5] == "  plan       sorts 8 rows of 49152"
    assert lines[-4].startswith("  versions   qrita ")
    assert lines[-3:] == [
        "  real rows  1: one",
        "  recipes    3: three",
        "  checks     13 comparisons, bit for bit, by 4 properties",
    ]


@pytest.mark.usefixtures("small")
def test_wrong_answers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["check", "--subject", "planted_engines:OneMore", "--failures", str(tmp_path / "new" / "dir")]
    assert main([*arguments, "--json", str(tmp_path / "verdict.json")]) == 1
    out = capsys.readouterr().out
    assert "FAILED 1: cut, mask, candidates\n  cut: " in out
    assert "FAILED, 3 of 4 cases failed" in out
    assert "  failed     cut 3, mask 3, candidates 3" in out
    assert out.count("  replay: ") == 3
    assert out.count("  smallest   ") == 3
    records = sorted((tmp_path / "new" / "dir").iterdir())
    assert [file.name for file in records] == [
        "0001-real-rows-cut.json",
        "0002-recipes-cut.json",
        "0003-recipes-cut.json",
    ]
    found = json.loads((tmp_path / "verdict.json").read_text(encoding="utf-8"))
    assert (found["verdict"], len(found["failures"]), found["parts"][1]["failed"]) == ("failed", 3, 2)
    assert [failure["case"] for failure in found["failures"]] == [
        json.loads(file.read_text(encoding="utf-8"))["case"] for file in records
    ]
    failure = json.dumps(found["failures"][1])  # it is a case for replay, as a file of --failures is
    assert main(["replay", "--subject", "planted_engines:OneMore", failure]) == 1
    for file in records[1:]:
        assert main(["replay", "--subject", "planted_engines:OneMore", str(file)]) == 1
        assert main(["replay", "--subject", "planted_engines:Right", str(file)]) == 0


@pytest.mark.usefixtures("small")
def test_an_engine_that_raises(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--subject", "planted_engines:Raises"]) == 1
    out = capsys.readouterr().out
    assert "FAILED 1: candidates (raised)\n  candidates: RuntimeError: no room for 1 candidates\n  replay: " in out
    assert "FAILED, 4 of 4 cases failed" in out


@pytest.mark.usefixtures("small")
def test_stops_after_one_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--subject", "planted_engines:Raises", "--max-failures", "1"]) == 1
    out = capsys.readouterr().out
    assert "FAILED, 1 of 1 case failed in " in out
    assert "  checks     3 comparisons, bit for bit, by 3 properties" in out
    assert "  not run    3 recipes: stopped after 1 failure (--max-failures)" in out


@pytest.mark.usefixtures("small")
def test_stops_after_enough_failures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--subject", "planted_engines:Raises", "--max-failures", "2"]) == 1
    out = capsys.readouterr().out
    assert "FAILED, 2 of 2 cases failed" in out
    assert "  not run    2 recipes: stopped after 2 failures (--max-failures)" in out


@pytest.mark.usefixtures("small")
def test_control_c(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--subject", "planted_engines:Impatient"]) == 130
    out = capsys.readouterr().out
    assert "qrita check: INTERRUPTED, 0 cases in " in out
    assert "  not run    1 real row, 3 recipes: interrupted" in out


def test_nothing_tried_is_no_pass(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(schedule, "stages", lambda **_: (Stage("recipes", "none", ()),))
    assert main(["check"]) == 1
    assert "qrita check: NOTHING RUN" in capsys.readouterr().out


# --- where verdicts and failures are written --------------------------------------------------------------------


@pytest.mark.usefixtures("small")
def test_json_on_standard_output(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(HERE)
    assert main(["check", "--subject", "planted_engines:Right", "--json", "-"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["verdict"] == "passed"
    assert "qrita check: engine one-more on cpu; Ctrl-C ends it with a verdict\n" in err
    assert "qrita check: PASSED, 4 cases in " in err
    assert list(tmp_path.iterdir()) == []
    assert main(["check", "--subject", "planted_engines:Right", "--json", "./-"]) == 0
    assert json.loads((tmp_path / "-").read_text(encoding="utf-8"))["verdict"] == "passed"


@pytest.mark.usefixtures("here")
def test_a_verdict_that_cannot_be_written_is_printed_all_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "verdict.json"

    def stages(**_: object) -> tuple[Stage, ...]:
        path.unlink()  # it could be written before the check, and cannot after it
        path.mkdir()
        return SMALL

    monkeypatch.setattr(schedule, "stages", stages)
    assert main(["check", "--subject", "planted_engines:Right", "--json", str(path)]) == 2
    out, err = capsys.readouterr()
    assert "qrita check: PASSED, 4 cases in " in out
    assert err.startswith(f"qrita check: error: argument --json: {str(path)!r} is a folder, expected a file\n")


@pytest.mark.usefixtures("here")
def test_failures_that_cannot_be_written_are_printed_all_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "failures"

    def stages(**_: object) -> tuple[Stage, ...]:
        directory.rmdir()
        return SMALL

    monkeypatch.setattr(schedule, "stages", stages)
    assert main(["check", "--subject", "planted_engines:OneMore", "--failures", str(directory)]) == 1
    out = capsys.readouterr().out
    assert "  0001-real-rows-cut.json cannot be written: No such file or directory\n" in out
    assert "FAILED, 3 of 4 cases failed" in out


# --- what is tried ----------------------------------------------------------------------------------------------


def test_every_property_has_its_turn() -> None:
    assert set(CORE) | set(TURNS) == set(PROPERTIES)
    for quick in (False, True):
        for stage in schedule.stages(recipes=50, seed=0, max_vocab=64, quick=quick):
            assert {name for trial in stage.trials for name in trial.properties} == set(PROPERTIES)
            assert all(trial.properties[:3] == CORE for trial in stage.trials)


def test_real_rows_come_in_every_dtype_temperature_and_setting() -> None:
    items = [trial.item for trial in schedule.real_rows(quick=False).trials]
    assert len(set(items)) == len(items) == 8 * 3 * 3 * len(schedule.SETTINGS)


def test_help_knows_how_many_cases_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(schedule.real_rows(quick=False).trials) == options.REAL_ROWS
    assert len(schedule.real_rows(quick=True).trials) == options.QUICK_REAL_ROWS
    assert main(["check", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "fewer cases of each kind: 198 instead of 3,576, seconds instead of a minute" in text
    assert "(default: 3,000; with --quick 150)" in text
    assert "(default: 4,096)" in text


@pytest.mark.parametrize(
    ("count", "seed", "words"),
    [
        (3000, 0, "generated from seeds 0 to 2,999, vocabulary up to 8"),
        (1, 5000, "generated from seed 5,000, vocabulary up to 8"),
        (0, 0, "none"),
    ],
)
def test_seeds_in_words(count: int, seed: int, words: str) -> None:
    assert schedule.generated(count, seed, 8).words == words


def test_recipes_are_those_of_their_seeds() -> None:
    def items(seed: int) -> list[object]:
        return [trial.item for trial in schedule.generated(10, seed, 100).trials]

    assert items(0)[3:] == items(3)[:7]
    assert all(item.vocab <= 100 for item in items(0))


# --- the verdict ------------------------------------------------------------------------------------------------

SURROUNDINGS = Surroundings("torch", "cpu", "a card", "", {"qrita": "1"})
FAULT = Finding("cut", "failed", "this instead of that")


def judged(*findings: Finding, ended: str = "", seconds: float = 1.0) -> verdict.Verdict:
    """The verdict on a stage of two cases, of which those that have a finding were run."""
    stage = Stage("recipes", "some", (CASES[0], CASES[1]))
    results = [Result("recipes", "{}", (finding,)) for finding in findings]
    failures = [Failure("recipes", "{}", result.faults, "replay it") for result in results if result.faults]
    return verdict.judge(SURROUNDINGS, [stage], results, failures, seconds=seconds, ended=ended)


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (judged(Finding("cut", "passed"), Finding("cut", "passed")), "passed"),
        (judged(Finding("cut", "passed"), FAULT), "failed"),
        (judged(Finding("cut", "passed"), Finding("cut", "crashed", "E: no")), "failed"),
        (judged(Finding("cut", "passed"), ended="interrupted"), "interrupted"),
        (judged(FAULT, ended="interrupted"), "failed"),
        (judged(FAULT, FAULT, ended="stopped"), "failed"),
        (judged(Finding("cut", "not run", "cannot"), Finding("cut", "not run", "cannot")), "nothing run"),
    ],
)
def test_state(found: verdict.Verdict, state: str) -> None:
    assert found.state == state
    assert json.loads(verdict.to_json(found))["verdict"] == state
    assert state.upper() in verdict.headline(found)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "less than 1 s"), (0.99, "less than 1 s"), (1.2, "1 s"), (32.4, "32 s"), (3600.0, "3,600 s")],
)
def test_time_in_words(seconds: float, words: str) -> None:
    assert verdict.headline(judged(FAULT, seconds=seconds)) == f"qrita check: FAILED, 1 of 1 case failed in {words}"


def test_what_cannot_be_tried_here_is_said() -> None:
    found = judged(Finding("cut", "passed"), Finding("flush_subnormals", "not run", "this CPU cannot"))
    assert found.state == "passed"
    assert "  not run    flush_subnormals: this CPU cannot" in list(verdict.lines(found))


def test_commands_survive_the_shell() -> None:
    arguments = ["replay", '{"p": 0.5, "family": "normal"}', "it's"]
    assert shlex.split(checking.quoted(arguments)) == arguments
