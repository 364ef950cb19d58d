"""A failure in a sentence or two, for somebody who has never seen the project."""

from __future__ import annotations

import re

from qrita.report.record import Kind, Masses, Reruns, Row, Tie, Token

ENOUGH, LONGEST = 60, 300
"""Characters of a first line that says enough, and of a difference as it is shown."""


def sentence(
    kind: Kind,
    *,
    name: str,
    found: str,
    by_cut: bool,
    row: Row,
    kept: int,
    first: Token | None,
    tie: Tie | None,
    masses: Masses | None,
    reruns: Reruns,
) -> str:
    """What failed, where and why.

    Args:
        name: the implementation's.
        found: the first difference, in the property's words.
        by_cut: whether the mask is right, and it is the cut that names other tokens.
        kept: how many tokens should be kept.
    """
    name = f"the implementation {name!r}"
    if kind == "NaN rule" and first is not None:
        logit = f"{first.value} ({first.bits})"
        return f"{_capital(name)} keeps token {first.index}, whose logit is {logit}: NaN and -inf are never kept."
    if first is not None and kind in ("wrong set", "tie side", "p boundary"):
        whose = f"by the cut that it names, {name}" if by_cut else name
        return f"{_wrong(_capital(whose), first)} {_bound(row, kept, masses)}{_tied(first, tie)}"
    runs = f", and then in {reruns.failed} of {reruns.count} further runs" if kind == "non-determinism" else ""
    return f"{_capital(name)} {_DID.get(kind, 'failed')}{runs}: {_first_difference(found)}."


_DID: dict[Kind, str] = {
    "wrong bits": "keeps the right tokens, but writes other bits",
    "wrong numbers": "keeps the right tokens, but its count, its mass or its total is wrong",
    "only in context": "answers this row rightly when it is alone, and wrongly where the property asks for it",
    "non-determinism": "does not repeat its answer: it failed",
    "crash": "raised an exception",
    "hang": "did not answer in time",
    "input changed": "wrote to memory that it should leave alone",
    "wrong form": "returned another type, shape, dtype or device than it should",
}


def _first_difference(found: str) -> str:
    """On one line, without the JSON of other rows; with what follows where the first line says little."""
    first, *more = (line.strip() for line in found.splitlines() or [""])
    line = re.sub(r" \(\{.*?\}\)", "", first if len(first) > ENOUGH else "; ".join([first, *more]))
    return line.rstrip(".") if len(line) <= LONGEST else f"{line[:LONGEST]}.."


def _wrong(name: str, first: Token) -> str:
    verb, should = ("keeps", "dropped") if first.subject else ("drops", "kept")
    return (
        f"{name} {verb} token {first.index}, which should be {should}: logit {first.value} ({first.bits}), "
        f"rank {first.rank:,} in the row's order."
    )


def _bound(row: Row, kept: int, masses: Masses | None) -> str:
    """Why the oracle keeps as many as it does."""
    count = "only the first token is" if kept == 1 else f"the first {kept:,} tokens are"
    if masses is not None and row.p is not None:
        if masses.target == 0:
            return f"p = {row.p}: {count} kept."
        reached = f"{_share(masses.reached, masses.total)} of the weight"
        before = f"; without the last it would be {_share(masses.before, masses.total)}" if kept > 1 else ""
        return f"p = {row.p} is reached where {count} kept, with {reached}{before}."
    if row.k is not None and 0 < row.k < row.vocab:
        return f"k = {row.k:,}: {count} kept."
    return "k and p are off: every token is kept but NaN and -inf."


def _tied(first: Token, tie: Tie | None) -> str:
    if tie is None or not first.tied or tie.first == tie.last:
        return ""
    return (
        f" It is one of {tie.last - tie.first + 1:,} tokens with that logit, ranks {tie.first:,} to {tie.last:,}: "
        f"of equal logits the lowest token indices come first, and {tie.oracle:,} of these are kept."
    )


def _share(mass: int, total: int) -> str:
    return f"{mass / total:.9f}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
