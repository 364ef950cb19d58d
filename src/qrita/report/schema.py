"""The JSON Schema of the failure record, made from its types. `python -m qrita.report.schema` writes the file.

Annotated texts become descriptions. What `shapes.read` accepts and what the schema allows come from the same hints.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from qrita.report.record import Record

FILE = Path(__file__).with_name("record.schema.json")

_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def schema() -> dict[str, Any]:
    """The schema of a record, with a definition for each type in it."""
    definitions: dict[str, Any] = {}
    top = _object(Record, definitions)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "qrita failure record"}
    return {**head, **top, "$defs": definitions}


def text() -> str:
    """The file's text."""
    return json.dumps(schema(), indent=1) + "\n"


def _object(shape: type, definitions: dict[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(shape, include_extras=True)
    needed = [item.name for item in fields(shape) if item.default is MISSING and item.default_factory is MISSING]
    return {
        "description": shape.__doc__,
        "type": "object",
        "properties": {item.name: _schema(hints[item.name], definitions) for item in fields(shape)},
        "required": needed,
    }


def _schema(shape: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    kind, inner = get_origin(shape), get_args(shape)
    if kind is Annotated:
        return {"description": inner[1], **_schema(inner[0], definitions)}
    if is_dataclass(shape) and isinstance(shape, type):
        if shape.__name__ not in definitions:
            definitions[shape.__name__] = {}
            definitions[shape.__name__] = _object(shape, definitions)
        return {"$ref": f"#/$defs/{shape.__name__}"}
    if kind in (Union, UnionType):
        return {"anyOf": [_schema(part, definitions) for part in inner]}
    if kind is Literal:
        return {"enum": list(inner)}
    if kind is tuple:
        return {"type": "array", "items": _schema(inner[0], definitions)}
    if kind is dict:
        return {"type": "object", "additionalProperties": _schema(inner[1], definitions)}
    return {} if shape is Any else {"type": _SCALARS[shape]}


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
