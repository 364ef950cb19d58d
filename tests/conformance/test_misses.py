"""Rows of the kinds that models give are settled without a search of whole rows, which costs a launch a millisecond."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

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


def peaked(temperature: float) -> Tensor:
    """Rows of a model."""
    found = [real.scaled(bits, "float32", temperature) for _, bits in real.rows()]
    return torch.stack([formats.tensor(row, "float32").reshape(-1) for row in found[:4]])


ROWS = {
    "normal": normal(1.0),
    "flat": normal(0.1),
    "wide": normal(3.0),
    "wider": normal(5.0),
    "all but 3 masked": all_but(3),
    "all but 20 masked": all_but(20),
    "all but 100 masked": all_but(100),
    "outlier": outlier(),
    "real": peaked(1.0),
    "real, sharpened": peaked(0.5),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize(("k", "p"), [(None, 0.5), (None, 0.9), (None, 0.99), (1000, None), (50, 0.9)])
def test_truncation_settles(
    subject: Subject, name: str, k: int | None, p: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qrita import pipeline
    from qrita.kernels.select import CUT_STATE, MISSED

    problem = Problem(subject.put(ROWS[name]), k, p)
    plan = replace(subject.engine.plan_for(problem), splits=2, tile=2048)
    monkeypatch.setattr(pipeline._Call, "_select_rows", lambda call, masses: None)
    call = pipeline._Call.of(problem, plan)
    with pipeline._on(problem.logits.device):
        call.select()
    assert MISSED.value not in call.cuts[CUT_STATE.value].tolist()
