"""`qrita replay`: what it accepts, what it shows, what it exits with."""

from __future__ import annotations

import io
import json
from dataclasses import fields
from fractions import Fraction
from math import ceil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrita.cli import items, main
from qrita.cli.exits import UsageError
from qrita.testing.real import RealRow
from qrita.testing.recipes import Aim, Planted, Recipe, Tie, build

RECIPE = Recipe(
    "normal",
    200,
    "bfloat16",
    seed=3,
    planted=(Planted(5, 0x7FC0), Planted(6, 0xFF80)),
    ties=(Tie("cut", 64, 1, 6), Tie(2, 10, 50, 3)),
    k=60,
    p=Aim(10, 1),
)


def test_shows_the_case_and_both_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", RECIPE.to_json()]) == 0
    out = capsys.readouterr().out
    for text in (
        "engine  torch on cpu",
        "row     200 bfloat16 logits of family 'normal', seed 3",
        "planted bits 0x7fc0 at token 5",
        "tied    6 tokens from 64 on, with the logit of the last kept token",
        "tied    3 tokens from 10 on, in steps of 50, with the logit of rank 3",
        "k       60\n",
        "aimed at the mass of the first 10 tokens, +1 step of fp32",
        "2 tokens are NaN or -inf and never kept",
        "(the same)",
        "qrita replay: PASSED, ",
    ):
        assert text in out
    answer = build(RECIPE).answer
    rows = [line.split() for line in out.splitlines() if line.endswith(("kept", "-"))]
    kept = [int(row[1]) for row in rows if row[-2:] == ["kept", "kept"]]
    assert kept[-1] == answer.cut.index
    assert all(token in answer.kept for token in kept)
    assert rows[len(kept)][-2:] == ["-", "-"]  # the ranks next to the cut are shown on both sides
    target = ceil(Fraction(build(RECIPE).p or 0) * answer.total)
    assert f"target ceil(p * Z) = {target} of Z = {answer.total}" in out


@pytest.mark.parametrize(
    "item",
    [
        Recipe("masked", 30, level=0, k=5, p=0.5),
        Recipe("nan", 10, "float16", level=1000),
        Recipe("infinite", 50, p=0.5),
        Recipe("equal", 1, k=1, p=0.0),
        Recipe("equal", 9, level=1, k=-1, p=1.5),
        RealRow("smollm2-21", "float32", 0.15, 50, 0.9),
    ],
)
def test_any_case_can_be_shown(item: Recipe | RealRow, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", item.to_json()]) == 0
    assert "PASSED" in capsys.readouterr().out


def test_shows_where_the_answers_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "--subject", "planted_engines:OneMore", Recipe("equal", 40, k=7).to_json()]) == 1
    out = capsys.readouterr().out
    differing = [line.split() for line in out.splitlines() if line.endswith("<- differs")]
    assert [line[:2] + line[-4:-2] for line in differing] == [["8", "7", "-", "kept"]]
    assert "oracle  key 0x80000000, index 6, count 7," in out
    assert "engine  key 0x80000000, index 7, count 8," in out
    assert "<- differs in index, count, mass, total" in out
    assert "FAILED  cut: " in out
    assert "        rule 4 to 9" in out
    assert "qrita replay: FAILED, " in out


def test_shows_what_the_engine_raised(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "--subject", "planted_engines:Raises", Recipe("equal", 40, k=7).to_json()]) == 1
    out = capsys.readouterr().out
    assert "FAILED  candidates: RuntimeError: no room for 1 candidates" in out
    assert "planted_engines.py" in out  # the traceback


def test_reads_files_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare, record = tmp_path / "bare.json", tmp_path / "record.json"
    bare.write_text(RECIPE.to_json() + "\n", encoding="utf-8")
    record.write_text(json.dumps({"case": json.loads(RECIPE.to_json()), "replay": "..."}, indent=1), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO(RECIPE.to_json()))
    assert [items.read(source) for source in (str(bare), str(record), "-", f"  {RECIPE.to_json()}")] == [RECIPE] * 4
    row = RealRow("smollm2-05", "float16", 0.15, 50, 0.9)
    assert items.read(row.to_json()) == row


@pytest.mark.parametrize(
    ("garbage", "says"),
    [
        ("", "neither a JSON object nor a file"),
        ("no/such/file.json", "'no/such/file.json': neither a JSON object nor a file that can be read (No such file"),
        (".", "neither a JSON object nor a file"),
        ("nul\0", "neither a JSON object nor a file"),
        ("{", "not JSON (Expecting property name"),
        ("[1, 2]", "case=[1, 2]: expected a JSON object"),
        ("[" * 100_000, "not JSON ("),
        ("{}", "error: recipe: no key 'family'; expected family, vocab"),
        ('{"family": "normal"}', "no key 'vocab'"),
        ('{"family": "norml", "vocab": 5}', "family='norml': expected one of equal"),
        ('{"family": "normal", "vocab": "5"}', "vocab='5': expected an integer from 1 to 4,194,304"),
        ('{"family": "normal", "vocab": ' + "9" * 5000 + "}", "expected "),
        ('{"family": "normal", "vocab": 5, "p": NaN}', "p=nan: expected null, a finite number"),
        ('{"family": "normal", "vocab": 5, "p": 0.9}', "; the nearest such number is 0.8999999761581421"),
        ('{"family": "normal", "vocab": 5, "kk": 1}', "error: recipe: unknown key 'kk'; expected some of family, "),
        ('{"real": "smollm2-00", "temperature": -1}', "temperature=-1: expected a number"),
        ('{"case": 5}', "case=5: expected a JSON object"),
        ('{"verdict": "failed", "failures": [{}, {}]}', "expected one case: the `case` of one of its `failures`"),
    ],
)
def test_garbage_is_explained(garbage: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", garbage]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("qrita replay: error: ")
    assert says in err
    assert "Traceback" not in err


@pytest.mark.parametrize("text", ["", " \n"])
def test_empty_input_is_called_empty(
    text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["replay", "-"]) == 2
    assert capsys.readouterr().err.startswith("qrita replay: error: standard input is empty; expected a case such as ")
    (tmp_path / "empty.json").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["replay", "empty.json"]) == 2
    assert capsys.readouterr().err.startswith("qrita replay: error: 'empty.json' is empty; expected a case such as ")


def test_one_of_a_kind_is_told_in_the_singular(capsys: pytest.CaptureFixture[str]) -> None:
    recipe = Recipe("normal", 30, planted=(Planted(3, 0x7FC00000),), ties=(Tie("cut", 9, 1, 1),), k=2, p=Aim(1, -1))
    assert main(["replay", recipe.to_json()]) == 0
    out = capsys.readouterr().out
    assert "tied    1 token from 9 on, with" in out
    assert "aimed at the mass of the first token, -1 step of fp32" in out
    assert "1 token is NaN or -inf and never kept" in out
    both = Recipe("equal", 2, p=0.9375)
    total = build(both).answer.total
    assert main(["replay", both.to_json()]) == 0
    assert f"; 1 token has {total // 2}, 2 have {total}\n" in capsys.readouterr().out


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner))
NAMES = st.sampled_from(
    [*(field.name for field in fields(Recipe)), *(field.name for field in fields(RealRow)), "case", "failures"]
)


@given(JSON | st.dictionaries(NAMES, JSON, max_size=4))
def test_any_json_is_a_case_or_a_polite_error(value: object) -> None:
    _read(json.dumps(value))


@given(NAMES, JSON)
def test_one_wrong_field_is_a_polite_error(name: str, value: object) -> None:
    _read(json.dumps({**json.loads(RECIPE.to_json()), name: value}))
    _read(json.dumps({**json.loads(RealRow("smollm2-21", k=5).to_json()), name: value}))


def _read(text: str) -> None:
    try:
        item = items.read(text)
    except UsageError:
        return
    assert items.read(item.to_json()) == item
