"""The row around its cut as a picture: one line a token in the order, so that it is as narrow as a phone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from qrita.report.record import Record, Token

WIDTH, BAR = 380, 128
"""In the picture's own units: all of it, and the longest bar."""
HEIGHTS = {"token": 22, "rule": 24, "gap": 20}
HEAD = 26


@dataclass(frozen=True)
class Line:
    """One line, `y` being its top.

    Attributes:
        kind: a token, a rule that is drawn between two, or words in place of tokens that are not shown.
        whose: of a rule: the right cut, the cut that was given, or the end of top-k.
        bar: the length of a token's bar, which tells its logit among those shown.
    """

    kind: Literal["token", "rule", "gap"]
    y: int
    token: Token | None = None
    bar: float = 0.0
    text: str = ""
    whose: str = ""

    @property
    def height(self) -> int:
        return HEIGHTS[self.kind]

    @property
    def differs(self) -> bool:
        """Whether a token was kept and should not be, or the reverse."""
        return self.token is not None and self.token.subject is not None and self.token.subject != self.token.oracle


@dataclass(frozen=True)
class Picture:
    """All lines from top to bottom, and the part of the height along which tokens are tied with the right cut.

    Attributes:
        bars: whether bars would tell logits apart: there are several, and they differ.
    """

    lines: tuple[Line, ...]
    height: int
    tie: tuple[int, int] | None
    bars: bool


def picture(record: Record) -> Picture:
    """Lay the lines out."""
    lines: list[Line] = []
    y = HEAD
    for line in _lines(record):
        placed = Line(line.kind, y, line.token, line.bar, line.text, line.whose)
        lines.append(placed)
        y += placed.height
    tied = [line for line in lines if line.token is not None and line.token.tied]
    span = (tied[0].y, tied[-1].y + tied[-1].height) if len(tied) > 1 else None
    bars = len({line.bar for line in lines if line.token is not None and line.token.rank is not None}) > 1
    return Picture(tuple(lines), y + 4, span, bars)


def _lines(record: Record) -> Iterator[Line]:
    ranked = [token for token in record.around if token.rank is not None]
    low, high = _bounds(ranked)
    if record.oracle.count == 0:
        yield Line("rule", 0, text="right cut: nothing is kept", whose="right")
    previous = 0
    for token in ranked:
        assert token.rank is not None
        if token.rank > previous + 1:
            yield Line("gap", 0, text=f"{token.rank - previous - 1:,} more")
        previous = token.rank
        yield Line("token", 0, token, _bar(float(token.value), low, high))
        yield from _rules(record, token)
    if record.row.eligible > previous:
        yield Line("gap", 0, text=f"{record.row.eligible - previous:,} more")
    unranked = [token for token in record.around if token.rank is None]
    if record.row.vocab > record.row.eligible:
        yield Line("gap", 0, text=f"{record.row.vocab - record.row.eligible:,} NaN or -inf, never kept")
    yield from (Line("token", 0, token) for token in unranked)


def _rules(record: Record, token: Token) -> Iterator[Line]:
    """The cuts that lie below a token."""
    kept, row, answer = record.oracle.count, record.row, record.answer
    if token.rank == kept:
        yield Line("rule", 0, text=f"right cut: {kept:,} kept, {_reason(record)}", whose="right")
    elif token.rank == row.k and record.masses is not None:
        yield Line("rule", 0, text=f"top-k ends: k = {row.k:,}", whose="k")
    if answer is not None and answer.count and answer.index == token.index and answer.index != record.oracle.index:
        yield Line("rule", 0, text=f"cut by {record.subject.name}: it says {answer.count:,} kept", whose="given")


def _reason(record: Record) -> str:
    masses, row = record.masses, record.row
    if masses is not None:
        share = masses.reached / masses.total if masses.total else 0.0
        return f"p = {float(row.p or 0):.6g} reached ({share:.6f})"
    if row.k is not None and 0 < row.k < row.vocab:
        return f"k = {row.k:,}"
    return "k and p are off"


def _bounds(tokens: list[Token]) -> tuple[float, float]:
    finite = [float(token.value) for token in tokens if math.isfinite(float(token.value))]
    return (min(finite), max(finite)) if finite else (0.0, 0.0)


def _bar(value: float, low: float, high: float) -> float:
    """Never nothing, so that the smallest shows too."""
    if not math.isfinite(value):
        return BAR if value > 0 else 0.0
    spread = high - low  # of fp32 values, in fp64: finite
    return BAR * (0.06 + 0.94 * ((value - low) / spread if spread else 1.0))
