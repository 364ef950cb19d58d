"""The part of JSON Schema that the schemas of this project use. What it does not know is an error, not a pass."""

from __future__ import annotations

import re
from typing import Any

_TYPES = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}
_SAID = {"$schema", "title", "description"}


def problem(value: Any, schema: dict[str, Any], at: str = "it") -> str | None:
    """The first way in which a value does not fit, or None."""
    unknown = schema.keys() - _SAID - _CHECKS.keys() - {"properties"}
    if unknown:
        raise NotImplementedError(f"schema of {at}: {sorted(unknown)}")
    for keyword, check in _CHECKS.items():
        if keyword in schema and not check(value, schema[keyword], schema):
            return f"{at}: {keyword} {schema[keyword]!r:.80} does not hold of {value!r:.80}"
    parts: list[tuple[str, Any, Any]] = []
    if isinstance(value, dict):
        parts = [
            (f"{at}.{key}", value[key], part) for key, part in schema.get("properties", {}).items() if key in value
        ]
    if isinstance(value, list) and "items" in schema:
        parts = [(f"{at}[{i}]", item, schema["items"]) for i, item in enumerate(value)]
    return next((found for name, part, of in parts if (found := problem(part, of, name))), None)


def _of_type(value: Any, names: str | list[str], schema: dict[str, Any]) -> bool:
    names = [names] if isinstance(names, str) else names
    return not isinstance(value, bool) and any(isinstance(value, _TYPES[name]) for name in names)


def _is(kind: type) -> Any:
    """A keyword of JSON Schema says nothing of values of another type."""
    return lambda check: lambda value, wanted, schema: not isinstance(value, kind) or check(value, wanted, schema)


_CHECKS = {
    "type": _of_type,
    "enum": lambda value, options, schema: value in options,
    "minimum": _is(int)(lambda value, least, schema: value >= least),
    "maximum": _is(int)(lambda value, most, schema: value <= most),
    "pattern": _is(str)(lambda value, pattern, schema: re.search(pattern, value) is not None),
    "minItems": _is(list)(lambda value, least, schema: len(value) >= least),
    "uniqueItems": _is(list)(lambda value, on, schema: not on or len({repr(item) for item in value}) == len(value)),
    "required": _is(dict)(lambda value, keys, schema: set(keys) <= value.keys()),
    "additionalProperties": _is(dict)(lambda value, on, schema: on or value.keys() <= schema["properties"].keys()),
    "items": lambda value, of, schema: True,
}
