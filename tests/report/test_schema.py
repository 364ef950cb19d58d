"""The schema of records: it is what the types say, and an independent validator agrees with it."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.resources import files
from typing import Any

import jsonschema
import planted_faults as planted
import pytest

from qrita.report import schema, shapes
from qrita.report.record import Kind, Record
from qrita.report.shapes import ShapeError

SCHEMA = json.loads(files("qrita").joinpath("report", "record.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def given(kind: Kind) -> Any:
    return json.loads(json.dumps(asdict(planted.record(kind))))


def test_the_file_is_what_the_types_say() -> None:
    assert schema.text() == schema.FILE.read_text(encoding="utf-8"), "run python -m qrita.report.schema"
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("kind", [*planted.CASES, "hang"])
def test_records_are_valid(kind: Kind) -> None:
    VALIDATOR.validate(given(kind))


def test_every_field_is_described() -> None:
    for name, shape in {"Record": SCHEMA, **SCHEMA["$defs"]}.items():
        for field, described in shape["properties"].items():
            assert described.get("description"), f"{name}.{field}"


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "1"},
        {"kind": "bad luck"},
        {"case": []},
        {"row": None},
        {"first": {"index": 1}},
        {"around": [{}]},
        {"around": "none"},
        {"oracle": {"key": 1, "index": 0, "count": 0, "mass": 0, "total": 0}},
        {"subject": {"name": "a", "device": "cpu", "kernels": [{"name": "k", "registers": "many"}]}},
    ],
)
def test_reader_and_schema_refuse_the_same(change: dict[str, object]) -> None:
    wrong = {**given("wrong set"), **change}
    assert not VALIDATOR.is_valid(wrong)
    with pytest.raises(ShapeError):
        shapes.read(Record, wrong)


def test_reader_and_schema_miss_the_same() -> None:
    for name in given("wrong set"):
        without = {key: value for key, value in given("wrong set").items() if key != name}
        assert not VALIDATOR.is_valid(without)
        with pytest.raises(ShapeError, match=f"{name} is missing"):
            shapes.read(Record, without)
