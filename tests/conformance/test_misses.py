"""Rows of the kinds that models give are settled without a search of whole rows, which costs a launch a millisecond."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from qrita import reference
from qrita.records import Problem
from qrita.testing import formats, real
from qrita.testing.subjects import Subject

VOCAB = 20_000


def normal(scale: float) -> Tensor:
    """Two rows of Gaussian logits."""
    drawn = np.random.default_rng(7).standard_normal((2, VOCAB)) * scale
    return torch.from_numpy(drawn.astype(np.float32))


def all_but(kept: int) -> Tensor:
    """Rows of which a grammar leaves few tokens."""
    logits = torch.full((2, VOCAB), -torch.inf)
    logits[:, 11 :: VOCAB // kept] = normal(1.0)[:, 11 :: VOCAB // kept]
    return logits


def outlier() -> Tensor:
    """Flat rows with one token that holds all the mass."""
    logits = normal(1.0)
    logits[:, 4321] = 1e30
    return logits


def few_heavy(tokens: int) -> Tensor:
    """Flat rows of which some tokens that no sample sees have 95 % of the mass, and more than top-p asks for."""
    logits = normal(1.0)
    heavy = torch.logsumexp(logits, 1) + np.log(0.95 / 0.05 / tokens)
    logits[:, 4321 : 4321 + tokens] = heavy[:, None] - torch.linspace(0.0, 0.05, tokens)
    return logits


def peaked(temperature: float, most: int = 4) -> Tensor:
    """Rows of a model."""
    found = [real.scaled(bits, "float32", temperature) for _, bits in real.rows()]
    return torch.stack([formats.tensor(row, "float32").reshape(-1) for row in found[:most]])


def one_heavy(temperature: float) -> Tensor:
    """Rows of a model in which one token of those that a sample sees weighs more than all others."""
    logits = peaked(temperature, 8)
    logits[:, 5] = torch.logsumexp(torch.cat([logits[:, :5], logits[:, 6:]], 1), 1) + np.log(1.5)
    return logits


def exponential() -> Tensor:
    """Rows whose mass is spread over all logits alike, so that a sample tells little."""
    drawn = np.random.default_rng(1).exponential(1.0, (4, 49_152))
    return torch.from_numpy(drawn.astype(np.float32))


def few_values() -> Tensor:
    """Rows far from 0 in bf16: a thousand tokens have one and the same logit."""
    drawn = np.random.default_rng(2).standard_normal((4, 49_152)) * 2.0 + 20.0
    return torch.from_numpy(drawn.astype(np.float32)).to(torch.bfloat16).to(torch.float32)


ROWS = {
    "normal": normal(1.0),
    "flat": normal(0.1),
    "wide": normal(3.0),
    "wider": normal(5.0),
    "all but 3 masked": all_but(3),
    "all but 20 masked": all_but(20),
    "all but 100 masked": all_but(100),
    "outlier": outlier(),
    "2 heavy": few_heavy(2),
    "30 heavy": few_heavy(30),
    "real": peaked(1.0),
    "real, sharpened": peaked(0.5),
}


def missed(subject: Subject, rows: Tensor, k: int | None, p: float | None, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many rows truncation leaves to a search of whole rows."""
    from qrita import pipeline
    from qrita.kernels.select import CUT_STATE, MISSED

    problem = Problem(subject.put(rows), k, p)
    plan = replace(subject.engine.plan_for(problem), splits=2, tile=2048)
    monkeypatch.setattr(pipeline._Call, "_select_rows", lambda call, masses, brackets: None)
    call = pipeline._Call.of(problem, plan)
    with pipeline._on(problem.logits.device):
        call.select()
    return call.cuts[CUT_STATE.value].tolist().count(MISSED.value)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize(("k", "p"), [(None, 0.5), (None, 0.9), (None, 0.99), (1000, None), (50, 0.9)])
def test_truncation_settles(
    subject: Subject, name: str, k: int | None, p: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert missed(subject, ROWS[name], k, p, monkeypatch) == 0


HARD = {
    "real, flattened": (peaked(1.5, 8), [(None, 0.9), (None, 0.999), (20_000, None)]),
    "real, flat": (peaked(2.0, 8), [(None, 0.9), (None, 0.95), (None, 0.99), (20_000, None)]),
    "one heavy": (one_heavy(2.0), [(None, 0.9), (None, 0.95), (None, 0.99), (5_000, None)]),
    "exponential": (exponential(), [(None, 0.9), (None, 0.95), (None, 0.99)]),
    "few values": (few_values(), [(None, 0.9), (None, 0.95), (None, 0.99)]),
}


@pytest.mark.parametrize(("name", "k", "p"), [(name, k, p) for name, (_, asked) in HARD.items() for k, p in asked])
def test_second_look_settles(
    subject: Subject, name: str, k: int | None, p: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first look misses many of these, and what it saw says where the cut is."""
    assert missed(subject, HARD[name][0], k, p, monkeypatch) == 0


@pytest.mark.parametrize("bulk", [-40.0, -torch.inf])
@pytest.mark.parametrize(("k", "p"), [(2000, 0.9), (1000, 0.9), (2000, None), (None, 0.9)])
def test_a_bulk_that_weighs_nothing(subject: Subject, k: int | None, p: float | None, bulk: float) -> None:
    """A bracket of one key whose tokens weigh 0: how many of them bring a mass is a division by 0, if it is asked."""
    row = torch.full((3000,), bulk)
    row[::15] = 0.0
    wanted = reference.row(row.numpy().view(np.uint32), k, None if p is None else float(np.float32(p))).cut
    cuts = subject.engine.cuts(Problem(subject.put(row)[None], k, p))
    found = (cuts.key, cuts.index, cuts.count, cuts.mass, cuts.total)
    assert tuple(int(field[0]) for field in found) == (
        wanted.key, wanted.index, wanted.count, wanted.mass, wanted.total,
    )  # fmt: skip
