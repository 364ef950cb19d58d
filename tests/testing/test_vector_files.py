"""The vectors themselves: their form, their answers by three ways of computing them, and that they cover the rules."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ruled
import test_docs
from planted_rows import RowEngine, one_more
from schemas import problem

from qrita.cli import main
from qrita.cli.findings import case
from qrita.cli.items import read
from qrita.testing import vectors
from qrita.testing.flags import FLAGS
from qrita.testing.recipes import DTYPES, Recipe, build
from qrita.testing.subjects import Subject
from qrita.testing.vectors import Vector, VectorError

DIRECTORY = ruled.DIRECTORY
FILES = sorted(file for file in DIRECTORY.glob("*.json") if file.name not in vectors.NOT_VECTORS)
ALL = vectors.load_all(DIRECTORY)

NOT_OF_A_ROW = {
    "rows that alias": "memory",
    "strided logits": "memory",
    "scratch without a barrier": "several rows",
    "scratch shared by streams": "several calls",
    "scratch replaced when the batch grows": "several calls",
    "compiling while serving": "time",
    "first use inside a graph capture": "several calls",
    "index arithmetic": "2**31 logits",
    "more than 1024 threads": "launches",
}
"""Kinds of faults that no row of a few hundred logits can show."""

by_name = pytest.mark.parametrize("vector", [pytest.param(vector, id=vector.name) for vector in ALL])


# --- form -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_schema(file: Path) -> None:
    schema = json.loads((DIRECTORY / "schema.json").read_text(encoding="utf-8"))
    assert problem(json.loads(file.read_text(encoding="utf-8")), schema) is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"k": 2**53}, "vectors[0].k: maximum"),
        ({"k": True}, "vectors[0].k: type"),
        ({"p": "3f8"}, "vectors[0].p: pattern"),
        ({"logits": "3f80  3f80"}, "vectors[0].logits: pattern"),
        ({"dtype": "float64"}, "vectors[0].dtype: enum"),
        ({"rules": []}, "vectors[0].rules: minItems"),
        ({"rules": [5, 5]}, "vectors[0].rules: uniqueItems"),
        ({"vocab": 0}, "vectors[0].vocab: minimum"),
        ({"extra": 1}, "vectors[0]: additionalProperties"),
        ({"cut": {}}, "vectors[0].cut: required"),
    ],
)
def test_schema_refuses(change: dict[str, Any], says: str) -> None:
    schema = json.loads((DIRECTORY / "schema.json").read_text(encoding="utf-8"))
    given = json.loads(FILES[0].read_text(encoding="utf-8"))
    given["vectors"] = [{**given["vectors"][0], **change}]
    assert (problem(given, schema) or "").startswith(f"it.{says}")


def test_a_schema_that_is_not_understood_is_no_pass() -> None:
    with pytest.raises(NotImplementedError, match="oneOf"):
        problem(1, {"oneOf": []})


def test_names_are_unique() -> None:
    names = [vector.name for vector in ALL]
    assert len(set(names)) == len(names)


def test_files_are_as_the_tool_writes_them() -> None:
    for file in FILES:
        assert file.read_text(encoding="utf-8") == vectors.text(vectors.load(file))


def test_flags_are_explained_in_one_file() -> None:
    assert json.loads((DIRECTORY / "flags.json").read_text(encoding="utf-8")) == FLAGS


# --- answers ----------------------------------------------------------------------------------------------------


@by_name
def test_the_oracle_says_the_same_of_the_row(vector: Vector) -> None:
    answer = vector.case.answer
    assert answer.kept.tolist() == vector.expected_order.tolist()
    assert answer.cut == vector.expected_cut


@by_name
def test_the_recipe_makes_the_vector(vector: Vector) -> None:
    """All of it: what stands in a file is not edited by hand."""
    text = json.dumps(vector.recipe)
    item = read(text)
    built = case(item)
    again = vectors.of(
        built,
        name=vector.name,
        why=vector.why,
        rules=vector.rules,
        faults=vector.faults,
        recipe=text,
        p_bits=vector.p if built.p is None else None,
    )
    assert again == vector


def independent_check() -> Any:
    spec = importlib.util.spec_from_file_location("check", DIRECTORY / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.check


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_integers_alone_say_the_same(file: Path) -> None:
    """A checker of one page, in Python integers, that knows nothing of qrita."""
    assert "qrita" not in "".join(
        line for line in (DIRECTORY / "check.py").read_text(encoding="utf-8").splitlines() if "import" in line
    )
    check = independent_check()
    given = json.loads(file.read_text(encoding="utf-8"))["vectors"]
    assert [found for vector in given if (found := check(vector))] == []


@pytest.mark.parametrize(
    "change",
    [{"kept": "0"}, {"order": "0-4"}, {"vocab": 7}, {"k": 3}, {"p": "3f000000"}, {"logits": "3f800000*6"}],
    ids=lambda change: next(iter(change)),
)
def test_the_independent_checker_can_fail(change: dict[str, Any]) -> None:
    given = next(vector for vector in ALL if vector.name == "signs")
    raw = json.loads(vectors.text([given]))["vectors"][0]
    check = independent_check()
    assert check(raw) is None
    assert "signs: expected" in check({**raw, **change})


@by_name
def test_a_wrong_engine_shows(vector: Vector) -> None:
    """Where k cuts and the token past it weighs something, one token more is seen."""
    found = vectors.difference(Subject("off", RowEngine(one_more)), vector)
    if "k-cuts" not in vector.flags:
        assert found is None
    elif not {"p-at-most-0", "weightless"} & set(vector.flags):
        assert found is not None


# --- what they cover --------------------------------------------------------------------------------------------


def test_every_rule_has_a_vector() -> None:
    rules_of = {rule for vector in ALL for rule in vector.rules}
    assert rules_of == set(test_docs.RULES) - ruled.WITHOUT.keys()


def test_the_document_names_the_vectors_of_every_rule() -> None:
    """`python tests/testing/ruled.py` prints the table that belongs there."""
    assert [*ruled.RULES] == [*test_docs.RULES]
    section = test_docs.SEMANTICS.split("\n### Vectors\n")[1].split("\n### ")[0]
    assert [line for line in section.splitlines() if line.startswith("|")] == ruled.lines(ALL)


def test_every_kind_of_fault_has_a_vector() -> None:
    kinds = {kind for kind, _ in test_docs.table("Faults")}
    assert {fault for vector in ALL for fault in vector.faults} == kinds - NOT_OF_A_ROW.keys()
    assert NOT_OF_A_ROW.keys() <= kinds


def test_every_flag_and_dtype_has_a_vector() -> None:
    assert {flag for vector in ALL for flag in vector.flags} == set(FLAGS)
    assert {vector.dtype for vector in ALL} == set(DTYPES)


def test_most_rows_are_short() -> None:
    assert sum(vector.vocab <= 512 for vector in ALL) >= 0.95 * len(ALL)


# --- the tool ---------------------------------------------------------------------------------------------------

RECIPE = Recipe("normal", 40, "bfloat16", k=5)
OPTIONS = ["--name", "five-of-forty", "--why", "Five of forty tokens are kept.", "--rule", "6"]


def test_replay_saves_a_vector(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.json"
    assert main(["replay", RECIPE.to_json(), "--save-vector", str(file), *OPTIONS]) == 0
    assert f"vector five-of-forty written to {file}: k-cuts, p-off\n" in capsys.readouterr().out
    [vector] = vectors.load(file)
    assert (vector.vocab, vector.k, vector.rules) == (40, 5, (6,))
    assert np.array_equal(vector.raw, build(RECIPE).raw)


def test_a_vector_of_the_same_name_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    for k, name in ((5, "first"), (6, "second"), (7, "first")):
        recipe = Recipe("normal", 40, k=k).to_json()
        main(["replay", recipe, "--save-vector", str(file), *OPTIONS[2:], "--name", name])
    assert [(vector.name, vector.k) for vector in vectors.load(file)] == [("first", 7), ("second", 6)]


def test_a_wrong_engine_does_not_get_into_the_vector(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    assert main(
        [
            "replay",
            RECIPE.to_json(),
            "--subject",
            "planted_calls:CountsWhatIsListed",
            "--save-vector",
            str(file),
            *OPTIONS,
        ]
    )
    assert vectors.load(file)[0].cut["count"] == 5


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--why", "A sentence about nothing."], "--why is about a vector; expected --save-vector FILE with it"),
        (["--save-vector", "x.json", "--rule", "6"], "--save-vector needs --name, --why as well"),
        (["--save-vector", "x.json", *OPTIONS, "--name", "Five!"], "name='Five!': expected lower-case words"),
        (["--save-vector", "x.json", *OPTIONS, "--why", "because"], "why='because': expected a sentence"),
        (["--save-vector", "x.json", *OPTIONS, "--rule", "18"], "rules=[6, 18]: expected one or more rules"),
        (["--save-vector", "no/such/place/x.json", *OPTIONS], "no/such/place"),
        (["--save-vector", "flags.json", *OPTIONS], "'flags.json' is not a file of vectors: "),
        (["--save-vector", "x.json", *OPTIONS, "--p-bits", "nan"], "p_bits='nan': expected 8 hex digits"),
    ],
)
def test_what_cannot_be_saved_is_explained(
    options: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flags.json").write_text("{}", encoding="utf-8")
    assert main(["replay", RECIPE.to_json(), *options]) == 2
    out, err = capsys.readouterr()
    assert says in err
    assert out == ""
    assert not (tmp_path / "x.json").exists()


@pytest.mark.parametrize(
    ("item", "says"),
    [
        (Recipe("equal", 9000, k=0).to_json(), "mass=9895604649984000: expected at most 2**53 - 1"),
        (Recipe("equal", 9, k=1 << 60).to_json(), f"k={1 << 60}: expected at most 2**53 - 1"),
        ('{"real": "smollm2-21", "k": 5}', "logits: 2"),
    ],
)
def test_rows_that_no_vector_can_hold(item: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", item, "--save-vector", str(tmp_path / "x.json"), *OPTIONS]) == 2
    assert says in capsys.readouterr().err


def test_what_is_not_a_vector_is_named(tmp_path: Path) -> None:
    file = tmp_path / "half.json"
    file.write_text('{"vectors": [{"name": "half"}]}', encoding="utf-8")
    with pytest.raises(
        VectorError, match=r"half.json' is not a file of vectors: \{'name': 'half'\}: expected a vector"
    ):
        vectors.load(file)


def test_the_document_shows_a_vector_as_it_is() -> None:
    text = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")
    shown = json.loads(text.split("```json\n")[1].split("```")[0])
    [vector] = json.loads(vectors.text([vector for vector in ALL if vector.name == shown["name"]]))["vectors"]
    assert {**shown, "recipe": None} == {**vector, "recipe": None}
    assert [*shown] == [*vector]
