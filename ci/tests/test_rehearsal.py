"""`tox -e rocm` and `tox -e cuda`, rehearsed: real tox and pip, and indexes of stub wheels on this machine.

What is installed from where, that no other Triton is, and that the guard has the word before any test does. The indexes
also hold what must never be taken: newer builds, the placeholders named like Triton, and an index that is all hostile.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lane
import pytest
import targets
from packaging.requirements import Requirement
from packaging.version import Version
from stubs import GPUS, Served, Wheel, hatchling, path_of, plain, serving, torch, triton
from tox.tox_env.python.dependency_groups import resolve

FOLDERS = "https://download.pytorch.org/whl"
TOOLS, HOSTILE = "/tools/simple", "/hostile/simple"
TRITONS = ("triton", "triton-rocm", "pytorch-triton-rocm")
NEWER = "99.0"
NEEDED, NEEDED_NEWER = plain("filelock", "3.0"), plain("filelock", NEWER)
"""A requirement of torch that the folders of its wheels have too, and what else an index would have."""
SEEDS = re.compile(r"(pip|setuptools|wheel)-.*")
"""What virtualenv itself puts into an environment, by the version of Python."""
OURS = re.compile(r"(QRITA|PIP|TOX|PYTHON|TRITON|HSA|HYPOTHESIS|VIRTUALENV|FORCE_COLOR|PY_COLORS)\w*")
"""Variables of this run of pytest that would change the rehearsed one."""


@dataclass(frozen=True)
class Case:
    """A card as the stub torch presents it, its environment and target, and what is not to be believed of it."""

    environment: str
    vendor: str
    properties: dict[str, object]
    architecture: str
    target: str
    other_target: str
    other_triton: Wheel
    override: tuple[str, str]


CASES = [
    Case(
        environment="rocm",
        vendor="AMD",
        properties={"name": "AMD Instinct MI355X", "gcnArchName": "gfx950:sramecc+:xnack-", "warp_size": 64},
        architecture="gfx950",
        target="rocm-mi355x",
        other_target="rocm-mi300x",
        other_triton=triton("triton", NEWER),
        override=("HSA_OVERRIDE_GFX_VERSION", "9.4.2"),
    ),
    Case(
        environment="cuda",
        vendor="NVIDIA",
        properties={"name": "NVIDIA H100 80GB HBM3", "major": 9, "minor": 0, "warp_size": 32},
        architecture="sm_90",
        target="cuda-h100",
        other_target="cuda-h200",  # of the same architecture
        other_triton=triton("triton-rocm", NEWER),
        override=("TRITON_OVERRIDE_ARCH", "sm89"),
    ),
]
on_each_card = pytest.mark.parametrize("case", CASES, ids=lambda case: case.environment)


@dataclass(frozen=True)
class Ended:
    """A run of tox that ended, and the paths that were asked of the server meanwhile."""

    status: int
    stdout: str
    stderr: str
    requests: list[str]

    @property
    def sentences(self) -> list[str]:
        """What the guard said."""
        return re.findall(r"^ci/guard\.py: (.*)$", self.stderr, re.MULTILINE)

    @property
    def pytests(self) -> list[list[str]]:
        """The arguments of each pytest that was reached."""
        return [json.loads(line) for line in re.findall(r"^stub pytest (.*)$", self.stdout, re.MULTILINE)]


@dataclass(frozen=True)
class Rehearsal:
    """A copy of the checkout whose stacks come from the server."""

    root: Path
    server: Served

    def tox(self, environment: str, *options: str, card: Case | None = None, **variables: str) -> Ended:
        """What somebody types on a machine that has this card or none; options may end with -- and pytest's."""
        kept = {name: value for name, value in os.environ.items() if not OURS.fullmatch(name)}
        told = {
            "QRITA_INDEX": self.server.url + TOOLS,
            GPUS: json.dumps([card.properties] if card else []),
            "no_proxy": "127.0.0.1",
            "VIRTUALENV_NO_PERIODIC_UPDATE": "1",
            "VIRTUALENV_SYMLINK_APP_DATA": "1",
        }
        shutil.rmtree(self.root / "reports", ignore_errors=True)
        before = len(self.server.requests)
        command = [sys.executable, "-m", "tox", "-e", environment, *options]
        env = kept | told | variables
        done = subprocess.run(command, cwd=self.root, env=env, capture_output=True, text=True, timeout=300, check=False)
        print(done.stdout, done.stderr, sep="\n")  # pytest shows it where the test fails
        return Ended(done.returncode, done.stdout, done.stderr, self.server.requests[before:])

    def report(self, name: str) -> dict[str, object]:
        """lane.json of the last run, which was of this lane and no other."""
        assert [folder.name for folder in (self.root / "reports").iterdir()] == [name]
        found: dict[str, object] = json.loads((self.root / "reports" / name / "lane.json").read_text(encoding="utf-8"))
        return found

    def installed(self, environment: str) -> set[str]:
        """Name and version of every distribution that was installed into an environment."""
        found = (self.root / ".tox" / environment).glob("**/site-packages/*.dist-info")
        return {folder.stem for folder in found if not SEEDS.fullmatch(folder.name)}


@pytest.fixture(scope="module")
def rehearsal(
    root: Path, tmp_path_factory: pytest.TempPathFactory, copy_checkout: Callable[[Path], Path]
) -> Iterator[Rehearsal]:
    """One for all tests: an environment is kept for those that change nothing in it."""
    copy = copy_checkout(tmp_path_factory.mktemp("rehearsal") / "checkout")
    with serving(indexes(root)) as server:
        matrix = copy / "ci" / "matrix.toml"
        matrix.write_text(matrix.read_text(encoding="utf-8").replace(FOLDERS, f"{server.url}/whl"), encoding="utf-8")
        subprocess.run([sys.executable, "ci/matrix.py", "write"], cwd=copy, check=True)
        yield Rehearsal(copy, server)


def stacks(root: Path) -> dict[str, targets.Stack]:
    """Those of GPUs, which are named like the environments."""
    matrix = targets.load(root / "ci" / "matrix.toml")
    return {name: stack for name, stack in matrix.stacks.items() if stack.vendor != "cpu"}


def folder_of(stack: targets.Stack) -> str:
    return stack.wheels.replace(FOLDERS, "/whl")


def wheels_of(stack: targets.Stack) -> list[Wheel]:
    """What the folder of a stack has to give: torch, which requires its Triton as the real one does, and the rest."""
    name, _, version = str(stack.triton).partition("==")
    return [torch(stack.torch, (f"{name}=={version}", NEEDED.name)), triton(name, version), NEEDED]


def tools(root: Path) -> list[Wheel]:
    """What an environment wants beside its stack, at the version that is pinned or else the oldest."""
    wanted = [*resolve(root, {"test"}), *(requirement for requirement in required(root) if requirement.name != "torch")]
    here = [requirement for requirement in wanted if not requirement.marker or requirement.marker.evaluate()]
    return [plain(requirement.name, version_of(requirement)) for requirement in here]


def required(root: Path) -> list[Requirement]:
    """What this package requires."""
    return [Requirement(text) for text in pyproject(root)["project"]["dependencies"]]


def builder(root: Path) -> Wheel:
    """What builds this package, or rather has an empty one that requires the same."""
    (requirement,) = map(Requirement, pyproject(root)["build-system"]["requires"])
    return hatchling(version_of(requirement), package(root))


def package(root: Path) -> Wheel:
    return Wheel("qrita", "0", tuple(map(str, required(root))))


def pyproject(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = targets.tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return found


def version_of(requirement: Requirement) -> str:
    """The one that is pinned, or else the oldest."""
    return min((only.version for only in requirement.specifier), key=Version)


def indexes(root: Path) -> dict[str, list[Wheel]]:
    """The folders of the stacks, an index of tools and a hostile one, each with what must not be taken from it."""
    newer = [torch(NEWER, ()), *(triton(name, NEWER) for name in TRITONS)]
    folders = {folder_of(stack): wheels_of(stack) for stack in stacks(root).values()}
    everything = {wheel.filename: wheel for wheels in folders.values() for wheel in wheels}
    return {
        **{folder: [*wheels, *newer] for folder, wheels in folders.items()},
        TOOLS: [*tools(root), builder(root), *newer, NEEDED_NEWER],
        HOSTILE: [*tools(root), *newer, NEEDED_NEWER, *everything.values()],
    }


def hostile(server: Served, home: Path) -> dict[str, str]:
    """A caller whose variables, configuration files and home all lead pip to the hostile index."""
    simple, links = f"{server.url}{HOSTILE}", f"{server.url}{HOSTILE}/"
    settings = f"[global]\nindex-url = {simple}\nextra-index-url = {simple}\nfind-links = {links}\npre = true\n"
    file = home / ".config" / "pip" / "pip.conf"
    file.parent.mkdir(parents=True)
    file.write_text(settings, encoding="utf-8")
    return {
        "HOME": str(home),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),  # warm, and not of this pip
        "PIP_CONFIG_FILE": str(file),
        "PIP_INDEX_URL": simple,
        "PIP_EXTRA_INDEX_URL": simple,
        "PIP_FIND_LINKS": links,
        "PIP_PRE": "1",
    }


def refused(ended: Ended) -> str:
    """The one sentence of the guard, with which a run ended before any pytest."""
    assert ended.status != 0
    assert ended.pytests == []
    (sentence,) = ended.sentences
    return sentence


@pytest.mark.parametrize("environment", ["rocm", "cuda", "rocm-min", "cuda-min"])
def test_installs_the_stack_from_its_folder_and_the_tools_from_their_index(
    root: Path, rehearsal: Rehearsal, tmp_path: Path, environment: str
) -> None:
    stack = stacks(root)[environment]
    expected = {folder_of(stack): wheels_of(stack), TOOLS: [*tools(root), builder(root)]}
    paths = [path_of(folder, wheel) for folder, wheels in expected.items() for wheel in wheels]
    names = {wheel.stem for wheels in expected.values() for wheel in wheels}

    for caller in ({}, hostile(rehearsal.server, tmp_path / "home")):
        ended = rehearsal.tox(environment, "-r", **caller)
        taken = [path for path in ended.requests if path.endswith(".whl")]
        assert sorted(taken) == sorted(paths)
        assert [path for path in ended.requests if path.startswith(HOSTILE)] == []
        assert rehearsal.installed(environment) == {*names, package(root).stem} - {builder(root).stem}
        assert f"but torch {stack.torch} finds no GPU here" in refused(ended)


@on_each_card
def test_is_refused_without_a_gpu(rehearsal: Rehearsal, case: Case) -> None:
    ended = rehearsal.tox(case.environment)
    sentence = refused(ended)
    assert sentence.startswith(f"environment {case.environment!r} promises an {case.vendor} GPU, but torch ")
    assert f"run it on a machine with an {case.vendor} GPU" in sentence
    report = rehearsal.report(case.environment)
    assert (report["outcome"], report["reason"]) == ("refused", sentence)
    assert (report["card"], report["finished"]) == (None, None)


@on_each_card
@pytest.mark.parametrize("named", [False, True], ids=["any card", "this card"])
def test_reaches_pytest_on_its_card(root: Path, rehearsal: Rehearsal, case: Case, named: bool) -> None:
    variables = {"QRITA_TARGET": case.target} if named else {}
    ended = rehearsal.tox(case.environment, "--", "-k", "oracle", card=case, **variables)
    assert (ended.status, ended.sentences) == (0, [])

    name = case.target if named else case.environment
    for number, (call, reached) in enumerate(zip(lane.SUITES[case.environment].calls, ended.pytests, strict=True), 1):
        reports = rehearsal.root / "reports" / name
        written = [f"--junit-xml={reports / f'results-{number}.xml'}", f"--records={reports / 'records'}"]
        assert reached[-4:] == [*written, "-k", "oracle"]
        assert {*reached[:-4]} == {*lane.PYTEST, "--timeout", "300", *call.arguments}

    stack = stacks(root)[case.environment]
    expected = {
        "schema": 1,
        "lane": name,
        "targets": [case.target],
        "environment": case.environment,
        "state": "hardware",
        "installed": False,
        "card": case.properties["name"],
        "architecture": case.architecture,
        "wave": case.properties["warp_size"],
        "torch": stack.torch,
        "triton": str(stack.triton).replace("==", " "),
        "fusion": "0",
        "overrides": {},
        "profile": "pr",
        "command": f"ci/tox {'--target' if named else '-e'} {name} -- -k oracle",
        "outcome": "passed",
        "reason": "",
    }
    report = rehearsal.report(name)
    assert {key: report[key] for key in expected} == expected
    assert report["finished"] is not None


@on_each_card
def test_is_refused_on_another_card_than_its_target(rehearsal: Rehearsal, case: Case) -> None:
    ended = rehearsal.tox(case.environment, card=case, QRITA_TARGET=case.other_target)
    sentence = refused(ended)
    assert sentence.startswith(f"target {case.other_target!r} promises an {case.vendor} GPU, ")
    assert f"but found {case.properties['name']} ({case.architecture})" in sentence
    report = rehearsal.report(case.other_target)
    assert (report["outcome"], report["reason"]) == ("refused", sentence)
    assert report["card"] == case.properties["name"]


@on_each_card
def test_is_refused_where_a_variable_hides_the_architecture(rehearsal: Rehearsal, case: Case) -> None:
    name, value = case.override
    ended = rehearsal.tox(case.environment, card=case, **{name: value})
    sentence = refused(ended)
    assert f"but {name}={value} hides it" in sentence
    report = rehearsal.report(case.environment)
    assert (report["outcome"], report["reason"], report["overrides"]) == ("refused", sentence, {name: value})


@on_each_card
def test_is_refused_with_a_second_triton_until_made_anew(root: Path, rehearsal: Rehearsal, case: Case) -> None:
    rehearsal.tox(case.environment)  # so that there is an environment
    python = rehearsal.root / ".tox" / case.environment / "bin" / "python"
    other = f"{case.other_triton.name}=={case.other_triton.version}"
    pip = [python, "-m", "pip", "install", "--isolated", "--no-deps", "--index-url", rehearsal.server.url + HOSTILE]
    subprocess.run([*pip, other], env={**os.environ, "PIP_CONFIG_FILE": os.devnull}, check=True)
    ended = rehearsal.tox(case.environment, card=case)
    anew = rehearsal.tox(case.environment, "-r", card=case)

    found = sorted(pin.replace("==", " ") for pin in (other, str(stacks(root)[case.environment].triton)))
    assert f"exactly one Triton, but found {' and '.join(found)};" in refused(ended)
    assert (anew.status, anew.sentences) == (0, [])


@pytest.mark.parametrize("environment", ["py{}{}-rocm".format(*sys.version_info), "rocm-cpu"])
def test_names_that_nobody_defined_end_at_the_guard(rehearsal: Rehearsal, environment: str) -> None:
    ended = rehearsal.tox(environment)
    assert f"the environment {environment!r}" in refused(ended) or f"no environment {environment!r}" in refused(ended)
    assert ended.requests == []
    assert rehearsal.installed(environment) == set()


def test_names_that_tox_does_not_know_end_there(rehearsal: Rehearsal) -> None:
    ended = rehearsal.tox("cudaa")
    assert ended.status != 0
    assert "cudaa" in ended.stdout + ended.stderr
    assert ended.requests == []
    assert not (rehearsal.root / ".tox" / "cudaa").exists()
