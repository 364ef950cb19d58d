"""ci/matrix.toml as frozen records. Whatever does not fit is an error that names the place."""

from __future__ import annotations

import dataclasses
import datetime
import re
import sys
import types
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "ci" / "matrix.toml"

VENDORS = ("cpu", "nvidia", "amd")
STATES = ("hardware", "interpreted", "simulated", "compiled", "rehearsed", "none")
TAGS = ("pull-request", "gpu", "nightly")
TRITON = {"cpu": "triton", "nvidia": "triton", "amd": "triton-rocm"}
"""Vendor to the distribution that brings the package triton."""
LABELS = {"cpu": "cpu", "nvidia": r"cu\d+", "amd": r"rocm[\d.]+"}
"""Vendor to the labels of its builds of torch."""
NEEDED = ("cpu", "cpu-min", "cuda", "rocm")
"""Stacks that README.md, pyproject.toml and the environments that no target runs in are compared with."""


class MatrixError(ValueError):
    """What is wrong in the matrix, and where."""


@dataclass(frozen=True)
class Stack:
    """An exact torch and Triton, and the one index that they come from."""

    vendor: str
    torch: str
    wheels: str
    triton: str | None = None
    minimum_driver: str | None = None


@dataclass(frozen=True)
class Image:
    """The base of container images. `verified`: whether the registry itself was asked for the digest."""

    reference: str
    digest: str
    verified: bool
    source: str
    date: datetime.date


@dataclass(frozen=True)
class Runner:
    """A pool of machines that CI sends jobs to: GitHub's (`hosted`), or ours, once one is registered (`attached`)."""

    labels: tuple[str, ...]
    hosted: bool = False
    attached: bool = False


@dataclass(frozen=True)
class Evidence:
    """What the answers of a target rest on. torch and triton: the versions it ran with, where not the stack's."""

    state: str
    date: datetime.date
    note: str = ""
    torch: str | None = None
    triton: str | None = None


@dataclass(frozen=True)
class Target:
    """Something that the suite runs on. Without an environment it is planned; without an architecture it is a CPU."""

    stack: str
    evidence: Evidence
    environment: str | None = None
    architecture: str | None = None
    wave: int | None = None
    card: str | None = None
    image: str | None = None
    dockerfile: str | None = None
    runner: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Matrix:
    """All of it."""

    tox: str
    python: str
    stacks: dict[str, Stack]
    targets: dict[str, Target]
    images: dict[str, Image] = field(default_factory=dict)
    runners: dict[str, Runner] = field(default_factory=dict)
    refused: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def environments(self) -> tuple[str, ...]:
        """The environments that targets run in, each once."""
        return tuple(dict.fromkeys(t.environment for t in self.targets.values() if t.environment))

    def vendor(self, name: str) -> str:
        """The vendor of a target's card: that of its architecture, which is compiled for beside any torch."""
        target = self.targets[name]
        if target.architecture is None:
            return self.stacks[target.stack].vendor
        return "amd" if target.architecture.startswith("gfx") else "nvidia"


def load(path: Path = FILE) -> Matrix:
    """Read and validate the matrix.

    Raises:
        MatrixError: it is not TOML, has unknown, missing or mistyped keys, or contradicts itself.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise MatrixError(f"not TOML: {error}") from None
    matrix: Matrix = _record(Matrix, values, "")
    for problem in _contradictions(matrix):
        raise MatrixError(problem)
    return matrix


def _record(kind: Any, values: object, place: str) -> Any:
    """A dataclass from a table, with every key known and typed."""
    if not isinstance(values, dict):
        raise MatrixError(f"{place}: expected a table, got {values!r}")
    fields = {f.name: f for f in dataclasses.fields(kind)}
    if unknown := sorted(set(values) - set(fields)):
        raise MatrixError(f"{_at(place, unknown[0])}: unknown key; expected one of {', '.join(fields)}")
    needed = {n for n, f in fields.items() if f.default is f.default_factory is dataclasses.MISSING}
    if missing := sorted(needed - set(values)):
        raise MatrixError(f"{place or 'the file'}: the key {missing[0]!r} is missing")
    hints = typing.get_type_hints(kind)
    return kind(**{name: _value(hints[name], value, _at(place, name)) for name, value in values.items()})


def _value(kind: Any, value: Any, place: str) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):  # X | None; TOML has no null, so a value is an X
        return _value(arguments[0], value, place)
    if dataclasses.is_dataclass(kind):
        return _record(kind, value, place)
    if origin is dict and isinstance(value, dict):
        return {name: _value(arguments[1], item, _at(place, name)) for name, item in value.items()}
    if origin is tuple and isinstance(value, list):
        return tuple(_value(arguments[0], item, place) for item in value)
    if type(value) is not kind:
        raise MatrixError(f"{place}: expected {getattr(origin or kind, '__name__', kind)}, got {value!r}")
    return value


def _at(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _contradictions(matrix: Matrix) -> typing.Iterator[str]:
    """Sentences about values that do not go together."""
    yield from _stack_problems(matrix)
    for name, image in matrix.images.items():
        if not re.fullmatch(r"sha256:[0-9a-f]{64}", image.digest):
            yield f"images.{name}.digest: expected sha256: and 64 hexadecimal digits, got {image.digest!r}"
    for name, runner in matrix.runners.items():
        if not runner.labels:
            yield f"runners.{name}.labels: expected at least one"
    for name, target in matrix.targets.items():
        yield from _target_problems(matrix, f"targets.{name}", name, target)
    yield from _shared(matrix, "stack", lambda target: target.environment)
    yield from _shared(matrix, "image", lambda target: target.dockerfile)
    yield from _shared(matrix, "runner", lambda target: None if target.card else target.environment)


def _shared(matrix: Matrix, key: str, owner: typing.Callable[[Target], str | None]) -> typing.Iterator[str]:
    """What targets of one environment, Dockerfile or lane cannot each have for themselves."""
    first: dict[str, str] = {}
    for name, target in matrix.targets.items():
        if shared := owner(target):
            other = first.setdefault(shared, name)
            expected, got = getattr(matrix.targets[other], key), getattr(target, key)
            if got != expected:
                yield f"targets.{name}.{key}: expected {expected!r}, since {other!r} shares {shared!r}, got {got!r}"


def _stack_problems(matrix: Matrix) -> typing.Iterator[str]:
    for name in NEEDED:
        if name not in matrix.stacks:
            yield f"stacks.{name}: missing; expected one of each of {', '.join(NEEDED)}"
    for vendor in matrix.refused:
        yield from _one_of("refused", vendor, VENDORS)
    for name, stack in matrix.stacks.items():
        place = f"stacks.{name}"
        yield from _one_of(f"{place}.vendor", stack.vendor, VENDORS)
        label = stack.torch.partition("+")[2]
        if not re.fullmatch(rf"\d+\.\d+\.\d+\+{LABELS[stack.vendor]}", stack.torch):
            yield f"{place}.torch: expected an exact version and a label of {stack.vendor}, got {stack.torch!r}"
        if stack.wheels.rpartition("/")[2] != label:
            yield f"{place}.wheels: expected the folder of torch's label, .../{label}, got {stack.wheels!r}"
        distribution, _, version = (stack.triton or "").partition("==")
        if stack.triton and distribution != TRITON[stack.vendor]:
            yield f"{place}.triton: expected {TRITON[stack.vendor]}==VERSION on {stack.vendor}, got {stack.triton!r}"
        if why := matrix.refused.get(stack.vendor, {}).get(version):
            yield f"{place}.triton: {version} is refused on {stack.vendor}: {why}"
        if stack.vendor != "cpu" and not (stack.triton and stack.minimum_driver):
            yield f"{place}: a stack for GPUs needs triton and minimum_driver"
        if name == "cpu" and not stack.triton:
            yield f"{place}: it needs triton, for the environments about kernels"
    for line in (("cpu", "cuda", "rocm"), ("cpu-min", "cuda-min", "rocm-min")):
        versions = {n: matrix.stacks[n].torch.partition("+")[0] for n in line if n in matrix.stacks}
        if len(set(versions.values())) > 1:
            yield f"stacks: one line of torch for every vendor, got {versions}"


def _target_problems(matrix: Matrix, place: str, name: str, target: Target) -> typing.Iterator[str]:
    yield from _one_of(f"{place}.stack", target.stack, matrix.stacks)
    yield from _one_of(f"{place}.evidence.state", target.evidence.state, STATES)
    for tag in target.tags:
        yield from _one_of(f"{place}.tags", tag, TAGS)
    if target.image is not None:
        yield from _one_of(f"{place}.image", target.image, matrix.images)
    if target.runner is not None:
        yield from _one_of(f"{place}.runner", target.runner, matrix.runners)
        yield from _exposed(matrix, place, target)
    if (target.architecture is None) != (target.wave is None):
        yield f"{place}: architecture and wave go together"
    if target.architecture and not re.fullmatch(r"sm_\d+|gfx[0-9a-f]+", target.architecture):
        yield f"{place}.architecture: expected such as sm_90 or gfx950, got {target.architecture!r}"
    if target.wave is not None:
        width = 64 if str(target.architecture).startswith("gfx9") else 32
        if target.wave != width:
            yield f"{place}.wave: expected {width} on {target.architecture}, got {target.wave}"
    if (target.image is None) != (target.dockerfile is None):
        yield f"{place}: image and dockerfile go together"
    if target.card and not target.architecture:
        yield f"{place}: a card needs an architecture"
    if target.environment is None and (target.tags or target.runner or target.evidence.state != "none"):
        yield f"{place}: without an environment it has no tags, no runner and no evidence"
    if target.environment is not None and not (target.tags and target.runner):
        yield f"{place}: with an environment it needs a runner and tags"
    vendor = matrix.stacks[target.stack].vendor
    if vendor != "cpu" and not (target.card and matrix.vendor(name) == vendor):
        yield f"{place}: on the stack {target.stack!r} it needs a card and an architecture of {vendor}"
    yield from _refused(matrix, place, name, target)


def _refused(matrix: Matrix, place: str, name: str, target: Target) -> typing.Iterator[str]:
    """The Triton of a CPU stack compiles for other vendors' cards, too."""
    version = (matrix.stacks[target.stack].triton or "").partition("==")[2]
    if why := matrix.refused.get(matrix.vendor(name), {}).get(version):
        yield f"{place}.stack: {target.stack!r} has Triton {version}, refused on {matrix.vendor(name)}: {why}"


def _exposed(matrix: Matrix, place: str, target: Target) -> typing.Iterator[str]:
    """Anybody's pull request runs what is tagged so, without an approval."""
    runner = matrix.runners.get(target.runner or "")
    if runner and not runner.hosted and "pull-request" in target.tags:
        yield f"{place}.tags: pull-request is for hosted runners, {target.runner!r} is machines of our own; remove it"


def _one_of(place: str, value: str, expected: typing.Iterable[str]) -> typing.Iterator[str]:
    if value not in expected:
        yield f"{place}: expected one of {', '.join(expected)}, got {value!r}"
