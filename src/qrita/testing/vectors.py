"""Vectors: fixed rows with their answers, in JSON that any language reads. docs/testing.md says how to read one.

A vector is made from a case by `of`, which asks the oracle, and is compared with a subject by `difference`, which does
not: what it holds is the answer.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from qrita.reference import Cut
from qrita.testing import differences, formats
from qrita.testing.building import Case
from qrita.testing.differences import within
from qrita.testing.flags import flags
from qrita.testing.formats import NEGATIVE_INFINITY, WIDTH, Raw
from qrita.testing.subjects import Subject

GREATEST = (1 << 53) - 1
"""The greatest integer in a vector: what a JSON number holds exactly in every language."""

LONGEST = 1 << 14
"""Characters of the longest list: longer rows have to be ones of which few runs are made."""

NOT_VECTORS = ("flags.json", "schema.json")
"""Files that lie beside the vectors: what a flag means, and the schema."""

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class VectorError(ValueError):
    """A vector that cannot be written or read: the message names the field, its value and what was expected."""


@dataclass(frozen=True)
class Vector:
    """One row with its k, its p and its answer, as the JSON has it.

    Attributes:
        name: unique among all vectors, and the id of its test.
        why: one sentence: what goes wrong where.
        rules: the rules of docs/semantics.md that it tests.
        faults: the kinds of faults, by their names there, that it shows.
        flags: what it exercises; `qrita.testing.flags.FLAGS` explains each.
        recipe: the case that it was made from. Nothing else in it is needed to read the vector.
        dtype, vocab, logits: the row; `logits` is hex patterns of that dtype, `*n` after one that comes n times.
        k: null or an integer.
        p: null or the hex pattern of a float32.
        kept: the kept tokens, ascending; `a-b` for a, a + 1, ..., b.
        order: the same tokens, greatest logit first.
        cut: key (hex), index, count, mass and total.
    """

    name: str
    why: str
    rules: tuple[int, ...]
    faults: tuple[str, ...]
    flags: tuple[str, ...]
    recipe: dict[str, Any]
    dtype: str
    vocab: int
    logits: str
    k: int | None
    p: str | None
    kept: str
    order: str
    cut: dict[str, Any]

    @property
    def raw(self) -> Raw:
        """[vocab], the logits' patterns."""
        return formats.patterns(np.fromiter(_expanded(self.logits), np.int64), self.dtype)

    @property
    def case(self) -> Case:
        """The row, k and p. Its answer is not used here."""
        p = None if self.p is None else _value(self.p)
        return Case(None, formats.tensor(self.raw, self.dtype), self.k, p, f"vector {self.name}")

    @property
    def expected_order(self) -> NDArray[np.int64]:
        """The kept tokens, greatest logit first."""
        return np.fromiter(_indices(self.order), np.int64)

    @property
    def expected_cut(self) -> Cut:
        """The cut as integers."""
        return Cut(**{**self.cut, "key": int(self.cut["key"], 16)})


def of(
    case: Case,
    *,
    name: str,
    why: str,
    rules: Sequence[int],
    faults: Sequence[str] = (),
    recipe: str | None = None,
    p_bits: str | None = None,
) -> Vector:
    """The vector of a case, with the oracle's answer.

    Args:
        recipe: the JSON of what the case was built from, by default its recipe's.
        p_bits: the hex pattern of p, for what no recipe holds: NaN and the infinities.

    Raises:
        VectorError: it is not fit to be one; says what is.
    """
    if not NAME.fullmatch(name):
        raise VectorError(f"name={name!r}: expected lower-case words joined by '-', such as tie-at-the-cut")
    if not why.endswith(".") or len(why) < 20:
        raise VectorError(f"why={why!r}: expected a sentence, with its full stop, that says why the vector exists")
    if not rules or not all(0 <= rule <= 17 for rule in rules):
        raise VectorError(f"rules={list(rules)!r}: expected one or more rules of docs/semantics.md, 0 to 17")
    if p_bits is not None and not re.fullmatch("[0-9a-f]{8}", p_bits):
        raise VectorError(f"p_bits={p_bits!r}: expected 8 hex digits, lower case, such as 7fc00000")
    if p_bits is not None:
        case = replace(case, p=_value(p_bits))
    elif case.p is not None:
        p_bits = f"{int(np.float32(case.p).view(np.uint32)):08x}"
    answer = case.answer
    integers = asdict(answer.cut)
    for field, value in (("k", case.k or 0), *integers.items()):
        if abs(value) > GREATEST:
            raise VectorError(f"{field}={value}: expected at most 2**53 - 1, which JSON holds in every language")
    written = {
        "logits": _runs([f"{int(x):0{WIDTH[case.dtype] // 4}x}" for x in case.raw]),
        "kept": _ranges(np.sort(answer.kept)),
        "order": _ranges(answer.kept),
    }
    for field, text in written.items():
        if len(text) > LONGEST:
            raise VectorError(f"{field}: {len(text):,} characters, expected at most {LONGEST:,}; take a shorter row")
    return Vector(
        name=name,
        why=why,
        rules=tuple(sorted(set(rules))),
        faults=tuple(faults),
        flags=flags(case),
        recipe=json.loads(recipe or case.line),
        dtype=case.dtype,
        vocab=case.vocab,
        k=case.k,
        p=p_bits,
        cut={**integers, "key": f"{answer.cut.key:08x}"},
        **written,
    )


# --- lists as text ----------------------------------------------------------------------------------------------


def _runs(items: Sequence[str]) -> str:
    """'a a b' -> 'a*2 b'."""
    runs: list[tuple[str, int]] = []
    for item in items:
        if runs and runs[-1][0] == item:
            runs[-1] = (item, runs[-1][1] + 1)
        else:
            runs.append((item, 1))
    return " ".join(item if count == 1 else f"{item}*{count}" for item, count in runs)


def _expanded(text: str) -> Iterator[int]:
    for item in text.split():
        pattern, _, count = item.partition("*")
        yield from [int(pattern, 16)] * int(count or 1)


def _ranges(indices: Iterable[int]) -> str:
    """7, 2, 3, 4 -> '7 2-4'."""
    ranges: list[tuple[int, int]] = []
    for index in map(int, indices):
        if ranges and ranges[-1][1] == index - 1:
            ranges[-1] = (ranges[-1][0], index)
        else:
            ranges.append((index, index))
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _indices(text: str) -> Iterator[int]:
    for item in text.split():
        first, _, last = item.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _value(bits: str) -> float:
    value: float = struct.unpack("<f", struct.pack("<I", int(bits, 16)))[0]
    return value


# --- files ------------------------------------------------------------------------------------------------------


def load(file: Path) -> list[Vector]:
    """The vectors of a file.

    Raises:
        VectorError: it is not a file of vectors; names the file.
    """
    try:
        return [_read(given) for given in json.loads(file.read_text(encoding="utf-8"))["vectors"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = f"no key {error}" if isinstance(error, KeyError) else error
        raise VectorError(f"{str(file)!r} is not a file of vectors: {reason}") from None


def _read(given: Any) -> Vector:
    names = [field.name for field in fields(Vector)]
    if not isinstance(given, dict) or given.keys() != set(names):
        raise ValueError(f"{given!r:.60}: expected a vector, an object with the keys {', '.join(names)}")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    return Vector(**values)


def load_all(directory: Path) -> list[Vector]:
    """The vectors of every file of a directory that has some, in the order of the files' names."""
    files = sorted(file for file in directory.glob("*.json") if file.name not in NOT_VECTORS)
    return [vector for file in files for vector in load(file)]


def save(file: Path, vector: Vector) -> None:
    """Add a vector to a file, in place of the one of that name if there is one; the file is made if need be."""
    vectors = load(file) if file.exists() else []
    names = [other.name for other in vectors]
    if vector.name in names:
        vectors[names.index(vector.name)] = vector
    else:
        vectors.append(vector)
    file.write_text(text(vectors), encoding="utf-8")


def text(vectors: Iterable[Vector]) -> str:
    """The JSON of a file, one field a line."""
    bodies = [
        "  {\n" + ",\n".join(f'   "{key}": {json.dumps(value)}' for key, value in asdict(vector).items()) + "\n  }"
        for vector in vectors
    ]
    return '{\n "vectors": [\n' + ",\n".join(bodies) + "\n ]\n}\n"


# --- comparing --------------------------------------------------------------------------------------------------


def difference(subject: Subject, vector: Vector) -> str | None:
    """The first way in which a subject's cut, mask or listing is not the vector's.

    k and p are given as numbers, and once more as tensors for the cut; NaN as tensors only, since as a number it is an
    error (rule 2).
    """
    case = vector.case
    k = None if case.k is None else torch.tensor([case.k], dtype=torch.int64)
    p = None if case.p is None else torch.tensor([case.p], dtype=torch.float32)
    found = within("k and p as tensors", _cut_difference(subject, vector, case, k, p))
    if case.p is None or not math.isnan(case.p):
        k, p = case.k, case.p  # type: ignore[assignment]
        found = found or _cut_difference(subject, vector, case, k, p)
    return differences.first(
        found, _mask_difference(subject, vector, case, k, p), _listing_difference(subject, vector, case, k, p)
    )


def _cut_difference(
    subject: Subject, vector: Vector, case: Case, k: int | Tensor | None, p: float | Tensor | None
) -> str | None:
    cut = differences.cut(subject.cuts(case.logits.clone(), k, p))
    if cut == vector.expected_cut:
        return None
    return f"expected the cut {differences.shown(vector.expected_cut)}\n  got {differences.shown(cut)}"


def _mask_difference(
    subject: Subject, vector: Vector, case: Case, k: int | Tensor | None, p: float | Tensor | None
) -> str | None:
    """With mask_value = 0 too where a -inf has to stay -inf."""
    lowest = formats.patterns(NEGATIVE_INFINITY[case.dtype], case.dtype)
    stays = case.raw == lowest
    stays[vector.expected_order] = True
    fills = [(-math.inf, lowest), (0.0, formats.patterns(0, case.dtype))]
    for value, fill in fills if "minus-infinity" in vector.flags else fills[:1]:
        masked = formats.raw(subject.top_k_top_p(case.logits.clone(), k, p, mask_value=value))
        found = differences.pattern_difference(case, np.where(stays, case.raw, fill), masked)
        if found:
            return within(f"mask_value={value}", found)
    return None


def _listing_difference(
    subject: Subject, vector: Vector, case: Case, k: int | Tensor | None, p: float | Tensor | None
) -> str | None:
    """With one slot more than there are tokens."""
    order = vector.expected_order
    listing = subject.candidates(case.logits.clone(), k, p, max_candidates=len(order) + 1)
    got = {
        "indices": listing.indices.reshape(-1).tolist(),
        "logits": formats.raw(listing.logits).reshape(-1).tolist(),
        **{name: getattr(listing, name).tolist() for name in ("counts", "mass", "total")},
    }
    expected = {
        "indices": [*order.tolist(), -1],
        "logits": [*case.raw[order].tolist(), NEGATIVE_INFINITY[case.dtype]],
        **{name: [vector.cut[field]] for name, field in (("counts", "count"), ("mass", "mass"), ("total", "total"))},
    }
    wrong = next((name for name in expected if expected[name] != got[name]), None)
    return wrong and f"candidates: {wrong}: expected {expected[wrong]}, got {got[wrong]}"
