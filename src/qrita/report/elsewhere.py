"""Which row a failure was met in: a property that asks for a row among others may find one of those wrong."""

from __future__ import annotations

import json
import re

from qrita.report.record import Record

_ROW = re.compile(r"\brow (\d+) of (\d+) \((?=\{)")


def words(found: Record) -> str:
    """That a picture of the record's own row shows another row than the first difference; "" where it does not."""
    named = _ROW.search(found.found)
    if named is None or found.case is None:
        return ""
    try:
        other, _ = json.JSONDecoder().raw_decode(found.found, named.end())
    except ValueError:
        return ""
    if other == found.case:
        return ""
    return (
        f"The picture is of the case's own row, alone; the first difference is in another row that was asked for "
        f"with it: row {named[1]} of {named[2]}, counted from 0."
    )
