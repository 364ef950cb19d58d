"""A case in words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qrita.cli.counting import counted
from qrita.cli.findings import Item
from qrita.testing.building import Case
from qrita.testing.families import FAMILIES
from qrita.testing.real import RealRow
from qrita.testing.recipes import Aim, Recipe, Tie


def told(item: Item, case: Case) -> Iterator[str]:
    """What the row is, then its k, then its p."""
    if isinstance(item, RealRow):
        yield f"row     {case.vocab:,} {case.dtype} logits of SmolLM2-135M, {item.real}, temperature {item.temperature}"
    else:
        yield from _recipe(item)
    yield f"k       {_k(case)}"
    yield f"p       {_p(item.p, case)}"


def _recipe(recipe: Recipe) -> Iterator[str]:
    family = FAMILIES[recipe.family]
    yield f"row     {recipe.vocab:,} {recipe.dtype} logits of family {recipe.family!r}, seed {recipe.seed}"
    if family.build.__doc__:
        yield f"        {family.build.__doc__.strip()}"
    yield f"level   {recipe.level} ({family.level})"
    for planted in recipe.planted:
        yield f"planted bits 0x{planted.pattern:x} at token {planted.position}"
    for tie in recipe.ties:
        yield f"tied    {_tie(tie)}"


def _tie(tie: Tie) -> str:
    at = f"{counted(tie.length, 'tokens')} from {tie.start} on"
    if tie.stride > 1:
        at += f", in steps of {tie.stride:,}"
    return f"{at}, with the logit of {'the last kept token' if tie.rank == 'cut' else f'rank {int(tie.rank) + 1}'}"


def _k(case: Case) -> str:
    if case.k is None:
        return "none: top-k is off"
    return str(case.k) if 0 < case.k < case.vocab else f"{case.k}: top-k is off, the vocabulary is {case.vocab:,}"


def _p(asked: float | Aim | None, case: Case) -> str:
    if case.p is None:
        return "none: top-p is off"
    text = f"{case.p!r}, fp32 bits 0x{int(np.float32(case.p).view(np.uint32)):08x}"
    if isinstance(asked, Aim):
        tokens = f"{asked.tokens:,} tokens" if asked.tokens > 1 else "token"
        steps = f"{asked.ulps:+,d} step" + ("" if abs(asked.ulps) == 1 else "s")
        text += f": aimed at the mass of the first {tokens}, {steps} of fp32"
    if case.p >= 1.0:
        return f"{text}; top-p is off"
    return f"{text}; one token is kept" if case.p <= 0.0 else text
