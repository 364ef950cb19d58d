"""What a case exercises: each flag on a row that is small enough to see it, and the path through a plan."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch

from qrita import plan
from qrita.device import INTERPRETER
from qrita.records import Problem
from qrita.testing import flags, paths, subjects
from qrita.testing.building import Case
from qrita.testing.recipes import Recipe, build, fp32_of_bits
from qrita.testing.subjects import Subject

INF, NAN = float("inf"), float("nan")


def found(
    row: list[float], k: int | None = None, p: float | None = None, dtype: torch.dtype = torch.float32
) -> set[str]:
    return set(flags.flags(Case(None, torch.tensor(row, dtype=dtype), k, p)))


@pytest.mark.parametrize(
    ("row", "flag"),
    [
        ([1.0, NAN], "nan"),
        ([1.0, -INF], "minus-infinity"),
        ([1.0, INF], "plus-infinity"),
        ([0.0, -0.0], "both-zeros"),
        ([1.0, 1e-40], "subnormal"),
        ([3e38, -3e38], "overflow"),
        ([2.0, -INF, 2.0], "all-equal"),
        ([-INF, NAN], "nothing-eligible"),
    ],
)
def test_values(row: list[float], flag: str) -> None:
    assert flag in found(row)
    assert flag not in found([1.0, 2.0])


def test_subnormals_are_those_of_the_dtype() -> None:
    assert "subnormal" in found([1.0, 2.0**-20], dtype=torch.float16)
    assert "subnormal" not in found([1.0, 2.0**-20], dtype=torch.bfloat16)


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (None, {"k-off"}),
        (0, {"k-off"}),
        (5, {"k-off"}),
        (4, {"k-beyond-eligible"}),
        (3, {"k-cuts", "k-splits-a-tie"}),
        (1, {"k-cuts"}),
    ],
)
def test_top_k(k: int | None, expected: set[str]) -> None:
    """Four eligible tokens of five, three of them equal."""
    assert {flag for flag in found([0.0, 1.0, -INF, 0.0, 0.0], k) if flag.startswith("k-")} == expected


STEP = fp32_of_bits(0x3F000001)


@pytest.mark.parametrize(
    ("row", "p", "expected"),
    [
        ([0.0, 0.0], None, {"p-off"}),
        ([0.0, 0.0], 1.0, {"p-off"}),
        ([0.0, 0.0], NAN, {"p-off"}),
        ([0.0, 0.0], 0.0, {"p-at-most-0"}),
        ([0.0, 0.0], -INF, {"p-at-most-0"}),
        ([0.0, 0.0], 0.25, {"p-cuts", "p-splits-a-tie"}),
        ([0.0, 0.0], 0.5, {"p-cuts", "p-splits-a-tie", "p-on-a-mass", "p-beside-a-mass"}),
        ([0.0, 0.0], STEP, {"p-beside-a-mass"}),
        ([0.0, -1.0], 0.25, {"p-cuts"}),
        ([0.0, -100.0], 0.25, {"weightless"}),
    ],
)
def test_top_p(row: list[float], p: float | None, expected: set[str]) -> None:
    assert {flag for flag in found(row, None, p) if flag.startswith(("p-", "weightless"))} == expected


@pytest.mark.parametrize(
    ("row", "k", "expected"),
    [
        ([0.0, 1.0, 0.0, 0.0], 2, {"tie-across-the-middle"}),
        ([0.0, 1.0, -1.0, 0.0], 3, set()),  # the whole tie is kept
        ([0.0, 0.0, 1.0, -1.0], 2, set()),  # all of it in one half
        ([0.0, 0.0, 1.0, -1.0], 1, {"keeps-one"}),
        ([0.0, 2.0, 1.0, -1.0], None, {"keeps-all"}),
        ([-INF, -INF], None, set()),
    ],
)
def test_the_set(row: list[float], k: int | None, expected: set[str]) -> None:
    assert {flag for flag in found(row, k) if flag.startswith(("tie-", "keeps-"))} == expected


@pytest.mark.parametrize(
    ("p", "total", "target"),
    [(0.5, 2**41, 2**40), (STEP, 2**41, 2**40 + 2**17), (0.0, 5, 1), (fp32_of_bits(1), 2**60, 1), (0.75, 2, 2)],
)
def test_target(p: float, total: int, target: int) -> None:
    assert flags.target(p, total) == target


@dataclass(frozen=True)
class Planned:
    """An engine that has a plan and nothing else."""

    truncation: str | None = None
    name: str = "planned"

    def plan_for(self, problem: Problem) -> plan.Plan:
        return plan.forced(problem, INTERPRETER)[self.truncation or "chosen"]


@pytest.mark.parametrize(
    ("recipe", "truncation", "path"),
    [
        (Recipe("normal", 100), None, "path: none, whole row"),
        (Recipe("normal", 100), "groups", "path: groups, hit, every token kept"),
        (Recipe("normal", 10_000, k=5, p=0.5), None, "path: groups, hit by k"),
        (Recipe("normal", 10_000, k=500), None, "path: groups, miss: bracket or fallback"),
        (Recipe("normal", 10_000, k=500), "no bracket", "path: groups, miss: fallback"),
        (Recipe("normal", 10_000, p=0.5), None, "path: groups, hit or miss"),
        (Recipe("normal", 100, k=5), "none", "path: none, whole row"),
        (Recipe("normal", 100, k=5), "sigma", "path: sigma, hit or miss"),
    ],
)
def test_paths(recipe: Recipe, truncation: str | None, path: str) -> None:
    """Of plans as they are chosen: 64 or 128 groups of 32 tokens are kept."""
    subject = Subject("planned", Planned(truncation))  # type: ignore[arg-type]
    split = "path: split" if recipe.vocab > 2048 else "path: one program a row"
    assert paths.paths(subject, build(recipe)) == (path, split)


def test_an_engine_without_plans_has_no_paths() -> None:
    assert paths.paths(subjects.named("torch"), build(Recipe("normal", 100))) == ()
