"""Our kernels held to a plan by name, as `qrita check --subject triton:sigma` has them."""

from __future__ import annotations

import pytest
import torch

from qrita import device as devices
from qrita import plan as plans
from qrita.records import Problem
from qrita.testing import forced, subjects

PROBLEM = Problem(torch.zeros((3, 5000)), 50, 0.5)


@pytest.mark.parametrize("name", forced.names())
def test_every_plan_can_be_forced(name: str) -> None:
    expected = plans.forced(PROBLEM, devices.of(PROBLEM.logits.device))[name.replace("-", " ")]
    assert forced.ForcedEngine(forced=name).plan_for(PROBLEM) == expected


def test_names_need_no_quotes() -> None:
    assert {"chosen", "sigma", "one-program-a-row"} <= {*forced.names()}
    assert not [name for name in forced.names() if " " in name]


def test_no_such_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subjects.engines, "named", lambda name: None)
    monkeypatch.setattr(subjects.engines, "device_of", lambda name: "cuda")
    assert subjects.named("triton:none").engine == forced.ForcedEngine("triton", forced="none")
    with pytest.raises(ValueError, match="subject='triton:tropic': no such plan; expected one of chosen, groups, "):
        subjects.named("triton:tropic")
