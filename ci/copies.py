"""What other files repeat of ci/matrix.toml: the text of those that are derived, and what is wrong in the others."""

from __future__ import annotations

import configparser
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import coverage_table
from promises import WITHOUT_TARGET
from targets import TAGS, Matrix, Stack

WRITTEN = "# Written from ci/matrix.toml by `ci/matrix.py write`."
BEGIN, END = "<!-- from ci/matrix.toml: begin -->", "<!-- from ci/matrix.toml: end -->"
COVERAGE = "docs/matrix.md"
PIP = ("PIP_CONFIG_FILE = /dev/null", "PIP_INDEX_URL = {env:QRITA_INDEX:}")
"""What keeps the caller's pip out of an environment."""
TOOLS = ("test", "toml")
"""Dependency groups that bring no Triton."""
NAMED = re.compile(r"\btox(?: [a-z]+)?(?: -\w+)*? -\w*e ([a-z][\w,-]*)|_tox\(session, \"([\w-]+)\"")
"""How files name environments."""

Found = Iterator[str]
"""Sentences that begin with the place, "FILE: ..." or "FILE, line N: ..."."""


class MarkerError(ValueError):
    """A page has not the two lines between which its tables are written; the sentence begins with the page."""


def derived(matrix: Matrix, root: Path) -> dict[str, str]:
    """The files that follow from the matrix alone: path to text.

    Raises:
        MarkerError: where the tables end, or begin, cannot be told.
    """
    files = {f"ci/stacks/{name}.txt": requirements(stack) for name, stack in matrix.stacks.items()}
    files["ci/stacks/triton.txt"] = f"{WRITTEN}\n# Beside a CPU build of torch, whose folder has none.\n" + "".join(
        f"{stack.triton}\n" for name, stack in matrix.stacks.items() if name == "cpu"
    )
    files[COVERAGE] = _with_tables(_read(root, COVERAGE), coverage_table.text(matrix))
    return files


def _with_tables(page: str, tables: str) -> str:
    """The page with these tables between its markers, or at its end where it has none."""
    if BEGIN not in page and END not in page:
        return f"{page}\n{BEGIN}\n{tables}{END}\n"
    for marker in (BEGIN, END):
        if (times := page.count(marker)) != 1:
            raise MarkerError(
                f"{COVERAGE}: expected the line {marker} once, found it {times} times; put {BEGIN} above the tables "
                f"and {END} below them, or remove both and the tables, which are then written at the end of the page"
            )
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    if len(before) + len(after) > len(page) - len(BEGIN) - len(END):
        raise MarkerError(f"{COVERAGE}: expected the line {BEGIN} above {END}, found it below; exchange them")
    return f"{before}{BEGIN}\n{tables}{END}{after}"


def requirements(stack: Stack) -> str:
    """What pip installs a stack from. Only those for GPUs name their index: the others keep pip's configuration."""
    version, _, label = stack.torch.partition("+")
    if stack.vendor == "cpu":  # only x86-64 Linux has CUDA builds under the bare version
        where = 'sys_platform == "linux" and platform_machine == "x86_64"'
        other = 'sys_platform != "linux" or platform_machine != "x86_64"'
        return f"{WRITTEN}\ntorch=={version}+{label} ; {where}\ntorch=={version} ; {other}\n"
    return f"{WRITTEN}\n--index-url {stack.wheels}\ntorch=={stack.torch}\n{stack.triton}\n"


def problems(matrix: Matrix, root: Path) -> Found:
    """Every place that does not say what the matrix says."""
    try:
        for path, text in derived(matrix, root).items():
            if _read(root, path) != text:
                yield f"{path}: not what the matrix says; run `ci/matrix.py write`"
    except MarkerError as error:
        yield str(error)
    for file in sorted((root / "ci" / "stacks").glob("*.txt")):
        if file.stem not in {*matrix.stacks, "triton"}:
            yield f"ci/stacks/{file.name}: the matrix has no such stack; remove it"
    yield from _tox_ini(matrix, root)
    yield from _linted(root)
    yield from _pins(matrix, root)
    yield from _dockerfiles(matrix, root)
    yield from _workflows(matrix, root)
    yield from _environment_names(root)


def sections(root: Path) -> dict[str, dict[str, str]]:
    """tox.ini: every environment, and the base as "", with its settings."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(root / "tox.ini", encoding="utf-8")
    found = {"": dict(parser["testenv"])} if parser.has_section("testenv") else {}
    for name in parser.sections():
        if name.startswith("testenv:"):
            found |= {each: dict(parser[name]) for each in _expanded(name.removeprefix("testenv:"))}
    return found


def _expanded(pattern: str) -> list[str]:
    """{cuda,rocm}{,-min} as cuda, cuda-min, rocm, rocm-min."""
    parts = [part.split(",") if braces else [part] for braces, part in re.findall(r"(\{)?([^{}]*)(?(1)\})", pattern)]
    return ["".join(choice) for choice in itertools.product(*parts)]


def _tox_ini(matrix: Matrix, root: Path) -> Found:
    defined = sections(root)
    base = defined.get("", {})
    if base.get("commands", "").strip() != "python ci/guard.py {env_name}" or base.get("skip_install") != "true":
        yield "tox.ini, [testenv]: expected skip_install and no command but the guard; else undefined names run it"
    for setting in sorted(set(base) - {"skip_install", "pass_env", "commands"}):
        yield f"tox.ini, [testenv], {setting}: expected none, since undefined names have it too"
    stacks = {target.environment: target.stack for target in matrix.targets.values() if target.environment}
    for environment, stack in (stacks | WITHOUT_TARGET).items():
        if environment not in defined:
            yield f"tox.ini: no [testenv:{environment}], which the matrix or ci/promises.py names"
        else:
            yield from _stack(environment, stack, matrix.stacks[stack].vendor, defined)


def _stack(environment: str, stack: str, vendor: str, defined: dict[str, dict[str, str]]) -> Found:
    """An environment has its stack; one for GPUs takes it from its own index, and no tool brings a Triton."""
    settings = defined[environment]
    place = f"tox.ini, [testenv:{environment}]"
    pins = f"-r {'{env:QRITA_STACKS:ci/stacks}' if vendor == 'cpu' else 'ci/stacks'}/{stack}.txt"
    deps = _of_factors(settings.get("deps", ""), environment)
    if deps != [pins]:
        yield f"{place}, deps: expected {pins} alone, got {deps}"
    if vendor == "cpu":
        return
    groups = _of_factors(settings.get("dependency_groups", ""), environment)
    if not set(groups) <= set(TOOLS):
        yield f"{place}, dependency_groups: expected {' or '.join(TOOLS)}, got {groups}"
    builder = settings.get("wheel_build_env", ".pkg")
    yield from _own_index(environment, settings)
    yield from _own_index(builder, defined.get(builder, {}))


def _linted(root: Path) -> Found:
    """The linters that take names, not a folder, have every name: tox knows no patterns."""
    words = [line.split() for line in sections(root).get("lint", {}).get("commands", "").splitlines()]
    for tool, pattern in (("hadolint", "*Dockerfile"), ("shellcheck", "*.sh")):
        named = {word for line in words if line[:1] == [tool] for word in line[1:] if word.startswith("docker/")}
        there = {f"docker/{file.name}" for file in (root / "docker").glob(pattern)}
        for path in sorted(there - named):
            yield f"tox.ini, [testenv:lint], commands: {tool} does not check {path}; name it there"
        for path in sorted(named - there):
            yield f"tox.ini, [testenv:lint], commands: {tool} checks {path}, which is not there; remove it"


def _own_index(environment: str, settings: dict[str, str]) -> Found:
    """Nothing of the caller's pip has a say."""
    place = f"tox.ini, [testenv:{environment}]"
    of_pip = [line for line in _of_factors(settings.get("set_env", ""), environment) if line.startswith("PIP_")]
    if sorted(of_pip) != sorted(PIP):
        yield f"{place}, set_env: expected {' and '.join(PIP)}, got {of_pip}"
    if "PIP_*" not in _of_factors(settings.get("disallow_pass_env", ""), environment):
        yield f"{place}, disallow_pass_env: expected PIP_*"


def _of_factors(setting: str, environment: str) -> list[str]:
    """The lines of a setting that hold for an environment: those with no condition and those whose factors it has."""
    factors, lines = set(environment.split("-")), []
    for line in filter(None, map(str.strip, setting.splitlines())):
        condition, value = re.fullmatch(r"(?:([\w!, -]+):\s+)?(.*)", line).groups()  # type: ignore[union-attr]
        choices = [choice.strip().split("-") for choice in condition.split(",")] if condition else [[]]
        if any(all((w.lstrip("!") in factors) != w.startswith("!") for w in wanted) for wanted in choices):
            lines.append(value)
    return lines


def _pins(matrix: Matrix, root: Path) -> Found:
    """Versions in files that are not derived."""
    oldest = matrix.stacks["cpu-min"].torch.partition("+")[0].removesuffix(".0")
    folders = {name: matrix.stacks[name].wheels for name in ("cpu", "cuda", "rocm")}
    triton = matrix.stacks["cpu"].triton
    expected = [
        ("ci/tox", r'^TOX = "(.*)"', f"tox=={matrix.tox}", 1),
        ("ci/tox", r'^WHEELS = "(.*)"', folders["cpu"], 1),
        ("pyproject.toml", r'"(tox==[^"]*)"', f"tox=={matrix.tox}", 1),
        ("pyproject.toml", r'"torch>=([^"]*)"', oldest, 1),
        ("pyproject.toml", r'"(triton==[^;"]*)[;"]', triton, 2),
        *(("README.md", rf"--index-url (\S*/{name[:2]}\w*[\d.]*)`", folder, 1) for name, folder in folders.items()),
    ]
    for path, pattern, value, times in expected:
        got = re.findall(pattern, _read(root, path), re.MULTILINE)
        if len(got) != times:
            yield f"{path}: expected {value!r} {times} times (as {pattern}), found {len(got)}"
        for other in sorted(set(got) - {value}):
            yield f"{path}: expected {value!r}, got {other!r}"
    for line, text in enumerate(_read(root, "noxfile.py").splitlines(), 1):
        if re.search(r"\d\.\d|sha256:|\b(sm_\d|gfx\d)", text) and "needs_version" not in text:
            yield f"noxfile.py, line {line}: a version, digest or architecture of its own; expected the matrix's"


def _dockerfiles(matrix: Matrix, root: Path) -> Found:
    used: dict[str, list[str]] = {}
    for name, target in matrix.targets.items():
        if target.dockerfile:
            used.setdefault(target.dockerfile, []).append(name)
    for path, names in used.items():
        if not (root / path).is_file():
            yield f"{path}: missing; the target {names[0]!r} names it"
    for file in sorted((root / "docker").glob("*Dockerfile")):
        path = f"docker/{file.name}"
        if path not in used:
            yield f"{path}: no target of the matrix names it; remove it or add one"
            continue
        text = file.read_text(encoding="utf-8")
        names = re.findall(r"^ARG TARGET=(.*)$", text, re.MULTILINE)
        if len(names) != 1 or names[0] not in used[path]:
            yield f"{path}, ARG TARGET: expected one of {', '.join(used[path])}, got {', '.join(names) or 'none'}"
            continue
        target = matrix.targets[names[0]]
        image = matrix.images[target.image or ""]
        base = f"{image.reference}@{image.digest}"
        for what, value in (("FROM ", "${BASE}"), ("ARG BASE=", base), ("ARG STACK=", target.stack)):
            got = re.findall(rf"^{what}(.*)$", text, re.MULTILINE)
            if got != [value]:
                yield f"{path}, {what.strip(' =')}: expected {value!r}, got {', '.join(got) or 'none'}"


def _workflows(matrix: Matrix, root: Path) -> Found:
    hosted = {label for runner in matrix.runners.values() if runner.hosted for label in runner.labels}
    run: set[str] = set()
    for file in sorted((root / ".github" / "workflows").glob("*.y*ml")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            place = f".github/workflows/{file.name}, line {number}"
            if (on := re.match(r"\s*runs-on:(.*)", line)) and "${{" not in line:
                label, expected = on[1].partition(" #")[0].strip(" \"'"), ", ".join(sorted(hosted))
                if label not in hosted:
                    yield f"{place}: expected a hosted label ({expected}) or the matrix's, got {label!r}"
            for own in re.findall(r"^\s*python-version:(.*)", line):
                for version in set(re.findall(r"\d[\w.]*", own)) - {matrix.python}:
                    yield f"{place}: expected Python {matrix.python}, got {version}"
            for tag in re.findall(r"(?:--tag[ =]|^\s*tag: )([a-z][\w-]*)", line):
                run.add(tag)
                if tag not in TAGS:
                    yield f"{place}: expected a tag of the matrix ({', '.join(TAGS)}), got {tag!r}"
            for target in re.findall(r"(?:--target|docker/run)[ =]([a-z][\w-]+)", line):
                if target not in matrix.targets:
                    yield f"{place}: the matrix has no target {target!r}"
    for tag in sorted({tag for target in matrix.targets.values() for tag in target.tags} - run):
        yield f".github/workflows: no workflow runs the tag {tag!r}"


def _environment_names(root: Path) -> Found:
    """Environments that documents, chores, workflows and images name."""
    defined = set(sections(root)) - {""}
    patterns = ("*.md", "docs/*.md", "noxfile.py", ".ci/*", "ci/tox", ".github/**/*.y*ml", "docker/*")
    files = {file for pattern in patterns for file in root.glob(pattern) if file.is_file()}
    for file in sorted(files):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            for names in NAMED.findall(line):
                for name in sorted(set(",".join(names).split(",")) - defined - {""}):
                    place = f"{file.relative_to(root).as_posix()}, line {number}"
                    yield f"{place}: tox.ini defines no environment {name!r}"


def _read(root: Path, path: str) -> str:
    file = root / path
    return file.read_text(encoding="utf-8") if file.is_file() else ""
