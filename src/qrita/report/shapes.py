"""Frozen dataclasses out of JSON: a value has the shape that the type hints say, or the error names the field."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

GREATEST_FILE = 4 << 20
"""Bytes of the longest file that is read."""

_WORDS = {str: "a string", int: "an integer", float: "a number", bool: "true or false", NoneType: "null"}


class ShapeError(ValueError):
    """A value that is not what was expected. The message names the field, the value and what was expected."""


def load(shape: type[T], file: Path, schema: int) -> T:
    """The object that a JSON file holds, whose field `schema` is that version.

    Raises:
        ShapeError: the file cannot be read, is not JSON, or holds something else; says which.
    """
    try:
        with file.open(encoding="utf-8") as opened:
            text = opened.read(GREATEST_FILE + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ShapeError(f"cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if not text.strip():
        raise ShapeError("is empty, expected a JSON object")
    if len(text) > GREATEST_FILE:
        raise ShapeError(f"is longer than {GREATEST_FILE:,} bytes, too long for what it should be")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ShapeError(f"is not JSON ({error})") from None
    found = value.get("schema") if isinstance(value, dict) else None
    if found is not None and found != schema:
        raise ShapeError(f"has schema {_shown(found)}, expected {schema}: another version of qrita wrote it")
    loaded: T = read(shape, value)
    return loaded


def read(shape: Any, value: Any, field: str = "") -> Any:
    """The value as that type: a dataclass, str, int, float, bool, None, a Literal, a union, a tuple or a dict of those.

    Keys that the dataclass has not are passed over: a later version may write more.

    Raises:
        ShapeError: it is not of that type.
    """
    kind, inner = get_origin(shape), get_args(shape)
    if kind is Annotated:
        return read(inner[0], value, field)
    if is_dataclass(shape) and isinstance(shape, type):
        return _object(shape, value, field)
    if kind in (Union, UnionType):
        return _one_of(shape, value, field)
    if kind is Literal and value in inner and isinstance(value, str):
        return value
    if kind is tuple and isinstance(value, list):
        return tuple(read(inner[0], item, f"{field}[{i}]") for i, item in enumerate(value))
    if kind is dict and isinstance(value, dict):
        return {key: read(inner[1], item, f"{field}.{key}") for key, item in value.items()}
    if shape is Any:
        return value
    numeric = shape is float and isinstance(value, int) and not isinstance(value, bool)
    if numeric or (isinstance(shape, type) and type(value) is shape):
        return value
    raise ShapeError(f"{field or 'it'} is {_shown(value)}, expected {words(shape)}")


def words(shape: Any) -> str:
    """A type in words."""
    kind, inner = get_origin(shape), get_args(shape)
    if kind is Annotated:
        return words(inner[0])
    if kind in (Union, UnionType):
        return " or ".join(words(part) for part in inner)
    if kind is Literal:
        return f"one of {', '.join(inner)}"
    return _WORDS.get(shape) or ("a list" if kind is tuple else "an object")


def _object(shape: type, value: Any, field: str) -> Any:
    if not isinstance(value, dict):
        raise ShapeError(f"{field or 'it'} is {_shown(value)}, expected an object")
    hints = get_type_hints(shape, include_extras=True)
    given = {}
    for item in fields(shape):
        name = f"{field}.{item.name}" if field else item.name
        if item.name in value:
            given[item.name] = read(hints[item.name], value[item.name], name)
        elif item.default is MISSING and item.default_factory is MISSING:
            raise ShapeError(f"{name} is missing, expected {words(hints[item.name])}")
    return shape(**given)


def _one_of(shape: Any, value: Any, field: str) -> Any:
    parts = [part for part in get_args(shape) if part is not NoneType]
    if value is None and NoneType in get_args(shape):
        return None
    if len(parts) == 1:  # its own message says more
        return read(parts[0], value, field)
    for part in parts:
        try:
            return read(part, value, field)
        except ShapeError:
            continue
    raise ShapeError(f"{field or 'it'} is {_shown(value)}, expected {words(shape)}")


def _shown(value: Any) -> str:
    text = json.dumps(value, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}..."
