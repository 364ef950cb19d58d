"""The coverage table of docs/matrix.md: which value of each axis is covered by which target, and how."""

from __future__ import annotations

from targets import STATES, Matrix, Target

HOLE = "**hole**"
WORDS = {
    "hardware": "run on hardware",
    "interpreted": "interpreted",
    "simulated": "simulated",
    "compiled": "compiled",
    "rehearsed": "rehearsed only",
    "none": "not yet",
}
RUN = ("hardware",)
WEAKER = tuple(state for state in STATES if state not in RUN)


def text(matrix: Matrix) -> str:
    """Two tables, of targets and of axes."""
    return f"{_targets(matrix)}\n{_axes(matrix)}"


def _targets(matrix: Matrix) -> str:
    lines = ["| target | environment | architecture | torch | Triton | evidence |", "|---|---|---|---|---|---|"]
    for name, target in matrix.targets.items():
        stack, evidence = matrix.stacks[target.stack], target.evidence
        versions = " and ".join(filter(None, (evidence.torch and f"torch {evidence.torch}", evidence.triton)))
        architecture = f"{target.architecture}, wave of {target.wave}" if target.architecture else "CPU"
        proof = f"{WORDS[evidence.state]}, {evidence.date}" if evidence.state != "none" else WORDS["none"]
        notes = [text for text in (evidence.note, versions) if text and evidence.state != "none"]
        note = f": {', '.join(notes)}" if notes else ""
        cells = (name, target.environment or "-", architecture, stack.torch, _triton(stack.triton), f"{proof}{note}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _axes(matrix: Matrix) -> str:
    lines = [f"| axis | value | run on hardware | {', '.join(WORDS[s] for s in WEAKER[:-1])} |", "|---|---|---|---|"]
    for axis, value, names in _values(matrix):
        run = [n for n in names if matrix.targets[n].evidence.state in RUN]
        rest = [f"{n} ({matrix.targets[n].evidence.state})" for n in names if n not in run]
        lines.append(f"| {axis} | {value} | {', '.join(run) or HOLE} | {', '.join(rest) or '-'} |")
    return "\n".join(lines) + "\n"


def _values(matrix: Matrix) -> list[tuple[str, str, list[str]]]:
    """Axis, value, and the targets that have it and are more than planned."""
    found: dict[tuple[str, str], list[str]] = {("torch", stack.torch): [] for stack in matrix.stacks.values()}
    for name, target in matrix.targets.items():
        for axis, value in _of(matrix, name, target):
            names = found.setdefault((axis, value), [])
            if target.evidence.state != "none":
                names.append(name)
    return [(axis, value, names) for (axis, value), names in sorted(found.items())]


def _of(matrix: Matrix, name: str, target: Target) -> list[tuple[str, str]]:
    stack = matrix.stacks[target.stack]
    pairs = [("vendor", {"cpu": "CPU", "nvidia": "NVIDIA", "amd": "AMD"}[matrix.vendor(name)])]
    if target.architecture:
        pairs += [("architecture", target.architecture), ("wave", str(target.wave))]
    if target.card:
        pairs.append(("card", target.card))
    if stack.vendor == matrix.vendor(name):
        pairs.append(("torch", target.evidence.torch or stack.torch))
    return pairs


def _triton(pin: str | None) -> str:
    return pin.replace("==", " ") if pin else "-"
