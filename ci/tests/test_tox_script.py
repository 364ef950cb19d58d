"""ci/tox before it hands over to tox: what it makes of its arguments, of the matrix and of a wheel folder."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import copies
import pytest
import targets

SCRIPT = targets.ROOT / "ci" / "tox"
MATRIX = targets.load()
RUN = {name: target.environment for name, target in MATRIX.targets.items() if target.environment}


@dataclass
class Handed:
    """What the script became, instead of becoming it."""

    command: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    hint: str = ""

    @property
    def of_tox(self) -> list[str]:
        """The arguments of tox."""
        assert self.command[:4] == ["PYTHON", "-I", "-m", "tox"]
        return self.command[4:]


def words(value: object) -> str | None:
    """The name of a parameter that is a command line."""
    return " ".join(value) if isinstance(value, list) else None


def load() -> ModuleType:
    loader = SourceFileLoader("tox_script", str(SCRIPT))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, whose stack is the caller's; no variable of this run reaches it.

    It starts nothing: an argument that it fails to refuse would run tox, and that these tests again.
    """
    for name in ("TOXENV", "QRITA_TARGET", "PYTHONPATH", "TRITON_DEFAULT_FP_FUSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("QRITA_STACKS", "folder-of-the-caller")
    module = load()
    monkeypatch.setattr(module, "become", lambda *command: pytest.fail(f"it would start {command}"))
    monkeypatch.setattr(module, "python_with_tox", lambda: "PYTHON")
    return module


@pytest.fixture
def run(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Handed]:
    """Runs the script up to the point where it becomes another program."""

    def run(*args: str) -> Handed:
        handed = Handed()

        def become(command: list[str], env: dict[str, str], hint: str = "") -> int:
            handed.command, handed.env, handed.hint = command, env, hint
            return 7

        monkeypatch.setattr(script, "become", become)
        assert script.main([*args]) == 7
        return handed

    return run


def test_old_pythons_can_parse_it() -> None:
    """Else whoever runs it with one sees a syntax error, not the sentence about its version."""
    ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 6))


def test_an_old_python_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2, "final", 0))
    with pytest.raises(SystemExit, match=r"^ci/tox: Python 3\.9 \(.*\) is too old, 3\.10 or newer is needed; name one"):
        load()


def test_help() -> None:
    ended = subprocess.run([sys.executable, "-B", SCRIPT, "--help"], capture_output=True, text=True, check=True)
    assert ended.stdout.startswith("Run tox, ")
    assert "ci/tox --installed cuda-h200" in ended.stdout


@pytest.mark.parametrize(
    "args",
    [
        ["--target", "cuda-h100", "-e", "cpu"],
        ["-e", "cpu", "--target=cuda-h100"],
        ["--installed", "cuda-h100", "-ecpu"],
        ["--installed", "cuda-h100", "--target", "cuda-h100"],
        ["--installed", "", "--target", ""],
    ],
    ids=words,
)
def test_one_way_to_say_what_to_run(script: ModuleType, args: list[str]) -> None:
    with pytest.raises(SystemExit, match=r"^ci/tox: expected one of -e ENVIRONMENT, --target TARGET and --installed"):
        script.main(args)


@pytest.mark.parametrize("option", ["--target", "--installed"])
@pytest.mark.parametrize("target", ["cuda-h300", "sim-gfx90a", "cuda", ""])
def test_a_target_that_is_not_run(script: ModuleType, option: str, target: str) -> None:
    """Also an empty one, as from a variable that is not set: it must not run what tox.ini lists instead."""
    with pytest.raises(SystemExit) as error:
        script.main([option, target])
    assert str(error.value).startswith(f"ci/tox: ci/matrix.toml has no target {target!r}")
    assert str(error.value).endswith(f"expected one of {', '.join(RUN)}")


def test_the_environment_of_every_target(script: ModuleType) -> None:
    assert {name: script.environment_of(name) for name in RUN} == RUN


def test_the_environment_of_a_target_wherever_it_stands(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ci").mkdir()
    text = '[targets.a] # first\ntags = ["gpu"]\n\nstack = "s"\nenvironment= "x" # "y"\n[targets.b]\n[runners.c]\n'
    (tmp_path / "ci" / "matrix.toml").write_text(f'{text}environment = "z"\n', encoding="utf-8")
    monkeypatch.setattr(script, "ROOT", tmp_path)
    assert script.environment_of("a") == "x"
    for name in ("b", "c"):
        with pytest.raises(SystemExit, match=r"expected one of a$"):
            script.environment_of(name)


@pytest.mark.parametrize(
    ("args", "of_tox", "target"),
    [
        (["-e", "cpu"], ["-e", "cpu"], None),
        (["-e", "lint,type", "-e", "ci"], ["-e", "lint,type,ci"], None),
        (["-e", "cpu", "-r"], ["-e", "cpu", "-r"], None),
        (["-r", "-e", "cpu"], ["-e", "cpu", "-r"], None),
        (["run", "-e", "cpu", "-v"], ["run", "-e", "cpu", "-v"], None),
        (["devenv", "-e", "type", ".venv"], ["devenv", "-e", "type", ".venv"], None),
        (["list"], ["list"], None),
        ([], [], None),
        (["--target", "cuda-h100"], ["-e", "cuda"], "cuda-h100"),
        (["--target=cuda-min-rtx4090", "-r"], ["-e", "cuda-min", "-r"], "cuda-min-rtx4090"),
        (["run", "--target", "rocm-mi355x", "-v"], ["run", "-e", "rocm", "-v"], "rocm-mi355x"),
        (["-e", "cpu", "--", "-k", "x", "-e", "--target"], ["-e", "cpu", "--", "-k", "x", "-e", "--target"], None),
        (["--target", "cuda-h100", "--", "-x"], ["-e", "cuda", "--", "-x"], "cuda-h100"),
    ],
    ids=words,
)
def test_what_tox_is_told(run: Callable[..., Handed], args: list[str], of_tox: list[str], target: str | None) -> None:
    handed = run(*args)
    assert handed.of_tox == of_tox
    assert handed.env.get("QRITA_TARGET") == target
    assert handed.env["QRITA_STACKS"] == "folder-of-the-caller"
    assert handed.hint == ""


def test_a_target_replaces_the_environments_of_the_caller(
    run: Callable[..., Handed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOXENV", "cpu")
    assert run("--target", "cuda-h100").of_tox == ["-e", "cuda"]


def test_an_installed_lane(run: Callable[..., Handed], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "of-the-caller")
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    handed = run("--installed", "cuda-h200", "--", "-k", "x")
    lane = str(targets.ROOT / "ci" / "lane.py")
    assert handed.command == [sys.executable, lane, "cuda", "--installed", "--", "-k", "x"]
    assert handed.env["PYTHONPATH"] == os.pathsep.join([str(targets.ROOT / "src"), "of-the-caller"])
    assert handed.env["QRITA_TARGET"] == "cuda-h200"
    assert handed.env["TRITON_DEFAULT_FP_FUSION"] == "0"


def test_an_installed_lane_takes_no_arguments_of_tox(script: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"^ci/tox: --installed runs no tox: unknown argument '-r'; arguments"):
        script.main(["--installed", "cuda-h200", "-r"])


@pytest.mark.parametrize(
    ("names", "has"),
    [
        ("cpu", True),
        ("cpu-min", True),
        ("interpreter", True),
        ("compile", True),
        ("sim", True),
        ("type", True),
        ("check", True),
        ("lint type", True),
        ("lint", False),
        ("docs", False),
        ("ci", False),
        ("cuda", False),
        ("rocm-min check-rocm", False),
        ("nobody-defined-this", False),
        ("ALL", True),
        ("", True),  # those that tox.ini lists
    ],
)
def test_which_environments_have_a_cpu_stack(script: ModuleType, names: str, has: bool) -> None:
    assert script.has_cpu_stack({*names.split()}) == has


def test_every_environment_on_a_cpu_stack_is_known_to_have_one(script: ModuleType) -> None:
    for name, settings in copies.sections(targets.ROOT).items():
        assert not name or script.has_cpu_stack({name}) == ("QRITA_STACKS" in settings.get("deps", ""))


@pytest.mark.parametrize(
    ("args", "probes"),
    [
        (["-e", "cpu"], True),
        ([], True),
        (["-e", "lint,cpu"], True),
        (["-e", "lint"], False),
        (["--target", "cuda-h100"], False),
        (["--target", "cpu"], True),
        (["list"], False),
        (["run", "--help"], False),
    ],
    ids=words,
)
def test_who_asks_for_the_cpu_stack(
    run: Callable[..., Handed], script: ModuleType, monkeypatch: pytest.MonkeyPatch, args: list[str], probes: bool
) -> None:
    monkeypatch.delenv("QRITA_STACKS")
    monkeypatch.setattr(script, "cpu_stacks", lambda: ("chosen", "hint"))
    handed = run(*args)
    assert (handed.env.get("QRITA_STACKS"), handed.hint) == (("chosen", "hint") if probes else (None, ""))


@pytest.mark.parametrize(("variable", "probes"), [("cpu", True), ("lint", False), ("lint, cpu", True)])
def test_environments_of_the_variable_count(
    run: Callable[..., Handed], script: ModuleType, monkeypatch: pytest.MonkeyPatch, variable: str, probes: bool
) -> None:
    monkeypatch.delenv("QRITA_STACKS")
    monkeypatch.setenv("TOXENV", variable)
    monkeypatch.setattr(script, "cpu_stacks", lambda: ("chosen", "hint"))
    assert ("QRITA_STACKS" in run().env) == probes


@pytest.fixture
def folder() -> Iterator[tuple[str, list[str]]]:
    """A wheel folder that answers, and what was asked of it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/whl/cpu", asked
        server.shutdown()


@pytest.fixture
def stacks(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the script writes what tox installs from; the pins that it reads are beside it."""
    pins = tmp_path / "ci" / "stacks"
    pins.mkdir(parents=True)
    for name in ("cpu", "cpu-min", "cuda"):
        (pins / f"{name}.txt").write_text(f"torch=={name}\n", encoding="utf-8")
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "WORK", tmp_path / ".tox")
    monkeypatch.setattr(script, "WHEELS", "http://127.0.0.1:9/whl/cpu")  # nothing answers there
    return tmp_path / ".tox" / "stacks"


def contents(stacks: Path) -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(stacks.iterdir())}


def test_a_wheel_folder_that_answers_is_the_only_index(
    script: ModuleType, stacks: Path, folder: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels, asked = folder
    monkeypatch.setattr(script, "WHEELS", wheels)
    for _ in range(2):
        assert script.cpu_stacks() == (".tox/stacks", "")
        assert contents(stacks) == {
            "cpu-min.txt": f"--index-url {wheels}\ntorch==cpu-min\n",
            "cpu.txt": f"--index-url {wheels}\ntorch==cpu\n",
        }
    assert asked == ["/whl/cpu/torch/"]  # once, and not again while the pins stay


def test_a_pin_that_changes_asks_the_wheel_folder_again(
    script: ModuleType, stacks: Path, folder: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels, asked = folder
    monkeypatch.setattr(script, "WHEELS", wheels)
    script.cpu_stacks()
    (script.ROOT / "ci" / "stacks" / "cpu.txt").write_text("torch==newer\n", encoding="utf-8")
    script.cpu_stacks()
    assert contents(stacks)["cpu.txt"] == f"--index-url {wheels}\ntorch==newer\n"
    assert len(asked) == 2


def test_without_an_answer_the_pins_stand_alone(
    script: ModuleType, stacks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen, hint = script.cpu_stacks()
    assert chosen == ".tox/stacks"
    assert hint.startswith("http://127.0.0.1:9/whl/cpu did not answer; pip's own configuration is used")
    assert capsys.readouterr().out == f"ci/tox: {hint}\n"
    assert contents(stacks) == {"cpu-min.txt": "torch==cpu-min\n", "cpu.txt": "torch==cpu\n"}


def test_a_wheel_folder_that_hangs_does_not_answer(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:  # it takes the connection and says nothing
        assert script.answers(f"http://127.0.0.1:{server.getsockname()[1]}/whl/cpu/torch/") is False


def test_the_hint_follows_a_failure_only() -> None:
    for status, said in ((3, True), (0, False)):
        ended = became(f"import sys; sys.exit({status})", "HINT")
        assert ended.returncode == status
        assert ("ci/tox: if torch could not be installed above: HINT" in ended.stderr) == said


def test_without_a_hint_it_becomes_the_command() -> None:
    before, after, folder = became("import os; print(os.getpid(), os.getcwd())", "").stdout.split()
    assert (after, folder) == (before, str(targets.ROOT))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_who_is_told_to_end_waits_for_tox_and_gives_no_hint(number: signal.Signals) -> None:
    """SIGTERM reaches one process, which tells the other; Ctrl-C reaches both."""
    code = (
        "import signal, sys\n"
        f"signal.signal({int(number)}, lambda *_: sys.exit(9))\n"
        "print('ready', flush=True)\n"
        "signal.pause()\n"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen(
        becoming(code, "HINT"), stdout=pipe, stderr=pipe, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            assert [process.stdout.readline() for _ in range(2)] == [f"{process.pid}\n", "ready\n"]
            (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
            _, said = process.communicate(timeout=60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, said) == (9, "")


def became(code: str, hint: str) -> subprocess.CompletedProcess[str]:
    """What the script does with a command, in a process of its own."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(becoming(code, hint), capture_output=True, text=True, check=False, cwd="/", env=env)


def becoming(code: str, hint: str) -> list[str]:
    script = (
        "import os, runpy, sys\n"
        "print(os.getpid())\n"
        f"become = runpy.run_path({str(SCRIPT)!r})['become']\n"
        f"sys.exit(become([sys.executable, '-c', {code!r}], dict(os.environ), {hint!r}))\n"
    )
    return [sys.executable, "-Bc", script]


@pytest.fixture
def keeper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, which keeps tox in a folder of this test; what would be run is replaced by the tests."""
    module = load()
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "WORK", tmp_path)
    return module


def test_tox_is_installed_once_for_a_pin(
    keeper: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = keeper.WORK / "bootstrap-py{}.{}".format(*sys.version_info)
    commands: list[list[str]] = []

    def install(command: list[str], check: bool) -> None:
        assert check
        commands.append(command)
        (home / "bin").mkdir(parents=True, exist_ok=True)
        (home / "bin" / "python").touch()

    monkeypatch.setattr(keeper.subprocess, "run", install)
    for pin, calls in (("tox==1", 2), ("tox==1", 2), ("tox==2", 4)):
        monkeypatch.setattr(keeper, "TOX", pin)
        assert keeper.python_with_tox() == home / "bin" / "python"
        assert len(commands) == calls
        assert commands[-1][-1] == pin
    said = capsys.readouterr().out.splitlines()
    assert said == [f"ci/tox: installing {pin} into {home.name}" for pin in ("tox==1", "tox==2")]


def test_tox_that_cannot_be_installed_is_tried_again(keeper: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(command: list[str], check: bool) -> None:
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(keeper.subprocess, "run", fail)
    for _ in range(2):
        with pytest.raises(SystemExit, match=r"^ci/tox: this Python \(.*\) could not install tox==[\d.]+ into "):
            keeper.python_with_tox()


def test_a_python_without_venv_is_told_what_to_install(keeper: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"cannot make virtual environments: it lacks .*apt install python3\.\d+-venv"):
        keeper.python_with_tox()
