"""Lanes put together: those that left a report, and those that were expected and left none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from qrita.report import lanes
from qrita.report.lanes import Lane
from qrita.report.states import State


@dataclass(frozen=True)
class Merged:
    """Everything that a report shows.

    Attributes:
        lanes: by name.
        problems: what could not be read or does not fit together, a sentence each.
    """

    lanes: tuple[Lane, ...]
    problems: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether every lane passed and everything could be read. No lane at all is no pass."""
        return bool(self.lanes) and not self.problems and all(lane.state.good for lane in self.lanes)

    @cached_property
    def tests(self) -> tuple[str, ...]:
        """The ids of every test of every lane, in the order of the first lane that has them."""
        return tuple(dict.fromkeys(test.id for lane in self.lanes for test in lane.tests))

    @cached_property
    def failed(self) -> tuple[str, ...]:
        """The tests that failed on a lane or more."""
        failed = {test.id for lane in self.lanes for test in lane.tests if test.outcome == "failed"}
        return tuple(test for test in self.tests if test in failed)

    def states(self, test: str) -> tuple[State, ...]:
        """The states of a test, lane by lane."""
        return tuple(lane.of(test) for lane in self.lanes)


def merge(directories: Sequence[Path], expected: Path | None = None) -> Merged:
    """Read the lanes in and below the directories; whatever cannot be read is a problem and hides nothing else.

    Args:
        directories: each that holds a lane.json, JUnit files or records, or is above some that do.
        expected: a file of jobs as `ci/matrix.py jobs` prints them: the lanes there have to be.
    """
    problems: list[str] = []
    found: dict[str, Lane] = {}
    for directory in dict.fromkeys(path.resolve() for path in directories):
        below = _lane_directories(directory)
        if not below:
            problems.append(f"{directory} {_lack(directory)}.")
        for lane in map(lanes.read, below):
            problems += lane.problems
            if lane.name in found:
                other = found[lane.name].directory
                problems.append(f"{lane.directory} is lane {lane.name} once more; {other} is shown. Merge one of them.")
            found.setdefault(lane.name, lane)
    for name in _expected(expected, problems) if expected else ():
        found.setdefault(name, Lane(name))
    return Merged(tuple(found[name] for name in sorted(found)), tuple(problems))


def _lane_directories(directory: Path) -> list[Path]:
    reports: Iterable[Path] = (file for name in ("lane.json", "results*.xml") for file in directory.rglob(name))
    records = directory.rglob("records/*.json")
    return sorted({*(file.parent for file in reports), *(file.parent.parent for file in records)})


def _lack(directory: Path) -> str:
    if not directory.exists():
        return "does not exist, expected the directory of a lane, or one above several"
    if not directory.is_dir():
        return "is a file, expected the directory of a lane, or one above several"
    return "holds no lane.json, no results*.xml and no records, nor does any directory below it"


def _expected(file: Path, problems: list[str]) -> list[str]:
    """The names of the lanes that a file of jobs lists."""
    try:
        jobs: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        problems.append(f"{file} cannot be read ({reason}): which lanes are missing is unknown.")
        return []
    named = isinstance(jobs, list) and all(isinstance(job, dict) and isinstance(job.get("lane"), str) for job in jobs)
    if not named:
        problems.append(f'{file} is no list of objects such as {{"lane": "cpu"}}: which lanes are missing is unknown.')
        return []
    return [job["lane"] for job in jobs]
