"""`qrita replay --everywhere`: one case on every engine, and nothing that is left out in silence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from qrita import engines
from qrita.cli import main
from qrita.testing.recipes import Recipe, build

RECIPE = Recipe("normal", 200, seed=3, k=20, p=0.75)
CUT_BY_K = Recipe("normal", 200, seed=3, k=20)
HERE = str(Path(__file__).parent)

Output = pytest.CaptureFixture[str]


def replayed(capsys: Output, recipe: Recipe, *also: str) -> tuple[int, list[str]]:
    """The status, and the lines."""
    named = [word for name in also for word in ("--also", name)]
    status = main(["replay", recipe.to_json(), "--everywhere", "--subject-path", HERE, *named])
    return status, capsys.readouterr().out.splitlines()


def line_of(lines: list[str], start: str) -> str:
    (found,) = [line for line in lines if line.startswith(start)]
    return found


def test_every_engine_has_a_line(capsys: Output) -> None:
    status, lines = replayed(capsys, RECIPE, "planted_engines:Right")
    assert status == 0
    cut = build(RECIPE).answer.cut
    integers = f"0x{cut.key:08x} {cut.index} {cut.count} {cut.mass} {cut.total}".split()
    assert line_of(lines, "oracle").split()[1:] == integers
    for name in ("torch", "one-more"):
        assert line_of(lines, f"{name} on cpu").split()[3:] == [*integers, "the", "same"]
    for name in engines.NAMES:
        line = line_of(lines, name)
        assert line.endswith("the same") or (line.endswith("not run") and line_of(lines, f"not run {name}: "))
    missing = sum(line.startswith("not run ") for line in lines)
    assert lines[-1] == (
        f"qrita replay: PASSED, {4 - missing} engine{'s' * (missing < 3)} with the oracle's cut, {missing} not run"
    )


def test_a_cut_that_differs(capsys: Output) -> None:
    status, lines = replayed(capsys, CUT_BY_K, "planted_engines:OneMore")
    assert status == 1
    assert "<- differs in key, index, count" in line_of(lines, "one-more on cpu")
    assert any(re.match(r"FAILED  one-more: mask: token \d+ .* should not be kept and is", line) for line in lines)
    assert lines[-1].startswith("qrita replay: FAILED, one-more; ")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("planted_engines:Nobody", "cannot be loaded: AttributeError"),
        ("torch-sort", "it has a contract of its own; try it by --subject"),
        ("torch:sigma", "the engine 'torch' has no plans"),
    ],
)
def test_what_was_asked_for_and_cannot_run_is_a_failure(capsys: Output, name: str, why: str) -> None:
    status, lines = replayed(capsys, RECIPE, name)
    assert status == 1
    assert why in line_of(lines, f"FAILED  not run {name}: ")
    assert line_of(lines, f"{name} ").endswith("not run")
    assert lines[-1].startswith(f"qrita replay: FAILED, {name}; ")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--also", "torch"], "--also torch: expected --everywhere with it"),
        (["--everywhere", "--subject", "torch"], "--subject is about one engine"),
        (
            ["--everywhere", "--save-vector", "x.json", "--name", "x", "--why", "y", "--rule", "6"],
            "--save-vector is about one engine",
        ),
    ],
)
def test_options_that_contradict_each_other(capsys: Output, options: list[str], says: str) -> None:
    assert main(["replay", RECIPE.to_json(), *options]) == 2
    assert says in capsys.readouterr().err
