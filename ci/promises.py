"""What an environment promises, and the one sentence that says how it was not kept. Pure: facts in, sentence out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from facts import FUSION, Facts
from targets import Matrix

WITHOUT_TARGET = {"type": "cpu", "check": "cpu", "browser": "cpu", "check-cuda": "cuda", "check-rocm": "rocm"}
"""Environments with torch that no target runs in, and their stacks."""
BUILDS = {"cpu": "a CPU build of torch", "nvidia": "a CUDA build of torch", "amd": "a ROCm build of torch"}
CARDS = {"nvidia": "NVIDIA", "amd": "AMD"}


@dataclass(frozen=True)
class Promise:
    """What must be so before anything runs.

    Attributes:
        environment: of tox.ini.
        stack: name of the stack in the matrix; pins: its distributions and versions, None where nothing is installed
            and the machine's own torch and Triton are taken.
        vendor: of the build of torch; "" is any.
        gpu: whether a card must be there.
        kernels: whether kernels are compiled or interpreted, so Triton and its settings matter.
        target, architecture, card: the exact card, where one was named.
    """

    environment: str
    stack: str
    pins: dict[str, frozenset[str]] | None
    vendor: str
    gpu: bool = False
    kernels: bool = False
    target: str | None = None
    architecture: str | None = None
    card: str | None = None


class NoPromiseError(ValueError):
    """There is no such environment or target; the sentence says which there are."""


def promise(matrix: Matrix, environment: str, target: str | None, installed: bool, root: Path) -> Promise:
    """What an environment promises, with a target that was named for it.

    Raises:
        NoPromiseError: nobody defined the environment, or the target does not run in it.
    """
    named = matrix.targets.get(target or "")
    if target and (named is None or named.environment != environment):
        runs = [n for n, t in matrix.targets.items() if t.environment == environment]
        expected = f"expected one of {', '.join(runs)}" if runs else "no target does, so unset QRITA_TARGET"
        raise NoPromiseError(f"target {target!r} does not run in the environment {environment!r}; {expected}")
    stacks = {t.environment: t.stack for t in matrix.targets.values() if t.environment} | WITHOUT_TARGET
    if environment not in stacks:
        raise NoPromiseError(
            f"tox.ini defines no environment {environment!r}; `ci/tox list` shows those that it defines"
        )
    stack = matrix.stacks[stacks[environment]]
    kernels = stack.vendor != "cpu" or environment in ("interpreter", "compile", "sim")
    files = [f"ci/stacks/{stacks[environment]}.txt"] + ["ci/stacks/triton.txt"] * (kernels and stack.vendor == "cpu")
    return Promise(
        environment=environment,
        stack=stacks[environment],
        pins=None if installed else pins("".join((root / file).read_text(encoding="utf-8") for file in files)),
        vendor=stack.vendor,
        gpu=stack.vendor != "cpu",
        kernels=kernels,
        target=target,
        architecture=named.architecture if named and stack.vendor != "cpu" else None,
        card=named.card if named else None,
    )


def pins(requirements: str) -> dict[str, frozenset[str]]:
    """Name to the versions that requirements pin for it, for one platform or another."""
    found: dict[str, frozenset[str]] = {}
    for name, version in re.findall(r"^([\w-]+)==([\w.+]+)", requirements, re.MULTILINE):
        found[name] = found.get(name, frozenset()) | {version}
    return found


def broken(made: Promise, facts: Facts, matrix: Matrix) -> str | None:
    """One sentence: what was promised, what was found, what to do instead. None where the promise is kept."""
    if facts.build is None:
        return f"{_who(made)} promises {BUILDS[made.vendor]}, but {facts.trouble or 'there is none'}; {_anew(made)}"
    for rule in (_overrides, _distributions, _pinned, _build, _versions, _fusion, _cards):
        if sentence := rule(made, facts, matrix):
            return sentence
    return None


def _anew(made: Promise) -> str:
    """What to do about packages."""
    if made.pins is None:
        return "change what is installed for this Python, or run the lane without --installed, which installs its own"
    return "make the environment anew: the same command with -r"


def _who(made: Promise) -> str:
    return f"target {made.target!r}" if made.target else f"environment {made.environment!r}"


def _overrides(made: Promise, facts: Facts, matrix: Matrix) -> str | None:
    for name, value in facts.overrides.items() if made.kernels else ():
        return f"{_who(made)} promises the real architecture, but {name}={value} hides it; unset it"
    return None


def _distributions(made: Promise, facts: Facts, matrix: Matrix) -> str | None:
    if made.kernels and len(facts.triton) != 1:
        found = " and ".join(facts.triton) or "none"
        why = "; they all own site-packages/triton and the last one installed wins" if facts.triton else ""
        return f"{_who(made)} promises exactly one Triton, but found {found}{why}: {_anew(made)}"
    return None


def _pinned(made: Promise, facts: Facts, matrix: Matrix) -> str | None:
    for name in () if made.pins is None else sorted({*facts.distributions, *made.pins}):
        wanted, found = (made.pins or {}).get(name, frozenset()), facts.distributions.get(name)
        # A pin without a label (2.13.0) takes any build (2.13.0+cpu): which one it is, is asked of torch itself.
        if not (not wanted if found is None else {found, found.partition("+")[0]} & wanted):
            return (
                f"{_who(made)} promises {name} {' or '.join(sorted(wanted)) or '(none)'}, as ci/stacks pins it, but "
                f"found {found or 'none'}; {_anew(made)}"
            )
    return None


def _build(made: Promise, facts: Facts, matrix: Matrix) -> str | None:
    if facts.build == made.vendor:
        return None
    return (
        f"{_who(made)} promises {BUILDS[made.vendor]}, but found {BUILDS[facts.build or 'cpu']} "
        f"({facts.distributions.get('torch', 'no version')}); {_elsewhere(made, facts)}"
    )


def _versions(made: Promise, facts: Facts, matrix: Matrix) -> str | None:
    """What the machine's own versions may be, where nothing is installed."""
    if made.pins is not None:
        return None
    oldest = matrix.stacks.get(f"{made.stack}-min", matrix.stacks[made.stack])
    triton = facts.triton[0].partition(" ")[2] if facts.triton else None
    for name, found, least in (
        ("torch", facts.distributions.get("torch"), oldest.torch),
        ("Triton", triton, (oldest.triton or "").partition("==")[2]),
    ):
        if found and least and _numbers(found) < _numbers(least):
            return f"{_who(made)} promises {name} {least.partition('+')[0]} or newer, but found {found}; update it"
    if triton and (why := matrix.refused.get(made.vendor, {}).get(triton.partition("+")[0])):
        return f"{_who(made)} promises a right Triton, but {triton} is refused: {why}; install another one"
    return None


def _fusion(made: Promise, facts: Facts, matrix: Matrix) -> str | None:
    if made.kernels and facts.fusion != "0":
        found = "unset" if facts.fusion is None else f"{facts.fusion!r}"
        return f"{_who(made)} promises {FUSION}=0, but it is {found}; run it through ci/tox or tox, which set it"
    return None


def _cards(made: Promise, facts: Facts, matrix: Matrix) -> str | None:
    if not made.gpu:
        return None
    vendor, wanted = CARDS[made.vendor], made.card or ""
    promised = f"an {vendor} GPU" + (f", {wanted} ({made.architecture})" if wanted else "")
    if not facts.gpus:
        return (
            f"{_who(made)} promises {promised}, but torch {facts.distributions.get('torch')} finds no GPU here"
            f"{_why_none(made, facts, matrix)}; {_elsewhere(made, facts)}"
        )
    for gpu in facts.gpus if wanted else ():
        if gpu.architecture != made.architecture or not gpu.is_a(wanted):
            found = ", ".join(sorted({f"{g.name} ({g.architecture})" for g in facts.gpus}))
            return (
                f"{_who(made)} promises {promised}, but found {found}; name the target of that card (ci/matrix.toml "
                f"lists them) or run `ci/tox -e {made.environment}`, which takes any {vendor} GPU"
            )
    return None


def _why_none(made: Promise, facts: Facts, matrix: Matrix) -> str:
    least = matrix.stacks[made.stack].minimum_driver or ""
    if facts.trouble:
        return f" ({facts.trouble})"
    if not facts.driver:
        return " (no driver is loaded)"
    if not facts.driver[0].isdigit():
        return f" (driver {facts.driver}, which cannot be compared with the {least} that this build wants)"
    if _numbers(facts.driver) >= _numbers(least):
        return f" (driver {facts.driver})"
    other = matrix.stacks.get(f"{made.stack}-min")
    older = other and _numbers(other.minimum_driver or "") < _numbers(least)
    hint = f", and the environment {made.stack}-min an older one" if older else ""
    return f" (driver {facts.driver}; this build wants {least} or newer{hint})"


def _elsewhere(made: Promise, facts: Facts) -> str:
    """What to do on a machine that is not what was promised."""
    if not made.gpu:
        return _anew(made)
    if facts.gpus and facts.build in CARDS:
        return f"on this machine `ci/tox -e {'rocm' if facts.build == 'amd' else 'cuda'}` is the right one"
    return f"run it on a machine with an {CARDS[made.vendor]} GPU; without one, `ci/tox -e cpu` tests the torch engine"


def _numbers(version: str) -> tuple[int, ...]:
    """2.13.0+cu130 as (2, 13, 0), so that versions compare."""
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0]))
