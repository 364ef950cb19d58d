#!/usr/bin/env python3
"""The matrix of targets, ci/matrix.toml: validate it, keep its copies right, list its jobs."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import copies
from targets import FILE, ROOT, TAGS, Matrix, MatrixError, load


def main(args: list[str] | None = None, root: Path = ROOT) -> str | int:
    """Run one command; returns what sys.exit takes."""
    options = _parser().parse_args(args)
    try:
        matrix = load(root / FILE.relative_to(ROOT))
    except MatrixError as error:
        return f"ci/matrix.toml: {error}"
    if options.command == "check":
        return _check(matrix, root)
    if options.command == "write":
        return _write(matrix, root)
    if options.command == "python":
        print(matrix.python)
    if options.command == "jobs":
        if unknown := sorted(set(options.targets) - {n for n, t in matrix.targets.items() if t.environment}):
            return f"ci/matrix.py: {unknown[0]!r} is no target that runs; expected some of {', '.join(matrix.targets)}"
        listed = [job for job in jobs(matrix, options.tag, options.targets) if job["attached"] or not options.attached]
        print(json.dumps(listed, indent=None if options.compact else 2))
    if options.command == "show":
        if options.target not in matrix.targets:
            return f"ci/matrix.py: no target {options.target!r}; expected one of {', '.join(matrix.targets)}"
        print(json.dumps(shown(matrix, options.target), indent=2))
    return 0


def jobs(matrix: Matrix, tag: str | None = None, named: Collection[str] = ()) -> list[dict[str, Any]]:
    """One entry for each lane that CI runs: a card of its own, or all targets of an environment without cards."""
    lanes: dict[str, list[str]] = {}
    for name, target in matrix.targets.items():
        if target.environment and (tag is None or tag in target.tags) and (not named or name in named):
            lanes.setdefault(name if target.card else f"-e {target.environment}", []).append(name)
    return [_job(matrix, names) for names in lanes.values()]


def _job(matrix: Matrix, names: list[str]) -> dict[str, Any]:
    target = matrix.targets[names[0]]
    runner = matrix.runners[target.runner or ""]
    lane = names[0] if len(names) == 1 else target.environment
    if target.dockerfile:
        command = f"docker/run {lane} --build"
    else:
        command = f"ci/tox --target {lane}" if len(names) == 1 else f"ci/tox -e {lane}"
    return {
        "lane": lane,
        "command": command,
        "targets": names,
        "environment": target.environment,
        "stack": target.stack,
        "labels": list(runner.labels),
        "hosted": runner.hosted,
        "attached": runner.hosted or runner.attached,
        "image": target.image,
        "dockerfile": target.dockerfile,
        "tags": list(target.tags),
        "python": matrix.python,
    }


def shown(matrix: Matrix, name: str) -> dict[str, Any]:
    """All that the matrix says of one target."""
    target = matrix.targets[name]
    stack, image = matrix.stacks[target.stack], matrix.images.get(target.image or "")
    job = _job(matrix, [name]) if target.environment else {}
    return {
        **job,
        "target": name,
        "vendor": matrix.vendor(name),
        "architecture": target.architecture,
        "wave": target.wave,
        "card": target.card,
        "base": f"{image.reference}@{image.digest}" if image else None,
        "torch": stack.torch,
        "triton": stack.triton,
        "wheels": stack.wheels,
        "minimum_driver": stack.minimum_driver,
        "evidence": {"state": target.evidence.state, "date": str(target.evidence.date), "note": target.evidence.note},
    }


def _check(matrix: Matrix, root: Path) -> str | int:
    found = list(dict.fromkeys(copies.problems(matrix, root)))
    if found:
        return "\n".join(f"ci/matrix.py check: {problem}" for problem in found)
    print(f"ci/matrix.py check: {len(matrix.targets)} targets, {len(matrix.stacks)} stacks, every copy agrees")
    for name, image in matrix.images.items():
        if not image.verified:
            print(f"ci/matrix.py check: note: images.{name} was not verified ({image.source}); docker/resolve asks")
    return 0


def _write(matrix: Matrix, root: Path) -> str | int:
    try:
        derived = copies.derived(matrix, root)
    except copies.MarkerError as error:
        return f"ci/matrix.py write: {error}"
    for path, text in derived.items():
        file = root / path
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            print(f"ci/matrix.py: wrote {path}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ci/matrix.py", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("check", help="validate the matrix and compare every copy with it")
    commands.add_parser("write", help="write the copies that are derived: ci/stacks, the table in docs/matrix.md")
    listing = commands.add_parser("jobs", help="print the lanes that CI runs, as JSON")
    listing.add_argument("--tag", choices=TAGS, help="those with this tag only")
    listing.add_argument("targets", metavar="TARGET", nargs="*", help="these only")
    listing.add_argument("--attached", action="store_true", help="those whose runners there are, so that none waits")
    listing.add_argument("--compact", action="store_true", help="on one line")
    show = commands.add_parser("show", help="print what the matrix says of a target, as JSON")
    show.add_argument("target", metavar="TARGET")
    commands.add_parser("python", help="print the Python version of images and workflows")
    return parser


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):  # `ci/matrix.py show TARGET | head` ends quietly
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
