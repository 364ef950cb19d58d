"""The row around its cut, as a table: the oracle's answer beside the engine's."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from qrita import reference
from qrita.cli.counting import counted
from qrita.reference import Cut
from qrita.testing import differences, formats
from qrita.testing.building import Case

Styled = tuple[str, str]
"""A line and how it looks."""

_HEADING = "   rank    token            logit        bits         weight   prefix / Z  oracle  engine"

AROUND = 4
"""Ranks shown on each side of a cut."""


def table(case: Case, kept: NDArray[np.bool_] | str, cut: Cut | str) -> Iterator[Styled]:
    """The row in its order: the first tokens, those around each cut, and those on which the two disagree.

    Args:
        kept: [vocab], the tokens of the engine's mask, or what it raised.
        cut: the engine's, or what it raised.
    """
    bits = reference.widen(case.raw, case.dtype)
    order = reference.row(bits, None, None).kept
    survivors = reference.row(bits, case.k, None)
    prefix = np.cumsum(survivors.weights)
    oracle = reference.kept(case.answer)
    engine = None if isinstance(kept, str) else kept

    yield _masses(case, prefix), ""
    yield (
        f"{'rank':>7} {'token':>8} {'logit':>16} {'bits':>11} {'weight':>14} {'prefix / Z':>12}  oracle  engine",
        "bold",
    )
    previous = -1
    for rank in _ranks(case, cut, order, oracle, engine):
        if rank > previous + 1:
            yield f"{'...':>7} ({rank - previous - 1:,} more)", "dim"
        previous = rank
        token = int(order[rank])
        weighs = rank < len(survivors.kept)
        differs = engine is not None and bool(oracle[token] != engine[token])
        yield (
            f"{rank + 1:>7,} {token:>8} {_value(case, token):>16} {_bits(case, token):>11} "
            + (f"{int(survivors.weights[rank]):>14}" if weighs else f"{'cut by k':>14}")
            + (f" {_share(int(prefix[rank]), survivors.total):>12}" if weighs else f" {'':>12}")
            + f"  {_mark(oracle[token]):<6}  {'?' if engine is None else _mark(engine[token])}"
            + ("   <- differs" if differs else ""),
            "bold red" if differs else "green" if oracle[token] else "",
        )
    if len(order) > previous + 1:
        yield f"{'...':>7} ({len(order) - previous - 1:,} more)", "dim"
    yield from _ineligible(case, order, engine)


def _masses(case: Case, prefix: NDArray[np.int64]) -> str:
    total = case.answer.total
    if case.p is None or not case.p < 1.0:
        return f"top-p is off; Z = {total}"
    target = ceil(Fraction(case.p) * total) if case.p > 0.0 else 0
    text = f"target ceil(p * Z) = {target} of Z = {total}"
    count = len(case.answer.kept)
    if count > 1:
        text += f"; {counted(count - 1, 'tokens have', 'token has')} {int(prefix[count - 2])}, "
        text += f"{count:,} have {int(prefix[count - 1])}"
    return text


def _ranks(
    case: Case, cut: Cut | str, order: NDArray[np.int64], oracle: NDArray[np.bool_], engine: NDArray[np.bool_] | None
) -> list[int]:
    """The ranks to show."""
    count = len(case.answer.kept)
    shown = {0, 1, *range(count - AROUND, count + AROUND)}
    if isinstance(cut, Cut):
        shown |= set(range(cut.count - 2, cut.count + 2))
    if engine is not None:
        differing = np.flatnonzero(oracle[order] != engine[order]).tolist()
        shown |= {*differing[:AROUND], *differing[-2:]}
    return sorted(rank for rank in shown if 0 <= rank < len(order))


def _ineligible(case: Case, order: NDArray[np.int64], engine: NDArray[np.bool_] | None) -> Iterator[Styled]:
    never = np.ones(case.vocab, bool)
    never[order] = False
    if never.any():
        yield f"{'':>7} {counted(int(never.sum()), 'tokens are', 'token is')} NaN or -inf and never kept", ""
    wrong = np.flatnonzero(never & (False if engine is None else engine))
    if len(wrong):
        yield (
            f"{'':>7} the engine keeps {len(wrong):,} of those, first {differences.token(case, int(wrong[0]))}",
            "bold red",
        )


def _mark(kept: bool | np.bool_) -> str:
    return "kept" if kept else "-"


def _value(case: Case, token: int) -> str:
    return f"{float(formats.values(case.raw[token : token + 1], case.dtype)[0]):.9g}"


def _bits(case: Case, token: int) -> str:
    return f"0x{int(case.raw[token]):0{formats.WIDTH[case.dtype] // 4}x}"


def _share(mass: int, total: int) -> str:
    return f"{mass / total:.9f}" if total else ""
