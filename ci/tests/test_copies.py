"""Whoever breaks a copy of the matrix is told the place by `ci/matrix.py check`: each copy is broken here in turn."""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import copies
import coverage_table
import matrix
import pytest
import targets

MATRIX = targets.load()


@dataclass(frozen=True)
class Breakage:
    """A change of one file, and how the problem begins that it has to bring.

    Attributes:
        old: a pattern, whose first match becomes `new`; "" is the end of the file, which may be a new one.
        new: the text in its place; None removes the file.
    """

    file: str
    old: str
    new: str | None
    place: str

    @contextlib.contextmanager
    def of(self, root: Path) -> Iterator[None]:
        """The tree is broken meanwhile."""
        file = root / self.file
        before = file.read_text(encoding="utf-8") if file.is_file() else None
        if self.new is None:
            file.unlink()
        else:
            file.write_text(self._broken(before or ""), encoding="utf-8")
        try:
            yield
        finally:
            file.unlink(missing_ok=True)
            if before is not None:
                file.write_text(before, encoding="utf-8")

    def _broken(self, text: str) -> str:
        if not self.old:
            return f"{text}{self.new}"
        broken = re.sub(self.old, lambda _: str(self.new), text, count=1, flags=re.MULTILINE)
        assert broken != text, f"{self.old} is not in {self.file}: nothing was broken"
        return broken


def written(file: str, old: str, new: str | None) -> Breakage:
    return Breakage(file, old, new, f"{file}: not what the matrix says; run `ci/matrix.py write`")


def tox_ini(old: str, new: str, place: str) -> Breakage:
    return Breakage("tox.ini", old, new, f"tox.ini{place}")


def workflow(new: str, problem: str) -> Breakage:
    """One more workflow, whose second line is wrong."""
    return Breakage(".github/workflows/new.yml", "", f"name: new\n{new}", f".github/workflows/new.yml, line {problem}")


DOCKERFILES = sorted({target.dockerfile for target in MATRIX.targets.values() if target.dockerfile})

BREAKAGES = [
    # What is derived.
    *(written(f"ci/stacks/{name}.txt", r"torch==[\d.]+", "torch==2.9.1") for name in MATRIX.stacks),
    *(written(f"ci/stacks/{name}.txt", "", None) for name in MATRIX.stacks),
    written("ci/stacks/cuda.txt", r"^triton==", "triton-rocm=="),
    written("ci/stacks/rocm.txt", r"^--index-url", "--extra-index-url"),
    written("ci/stacks/triton.txt", r"==.*", "==3.8.0"),
    written("ci/stacks/triton.txt", "", None),
    Breakage("ci/stacks/stray.txt", "", "torch\n", "ci/stacks/stray.txt: the matrix has no such stack; remove it"),
    written("docs/matrix.md", r"\| \*\*hole\*\*", "| cuda-h100"),
    written("docs/matrix.md", r"rehearsed only, [\d-]+", "run on hardware, 2026-11-30"),
    Breakage("docs/matrix.md", re.escape(copies.END), "", f"docs/matrix.md: expected the line {copies.END} once"),
    written("docs/matrix.md", "", None),
    # tox.ini: names that nobody defined.
    tox_ini(r"^commands = python ci/guard.py \{env_name\}", "commands = pytest", ", [testenv]: expected skip_install"),
    tox_ini(r"ci/guard.py \{env_name\}$", "ci/guard.py {env_name}\n    pytest", ", [testenv]: expected skip_install"),
    tox_ini(r"^skip_install = true\n", "", ", [testenv]: expected skip_install"),
    tox_ini(r"^skip_install = true\n", "skip_install = true\ndeps = torch\n", ", [testenv], deps: expected none"),
    tox_ini(
        r"^skip_install = true\n",
        "skip_install = true\ndependency_groups = test\n",
        ", [testenv], dependency_groups: expected none",
    ),
    tox_ini(
        r"^skip_install = true\n",
        "skip_install = true\ncommands_post = pytest\n",
        ", [testenv], commands_post: expected none",
    ),
    tox_ini(r"^\[testenv\]\n", "[other]\n", ", [testenv]: expected skip_install"),
    # tox.ini: environments with torch.
    tox_ini(r"cpu,cpu-min,", "cpu,", ": no [testenv:cpu-min]"),
    tox_ini(r"compile,sim,", "compile,", ": no [testenv:sim]"),
    tox_ini(r"type,check\b", "type", ": no [testenv:check]"),
    tox_ini(r"rocm,rocm-min", "rocm", ": no [testenv:rocm-min]"),
    tox_ini(r"check-cuda,check-rocm", "check-rocm", ": no [testenv:check-cuda]"),
    tox_ini(r"ci/stacks\}/cpu\.txt", "ci/stacks}/cpu-min.txt", ", [testenv:cpu], deps: expected -r "),
    tox_ini(r"!min: -r \{env:QRITA_STACKS:ci/stacks\}/cpu\.txt", "torch>=2.10", ", [testenv:cpu], deps: expected -r "),
    tox_ini(r"ci/stacks/cuda\.txt", "ci/stacks/cuda-min.txt", ", [testenv:cuda], deps: expected -r ci/stacks/cuda.txt"),
    tox_ini(r"ci/stacks/rocm\.txt", "ci/stacks/cuda.txt", ", [testenv:rocm], deps: expected -r ci/stacks/rocm.txt"),
    tox_ini(
        r"    rocm-min: -r ci/stacks/rocm-min\.txt\n",
        "    rocm-min: -r ci/stacks/rocm-min.txt\n    rocm: numpy\n",
        ", [testenv:rocm], deps: expected -r ci/stacks/rocm.txt alone, got ",
    ),
    tox_ini(r"    cuda-!min: (?=-r ci)", "    cuda, rocm: ", ", [testenv:rocm], deps: expected -r ci/stacks/rocm.txt"),
    tox_ini(r"    PIP_CONFIG_FILE = /dev/null\n", "", ", [testenv:cuda], set_env: expected PIP_CONFIG_FILE"),
    tox_ini(r"    PIP_CONFIG_FILE =", "    cuda: PIP_CONFIG_FILE =", ", [testenv:rocm], set_env: expected PIP_CONFIG_"),
    tox_ini(r"\{env:QRITA_INDEX:\}", "{env:PIP_INDEX_URL:}", ", [testenv:cuda], set_env: expected PIP_CONFIG_FILE"),
    tox_ini(
        r"^    PIP_INDEX_URL",
        "    PIP_EXTRA_INDEX_URL = {env:PIP_EXTRA_INDEX_URL:}\n    PIP_INDEX_URL",
        ", [testenv:rocm], set_env: expected PIP_CONFIG_FILE",
    ),
    tox_ini(r"^disallow_pass_env = PIP_\*\n", "", ", [testenv:cuda], disallow_pass_env: expected PIP_*"),
    tox_ini(r"^disallow_pass_env = ", "disallow_pass_env = cuda: ", ", [testenv:rocm], disallow_pass_env: expected"),
    tox_ini(r"!check: test", "!check: kernels", ", [testenv:rocm], dependency_groups: expected test or toml, got "),
    # tox.ini: the environment that builds the package for those.
    tox_ini(r"^wheel_build_env = .pkg-gpu\n", "", ", [testenv:.pkg], set_env: expected PIP_CONFIG_FILE"),
    tox_ini(r"^\[testenv:.pkg-gpu\]\n", "[testenv:.pkg-other]\n", ", [testenv:.pkg-gpu], disallow_pass_env: expected"),
    # tox.ini: what is linted.
    tox_ini(r" docker/mi355x\.Dockerfile", "", ", [testenv:lint], commands: hadolint does not check docker/mi355x.D"),
    tox_ini(r"^    hadolint .*\n", "", ", [testenv:lint], commands: hadolint does not check docker/h100.Dockerfile"),
    tox_ini(r"^    hadolint", "    hadolint docker/x.Dockerfile", ", [testenv:lint], commands: hadolint checks docker"),
    tox_ini(r" docker/tox\.sh", "", ", [testenv:lint], commands: shellcheck does not check docker/tox.sh"),
    Breakage("docker/new.sh", "", "#!/bin/sh\n", "tox.ini, [testenv:lint], commands: shellcheck does not check "),
    # Versions elsewhere.
    Breakage("ci/tox", r'^TOX = ".*"', 'TOX = "tox==4.0.0"', "ci/tox: expected 'tox=="),
    Breakage("ci/tox", r"^TOX = .*", "TOX = pin()", "ci/tox: expected 'tox=="),
    Breakage("ci/tox", r'^WHEELS = ".*"', 'WHEELS = "https://example.org/whl/cpu"', "ci/tox: expected 'https://"),
    Breakage("pyproject.toml", r'"torch>=[\d.]+"', '"torch>=2.9"', "pyproject.toml: expected '2."),
    Breakage("pyproject.toml", r'"torch>=[\d.]+"', '"torch"', "pyproject.toml: expected '2."),
    Breakage("pyproject.toml", r'"tox==[\d.]+"', '"tox==4.0.0"', "pyproject.toml: expected 'tox=="),
    Breakage("pyproject.toml", r"triton==[\d.]+;", "triton==3.8.0;", "pyproject.toml: expected 'triton=="),
    Breakage("pyproject.toml", r'triton==[\d.]+"', 'triton==3.8.0"', "pyproject.toml: expected 'triton=="),
    Breakage("README.md", r"whl/cpu`", "whl/cpu-cxx11-abi`", "README.md: expected 'https://"),
    Breakage("README.md", r"whl/cu\d+`", "whl/cu118`", "README.md: expected 'https://"),
    Breakage("README.md", r"whl/rocm[\d.]+`", "whl/rocm6.4`", "README.md: expected 'https://"),
    Breakage("README.md", "", "`--index-url https://download.pytorch.org/whl/cu118`", "README.md: expected 'https://"),
    Breakage("noxfile.py", r"\A", 'PYTHON = "3.12"\n', "noxfile.py, line 1: a version"),
    Breakage("noxfile.py", r"\A", 'BASE = "python@sha256:0"\n', "noxfile.py, line 1: a version"),
    Breakage("noxfile.py", r"\A", 'CARDS = ["gfx950"]\n', "noxfile.py, line 1: a version"),
    # Images.
    *(Breakage(file, "", None, f"{file}: missing; the target ") for file in DOCKERFILES),
    *(Breakage(file, r"^ARG BASE=.*", "ARG BASE=python:3.12", f"{file}, ARG BASE: ") for file in DOCKERFILES),
    *(Breakage(file, r"^ARG STACK=.*", "ARG STACK=cpu-min", f"{file}, ARG STACK: ") for file in DOCKERFILES),
    *(Breakage(file, r"^ARG STACK=.*\n", "", f"{file}, ARG STACK: expected ") for file in DOCKERFILES),
    *(Breakage(file, r"^ARG TARGET=.*", "ARG TARGET=cpu", f"{file}, ARG TARGET: ") for file in DOCKERFILES),
    *(Breakage(file, r"^FROM .*", "FROM python:3.12", f"{file}, FROM: expected ") for file in DOCKERFILES),
    Breakage("docker/new.Dockerfile", "", "FROM x\n", "docker/new.Dockerfile: no target of the matrix names it"),
    # Workflows.
    workflow("runs-on: [self-hosted, gpu]\n", "2: expected a hosted label"),
    workflow("runs-on: ubuntu-latest # newest\n", "2: expected a hosted label"),
    workflow("runs-on:\n  - gpu\n", "2: expected a hosted label"),
    workflow('python-version: "3.10"\n', "2: expected Python "),
    workflow('python-version: ["3.10", "3.11"]\n', "2: expected Python "),
    workflow("run: ci/matrix.py jobs --tag weekly\n", "2: expected a tag of the matrix"),
    workflow("tag: weekly\n", "2: expected a tag of the matrix"),
    workflow("run: ci/tox --target cuda-h300\n", "2: the matrix has no target 'cuda-h300'"),
    workflow("run: docker/run cuda-h300\n", "2: the matrix has no target 'cuda-h300'"),
    Breakage(
        ".github/workflows/nightly.yml", r"^( *)tag: nightly", r"    # none", ".github/workflows: no workflow runs "
    ),
    # Names of environments.
    workflow("run: ci/tox -e cpu,gpu\n", "2: tox.ini defines no environment 'gpu'"),
    Breakage(".github/new.yaml", "", "run: tox -e gpu\n", ".github/new.yaml, line 1: tox.ini defines no environment"),
    Breakage("README.md", r"\A", "`tox -e gpu`\n", "README.md, line 1: tox.ini defines no environment 'gpu'"),
    Breakage("README.md", r"\A", "`tox run -e gpu`\n", "README.md, line 1: tox.ini defines no environment 'gpu'"),
    Breakage("README.md", r"\A", "`ci/tox -re gpu`\n", "README.md, line 1: tox.ini defines no environment 'gpu'"),
    Breakage("CONTRIBUTING.md", r"\A", "`ci/tox -q -e gpu`\n", "CONTRIBUTING.md, line 1: tox.ini defines no env"),
    Breakage("docs/new.md", "", "\n`ci/tox -e gpu`\n", "docs/new.md, line 2: tox.ini defines no environment 'gpu'"),
    Breakage("docker/new.sh", "", "tox -e gpu\n", "docker/new.sh, line 1: tox.ini defines no environment 'gpu'"),
    Breakage("noxfile.py", "", '    _tox(session, "gpu")\n', "noxfile.py, line "),
    Breakage(".ci/run", "", "\nci/tox -e gpu\n", ".ci/run, line "),
    Breakage("ci/tox", r"ci/tox -e compile", "ci/tox -e gpu", "ci/tox, line "),
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, copy_checkout: Callable[[Path], Path]) -> Path:
    """A copy of the checkout. Whoever breaks it makes it whole again."""
    return copy_checkout(tmp_path_factory.mktemp("tree"))


def said(root: Path) -> list[str]:
    """What the check says."""
    answer = matrix.main(["check"], root)
    prefix = "ci/matrix.py check: "
    lines = answer.splitlines() if isinstance(answer, str) else []
    assert all(line.startswith(prefix) for line in lines)
    assert lines or answer == 0
    return [line.removeprefix(prefix) for line in lines]


def test_the_checkout_passes(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(tree) == []
    assert "every copy agrees" in capsys.readouterr().out


def test_an_image_that_nobody_verified_is_noted(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verified in (True, False):
        with Breakage("ci/matrix.toml", r"^verified = .*", f"verified = {str(verified).lower()} # now", "").of(tree):
            assert said(tree) == []
        assert ("was not verified" in capsys.readouterr().out) != verified


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda b: f"{b.file}: {b.new}")
def test_a_broken_copy_is_named(tree: Path, breakage: Breakage) -> None:
    with breakage.of(tree):
        problems = said(tree)
    assert any(problem.startswith(breakage.place) for problem in problems), problems
    assert len(problems) == len(set(problems))


@pytest.mark.parametrize(
    "breakage",
    [breakage for breakage in BREAKAGES if breakage.place.endswith("run `ci/matrix.py write`")],
    ids=lambda b: f"{b.file}: {b.new}",
)
def test_what_is_derived_is_written_again(tree: Path, capsys: pytest.CaptureFixture[str], breakage: Breakage) -> None:
    with breakage.of(tree):
        assert matrix.main(["write"], tree) == 0
        assert capsys.readouterr().out == f"ci/matrix.py: wrote {breakage.file}\n"
        assert said(tree) == []


def test_writing_twice_writes_nothing(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert matrix.main(["write"], tree) == 0
    assert capsys.readouterr().out == ""


def test_what_a_person_wrote_around_the_table_stays(tree: Path) -> None:
    page = f"before\n{copies.BEGIN}\nold\n{copies.END}\nafter\n"
    with Breakage(copies.COVERAGE, r"(?s)\A.*\Z", page, "").of(tree):
        matrix.main(["write"], tree)
        now = (tree / copies.COVERAGE).read_text(encoding="utf-8")
    assert now == page.replace("old\n", coverage_table.text(MATRIX))


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (f"before\n{copies.BEGIN}\nold\nafter\n", f"expected the line {copies.END} once, found it 0 times; put "),
        (f"before\nold\n{copies.END}\nafter\n", f"expected the line {copies.BEGIN} once, found it 0 times; put "),
        (2 * f"{copies.BEGIN}\n{copies.END}\n", f"expected the line {copies.BEGIN} once, found it 2 times; put "),
        (f"{copies.BEGIN}\n" + 2 * f"{copies.END}\n", f"expected the line {copies.END} once, found it 2 times; put "),
        (f"{copies.END}\n{copies.BEGIN}\n", f"expected the line {copies.BEGIN} above {copies.END}, found it below; "),
    ],
    ids=["no end", "no begin", "two of both", "two ends", "exchanged"],
)
def test_where_the_tables_stand_is_not_guessed(tree: Path, page: str, problem: str) -> None:
    """An error that names the marker, and no file is written: those before it neither."""
    stack = written("ci/stacks/cuda.txt", r"torch==[\d.]+", "torch==2.9.1")
    with Breakage(copies.COVERAGE, r"(?s)\A.*\Z", page, "").of(tree), stack.of(tree):
        broken = (tree / stack.file).read_text(encoding="utf-8")
        assert str(matrix.main(["write"], tree)).startswith(f"ci/matrix.py write: docs/matrix.md: {problem}")
        assert (tree / copies.COVERAGE).read_text(encoding="utf-8") == page
        assert (tree / stack.file).read_text(encoding="utf-8") == broken
        assert any(sentence.startswith(f"docs/matrix.md: {problem}") for sentence in said(tree))


def test_a_page_without_markers_gets_both_in_one_run(tree: Path) -> None:
    with Breakage(copies.COVERAGE, r"(?s)\A.*\Z", "before\n", "").of(tree):
        assert matrix.main(["write"], tree) == 0
        assert (tree / copies.COVERAGE).read_text(encoding="utf-8").startswith(f"before\n\n{copies.BEGIN}\n| target |")
        assert said(tree) == []


def values_of(name: str) -> set[tuple[str, str]]:
    """What a target's answers were found with, by axis."""
    target = MATRIX.targets[name]
    stack, vendor = MATRIX.stacks[target.stack], MATRIX.vendor(name)
    pairs = {
        "vendor": {"cpu": "CPU", "nvidia": "NVIDIA", "amd": "AMD"}[vendor],
        "architecture": target.architecture,
        "wave": target.wave,
        "card": target.card,
        "torch": (target.evidence.torch or stack.torch) if vendor == stack.vendor else None,
    }
    return {(axis, str(value)) for axis, value in pairs.items() if value is not None}


def test_the_coverage_table_claims_what_the_evidence_says() -> None:
    text = coverage_table.text(MATRIX).partition("| axis |")[2]
    rows = re.findall(r"^\| (\w+) \| (.+) \| (.+) \| (.+) \|$", text, re.MULTILINE)
    claimed: dict[str, set[tuple[str, str]]] = {}
    for axis, value, run, rest in rows:
        names = [] if run == coverage_table.HOLE else run.split(", ")
        assert all(MATRIX.targets[name].evidence.state == "hardware" for name in names)
        weaker = [cell.rstrip(")").split(" (") for cell in rest.split(", ") if cell != "-"]
        assert all(MATRIX.targets[name].evidence.state == state != "hardware" for name, state in weaker)
        for name in [*names, *(name for name, _ in weaker)]:
            claimed.setdefault(name, set()).add((axis, value))
    assert claimed == {n: values_of(n) for n, target in MATRIX.targets.items() if target.evidence.state != "none"}
    in_matrix = {pair for name in MATRIX.targets for pair in values_of(name)}
    assert {(axis, value) for axis, value, *_ in rows} >= in_matrix  # what nothing covers is a hole, not left out


def test_the_table_of_targets() -> None:
    text = coverage_table.text(MATRIX).partition("\n\n")[0]
    for name, target in MATRIX.targets.items():
        (row,) = re.findall(rf"^\| {name} \| (.+) \|$", text, re.MULTILINE)
        cells = row.split(" | ")
        stack = MATRIX.stacks[target.stack]
        assert cells[0] == (target.environment or "-")
        assert cells[1].startswith(f"{target.architecture}, wave of {target.wave}" if target.architecture else "CPU")
        assert cells[2:4] == [stack.torch, (stack.triton or "-").replace("==", " ")]
        assert (str(target.evidence.date) in cells[4]) == (target.evidence.state != "none")
        assert (target.evidence.torch or "") in cells[4]


def test_every_sentence_of_the_checker_is_said(tree: Path) -> None:
    """None of its rules is one that never finds anything."""
    source = ast.parse(inspect.getsource(copies))
    rules = {node.lineno: node.end_lineno or node.lineno for node in ast.walk(source) if isinstance(node, ast.Yield)}
    reached = set[int]()
    for breakage in BREAKAGES:
        with breakage.of(tree):
            reached |= set(yielding(copies.problems(MATRIX, tree)))
    silent = [start for start, end in rules.items() if not reached & set(range(start, end + 1))]
    assert silent == [], f"lines of ci/copies.py whose sentence no breakage here brings: {silent}"


def yielding(generator: Iterator[str]) -> Iterator[int]:
    """The line of each `yield` that gave a value, in whichever generator it stands."""
    for _ in generator:
        inner = generator
        while inner.gi_yieldfrom is not None:  # type: ignore[attr-defined]
            inner = inner.gi_yieldfrom  # type: ignore[attr-defined]
        yield inner.gi_frame.f_lineno  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("cpu", ["cpu"]),
        ("{cuda,rocm}", ["cuda", "rocm"]),
        ("{cuda,rocm}{,-min}", ["cuda", "cuda-min", "rocm", "rocm-min"]),
        ("check-{cuda,rocm}", ["check-cuda", "check-rocm"]),
    ],
)
def test_headings_with_braces_are_expanded(tmp_path: Path, pattern: str, names: list[str]) -> None:
    (tmp_path / "tox.ini").write_text(f"[testenv:{pattern}]\nskip_install = true\n", encoding="utf-8")
    assert list(copies.sections(tmp_path)) == names
