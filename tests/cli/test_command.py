"""The command `qrita` itself: help, versions, wrong usage, broken pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import qrita
from qrita.cli import main, screen, surroundings
from qrita.cli.counting import counted
from qrita.cli.interrupts import ending_at_once
from qrita.testing.recipes import Recipe

HERE = str(Path(__file__).parent)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"qrita {qrita.__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["check", "--help"], ["replay", "--help"]])
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "exit status: 0 passed, 1 failed, 2 wrong usage, 130 interrupted" in out


def test_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "check " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["chekc"], "qrita: error: unknown command 'chekc'; did you mean check?"),
        (["sample", "--help"], "qrita: error: unknown command 'sample'; expected one of check, replay"),
        (["--versoin"], "qrita: error: unknown argument '--versoin'; did you mean --version?"),
        (["check", "--recipe", "5"], "qrita check: error: unknown argument '--recipe'; did you mean --recipes?"),
        (["check", "--recipes", "-1"], "argument --recipes: '-1': expected a whole number from 0 to"),
        (["check", "--recipes", "ten"], "argument --recipes: 'ten': expected a whole number from 0 to"),
        (["check", "--max-vocab", "0"], "argument --max-vocab: '0': expected a whole number from 1 to 4,194,304"),
        (["check", "--subject", "cuda"], "argument --subject: 'cuda': expected one of 'torch', "),
        (["check", "--subject", "torch:sigma"], "subject='torch:sigma': the engine 'torch' has no plans"),
        (["check", "--subject", "vllm", "--subject-path", "/no/such"], "path='/no/such': there is no such file"),
        (["check", "--subject-timeout", "0"], "argument --subject-timeout: '0': expected a number of seconds above 0"),
        (["check", "--subject", "nowhere:Engine"], "'nowhere:Engine' cannot be loaded: ModuleNotFoundError"),
        (["check", "--subject", "planted_engines:Absent"], "cannot be loaded: AttributeError"),
        (["check", "--subject", "planted_engines:NOT_AN_ENGINE"], "is a object; expected a function (logits, k, p)"),
        (["check", "--json", "/no/such/dir/verdict.json"], "argument --json: "),
        (["check", "--json", HERE], f"argument --json: {HERE!r} is a folder, expected a file"),
        (["check", "--failures", __file__], f"argument --failures: {__file__!r} is a file, expected a folder"),
        (["check", "--failures", f"{__file__}/inside"], "inside' cannot be written: "),
        (["replay"], "the following arguments are required: FILE_OR_JSON"),
        (["replay", "{}", "{}"], "unknown argument '{}'"),
    ],
)
def test_wrong_usage(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert "--help` lists what there is" in err


@pytest.mark.parametrize("arguments", [["check"], ["replay", "{}"]])
def test_control_c_during_an_import_that_swallows_it(arguments: list[str], tmp_path: Path) -> None:
    """Parts of torch's import do; what is then half imported must not be used."""
    (tmp_path / "rich").mkdir()
    (tmp_path / "rich" / "__init__.py").write_text(
        "import signal\ntry:\n    signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt:\n    pass\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "qrita", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(qrita.__file__).parents[1])])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "qrita: interrupted\n")


def test_control_c_ends_at_once_only_there() -> None:
    before = signal.getsignal(signal.SIGINT)
    with ending_at_once():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
    seen = []

    def elsewhere() -> None:
        with ending_at_once():  # a thread may set no handler
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_reader_that_leaves_is_no_error() -> None:
    command = [sys.executable, "-m", "qrita", "replay", Recipe("equal", 40, k=7).to_json()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert (process.stderr.read(), process.wait(timeout=100)) == ("", 141)


def test_progress_in_plain_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "SECONDS_BETWEEN_LINES", 1e9)
    with screen.progress(screen.Screen(), "rows", 3) as advance:
        for failed in (0, 1, 1):
            advance(failed)
    assert capsys.readouterr().out == "rows: 3 of 3, 1 failed\n"


def test_long_lines_stay_whole(capsys: pytest.CaptureFixture[str]) -> None:
    screen.Screen().say("[bold]" + "x " * 200)
    assert capsys.readouterr().out == "[bold]" + "x " * 200 + "\n"


def test_how_to_call_the_program_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TOX_ENV_NAME", raising=False)
    python = tmp_path / "bin" / "python"
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(surroundings.shutil, "which", lambda _: str(tmp_path / "bin" / "qrita"))
    assert surroundings.program() == ["qrita"]
    monkeypatch.setenv("TOX_ENV_NAME", "check")
    assert surroundings.program() == [str(python), "-m", "qrita"]
    monkeypatch.chdir(tmp_path)
    assert surroundings.program() == [str(Path("bin/python")), "-m", "qrita"]
    monkeypatch.setattr(surroundings.shutil, "which", lambda _: None)
    monkeypatch.delenv("TOX_ENV_NAME")
    assert surroundings.program() == [str(Path("bin/python")), "-m", "qrita"]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (counted(0, "tokens"), "0 tokens"),
        (counted(1, "tokens"), "1 token"),
        (counted(1, "properties", "property"), "1 property"),
        (counted(2000, "properties", "property"), "2,000 properties"),
    ],
)
def test_numbers_with_their_nouns(said: str, expected: str) -> None:
    assert said == expected
