"""docker/run's commands, docker/resolve's rewriting, and what the Dockerfiles have to agree on. No engine is needed."""

from __future__ import annotations

import datetime
import fnmatch
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest
import targets

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILES = sorted((ROOT / "docker").glob("*Dockerfile"))
OLD, NEW = f"sha256:{'0' * 64}", f"sha256:{'1' * 64}"
EVIDENCE = targets.Evidence("none", datetime.date(2026, 1, 1))
MATRIX = targets.Matrix(
    tox="1",
    python="3.12",
    stacks={
        "cpu": targets.Stack("cpu", "2.0+cpu", "https://wheels/cpu"),
        "new": targets.Stack("nvidia", "2.0+cu1", "https://wheels/cu1"),
        "red": targets.Stack("amd", "2.0+rocm1", "https://wheels/rocm1"),
    },
    targets={
        "plain": targets.Target("cpu", EVIDENCE, environment="plain"),
        "green": targets.Target("new", EVIDENCE, "cuda", "sm_90", image="slim", dockerfile="docker/big.Dockerfile"),
        "red": targets.Target("red", EVIDENCE, "rocm", "gfx950", image="slim", dockerfile="docker/red.Dockerfile"),
    },
    images={"slim": targets.Image("registry/python:3.12", OLD, False, "hearsay", datetime.date(2026, 1, 1))},
)


def script(name: str) -> ModuleType:
    """A script of docker/, imported."""
    loader = SourceFileLoader(f"docker_{name}", str(ROOT / "docker" / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module  # where a dataclass looks for its types
    loader.exec_module(module)
    return module


run, resolve = script("run"), script("resolve")


def host(engine: str = "docker", user: int = 1234, **variables: str) -> object:
    return run.Host(engine, user, 55, (44, 109), variables)


def started(target: str, lender: object, *arguments: str) -> list[str]:
    return run.run_command(MATRIX, target, lender, Path("/somewhere/reports"), list(arguments))


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Puts a shell script on a PATH that holds nothing else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def add(name: str, body: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        (folder / name).chmod(0o755)

    return add


@pytest.mark.parametrize(
    ("target", "lender", "devices"),
    [
        ("green", host("docker"), ["--gpus=all"]),
        ("green", host("podman"), ["--device=nvidia.com/gpu=all"]),
        ("red", host("docker"), ["--device=/dev/kfd", "--device=/dev/dri", "--group-add=44", "--group-add=109"]),
        ("red", host("podman", 0), ["--device=/dev/kfd", "--device=/dev/dri", "--group-add=44", "--group-add=109"]),
        ("red", host("podman"), ["--device=/dev/kfd", "--device=/dev/dri", "--group-add=keep-groups"]),
    ],
)
def test_devices_of_the_vendor_by_the_number_of_their_group(target: str, lender: object, devices: list[str]) -> None:
    command = started(target, lender)
    assert [option for option in command if option.startswith(("--gpus", "--device", "--group-add"))] == devices


def test_a_lane_reads_the_checkout_and_writes_reports_as_the_caller() -> None:
    command = started("green", host(), "-k", "a b")
    assert f"--mount=type=bind,source={ROOT},target=/checkout,readonly" in command
    assert "--mount=type=bind,source=/somewhere/reports,target=/reports" in command
    assert "--user=1234:55" in command
    assert {"--env=QRITA_ENVIRONMENT=cuda", "--env=QRITA_TARGET=green"} <= set(command)
    assert command[-3:] == ["qrita-big:new", "-k", "a b"]
    assert "--pull=never" in command  # the name is free for anyone to take on a public registry


def test_ids_are_kept_where_podman_maps_them() -> None:
    assert "--userns=keep-id" in started("green", host("podman"))
    assert "--userns=keep-id" not in started("green", host("podman", 0))
    assert "--userns=keep-id" not in started("green", host("docker"))


def test_only_variables_about_the_lane_are_passed_on_and_those_that_fake_a_card_are() -> None:
    plain = started("red", host())
    command = started("red", host(HSA_OVERRIDE_GFX_VERSION="9.4.2", QRITA_EXAMPLES="/db", SECRET="x"))
    assert [option for option in command if option not in plain] == [
        "--mount=type=bind,source=/db,target=/examples",
        "--env=QRITA_EXAMPLES=/examples",
        "--env=HSA_OVERRIDE_GFX_VERSION=9.4.2",
    ]


def test_an_image_is_built_from_what_the_matrix_says_unless_the_caller_says_otherwise() -> None:
    command = run.build_command(MATRIX, "green", host(QRITA_INDEX="https://mirror"), ["BASE=mine"])
    assert [option.removeprefix("--build-arg=") for option in command if option.startswith("--build-arg=")] == [
        f"BASE=registry/python:3.12@{OLD}",
        "STACK=new",
        "TARGET=green",
        "QRITA_INDEX=https://mirror",
        "BASE=mine",
    ]
    assert f"--file={ROOT / 'docker/big.Dockerfile'}" in command
    assert command[-2:] == ["--tag=qrita-big:new", str(ROOT)]


@pytest.mark.parametrize(("name", "what"), [("plain", "has no image"), ("gren", "is not in ci/matrix.toml")])
def test_a_wrong_target_is_told_which_ones_have_an_image(name: str, what: str) -> None:
    with pytest.raises(run.RunError, match=f"target '{name}' {what}; expected one of green, red"):
        run.with_image(MATRIX, name)


def test_a_machine_without_the_device_nodes_is_told_which_one(tmp_path: Path) -> None:
    assert [sentence.split(";")[0] for sentence in run.missing("amd", tmp_path)] == [
        f"there is no {tmp_path}/kfd",
        f"there is no {tmp_path}/dri",
    ]
    (tmp_path / "dri").mkdir()
    (tmp_path / "kfd").touch()
    (tmp_path / "dxg").touch()
    assert not [*run.missing("amd", tmp_path), *run.missing("nvidia", tmp_path)]


def test_groups_are_those_of_the_nodes_found(tmp_path: Path) -> None:
    (tmp_path / "dri").mkdir()
    (tmp_path / "dri" / "card0").touch()  # for displays; the image has no use for it
    assert run.device_groups(tmp_path) == ()
    (tmp_path / "dri" / "renderD128").touch()
    assert run.device_groups(tmp_path) == (tmp_path.stat().st_gid,)
    (tmp_path / "kfd").touch()
    assert run.device_groups(tmp_path) == (tmp_path.stat().st_gid,)


def test_without_an_engine_a_sentence_says_so(program: Callable[[str, str], None]) -> None:
    with pytest.raises(run.RunError, match="found no program docker or podman"):
        run.this_host(None, dry_run=False)
    program("podman", "")
    assert run.this_host(None, dry_run=False).engine == "podman"
    with pytest.raises(run.RunError, match="found no program docker;"):
        run.this_host("docker", dry_run=False)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """docker/run with the matrix above, on a machine that has the device node."""
    monkeypatch.setattr(run, "load", lambda: MATRIX)
    monkeypatch.setattr(run, "DEVICES", {"nvidia": (("null",),)})
    monkeypatch.setenv("QRITA_REPORTS", str(tmp_path / "reports"))
    monkeypatch.delenv("QRITA_EXAMPLES", raising=False)


@pytest.mark.usefixtures("small")
def test_an_image_that_was_not_built_is_not_looked_for_elsewhere(program: Callable[[str, str], None]) -> None:
    program("docker", "exit 1")
    assert run.main(["green"]) == "docker/run: docker has no image qrita-big:new; add --build, which makes it"


@pytest.mark.usefixtures("small")
def test_a_failed_build_starts_nothing(program: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "execvp", lambda *_: pytest.fail("started"))
    program("docker", "exit 7")
    assert run.main(["green", "--build"]) == 7


@pytest.mark.usefixtures("small")
def test_it_becomes_the_container_and_prints_how(
    program: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    became: list[list[str]] = []
    monkeypatch.setattr(os, "execvp", lambda _, command: became.append(command))
    program("docker", "exit 0")
    run.main(["green", "--build", "--", "-k", "a b"])
    assert became[0][-2:] == ["-k", "a b"]
    build, start = capsys.readouterr().out.splitlines()
    assert build.startswith("docker build ")
    assert start.startswith("docker run ")
    assert start.endswith("qrita-big:new -k 'a b'")
    assert (tmp_path / "reports").is_dir()


@pytest.mark.usefixtures("small")
def test_a_dry_run_needs_no_engine_and_does_nothing(
    program: Callable[[str, str], None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run.main(["green", "--build", "--dry-run"]) == 0
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == ["build", "run"]
    assert not (tmp_path / "reports").exists()


def test_dockerfiles_differ_in_arguments_only() -> None:
    own = re.compile(r"# For .*|ARG (STACK|TARGET)=.*|    NVIDIA_.*")
    shared = {
        "\n".join(line.removesuffix(" \\") for line in file.read_text("utf-8").splitlines() if not own.fullmatch(line))
        for file in DOCKERFILES
    }
    assert len(DOCKERFILES) == 3
    assert len(shared) == 1


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.stem)
def test_a_dockerfile_promises_a_target_that_names_it(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    (name,), (stack,) = re.findall(r"^ARG TARGET=(.*)", text, re.M), re.findall(r"^ARG STACK=(.*)", text, re.M)
    matrix = targets.load()
    target = matrix.targets[name]
    # The image's own environment is its stack's name; docker/run names the environment itself.
    assert (target.dockerfile, target.stack, target.environment) == (f"docker/{file.name}", stack, stack)
    assert ("NVIDIA_DRIVER_CAPABILITIES=compute,utility" in text) == (matrix.vendor(name) == "nvidia")


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.stem)
def test_what_a_dockerfile_copies_is_in_the_build_context(file: Path) -> None:
    ignore = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignore
    kept = [line.removeprefix("!") for line in ignore if line.startswith("!")]
    stack = re.findall(r"^ARG STACK=(.*)", file.read_text("utf-8"), re.M)[0]
    copied = re.findall(r"^COPY (?:--\S+ )*(.+) \S+$", file.read_text("utf-8"), re.M)
    sources = " ".join(copied).replace("${STACK}", stack).split()
    assert len(sources) == 6
    for source in sources:
        assert (ROOT / source).is_file()
        assert any(fnmatch.fnmatch(source, pattern) or source.startswith(f"{pattern}/") for pattern in kept)


@pytest.mark.parametrize(
    ("wheels", "first", "expected"),
    [
        ("", "", []),
        ("", "--index-url https://wheels/cu1", ["--isolated", "--index-url", "https://wheels/cu1"]),
        ("https://mirror", "--index-url https://wheels/cu1", ["--isolated", "--index-url", "https://mirror"]),
        ("/wheels", "--index-url https://wheels/cu1", ["--isolated", "--no-index", "--find-links", "/wheels"]),
        ("/wheels", "", ["--isolated", "--no-index", "--find-links", "/wheels"]),
    ],
)
def test_a_stack_comes_from_one_place(tmp_path: Path, wheels: str, first: str, expected: list[str]) -> None:
    (tmp_path / "python3").write_text('#!/bin/sh\necho "$PIP_CONFIG_FILE" "$@"\nfor last; do :; done; cat "$last"\n')
    (tmp_path / "python3").chmod(0o755)
    (tmp_path / "stack.txt").write_text(f"# why\n{first}\ntorch==2.0\n")
    command = ["sh", str(ROOT / "docker/stack.sh"), str(tmp_path / "stack.txt"), wheels]
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PIP_CONFIG_FILE": "callers"}
    said = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
    config, *options = said.splitlines()[0].split()
    assert config == ("/dev/null" if expected else "callers")
    before, after = options.index("--break-system-packages"), options.index("--requirement")
    assert options[before + 1 : after] == expected
    assert said.splitlines()[1:] == ["# why", *([] if first else [""]), "torch==2.0"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The matrix and the Dockerfiles, to be rewritten."""
    root = tmp_path / "checkout"
    shutil.copytree(ROOT / "docker", root / "docker", ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
    (root / "ci").mkdir()
    shutil.copy(ROOT / "ci" / "matrix.toml", root / "ci")
    return root


def contents(root: Path) -> dict[str, str]:
    return {str(file.relative_to(root)): file.read_text("utf-8") for file in root.rglob("*") if file.is_file()}


def test_resolving_rewrites_the_matrix_and_every_dockerfile(
    checkout: Path, program: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    program("skopeo", f"echo {NEW}")
    before = contents(checkout)
    old = targets.load(checkout / "ci" / "matrix.toml").images["python-slim"]
    assert resolve.main([], checkout) == 0
    after = contents(checkout)
    assert {path for path in before if before[path] != after[path]} == {
        "ci/matrix.toml",
        *(f"docker/{file.name}" for file in DOCKERFILES),
    }
    new = targets.load(checkout / "ci" / "matrix.toml").images["python-slim"]
    assert (new.reference, new.digest, new.verified) == (old.reference, NEW, True)
    assert (new.source, new.date) == ("the registry, by skopeo", datetime.date.today())
    assert after["docker/h100.Dockerfile"] == before["docker/h100.Dockerfile"].replace(old.digest, NEW)
    comments = [re.findall(r"#.*", text["ci/matrix.toml"]) for text in (before, after)]
    assert comments[0] == comments[1]
    assert f"+ARG BASE={old.reference}@{NEW}" in capsys.readouterr().out


def test_comparing_changes_nothing(checkout: Path, program: Callable[[str, str], None]) -> None:
    before = contents(checkout)
    program("skopeo", f"echo {NEW}")
    assert resolve.main(["--check"], checkout) == 1
    program("skopeo", f"echo {targets.load().images['python-slim'].digest}")
    assert resolve.main(["--check"], checkout) == 0
    assert contents(checkout) == before


def test_a_registry_that_cannot_be_asked_is_an_error_and_changes_nothing(
    checkout: Path, program: Callable[[str, str], None]
) -> None:
    before = contents(checkout)
    assert "found no program skopeo or docker" in str(resolve.main([], checkout))
    program("skopeo", "echo no route >&2; exit 1")
    assert re.search(r"failed \(no route\); is the registry reachable", str(resolve.main([], checkout)))
    program("skopeo", "echo latest")
    assert "skopeo says 'latest'" in str(resolve.main([], checkout))
    assert contents(checkout) == before


def test_docker_tells_the_digest_of_the_index() -> None:
    told = f'{{"mediaType": "index", "digest": "{NEW}", "manifests": [{{"digest": "{OLD}"}}]}}'
    assert resolve.ask("docker", "registry/python:3.12", lambda _: told) == NEW
