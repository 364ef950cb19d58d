"""What is under test: an engine behind the public functions, on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, cast

import torch
from torch import Tensor

from qrita import api, arguments, engines
from qrita.engines import Engine
from qrita.records import Candidates, Cuts

T = TypeVar("T")

_INF = float("inf")

TYPICAL_ROWS, TYPICAL_VOCAB, TYPICAL_K, TYPICAL_P = 8, 49152, 50, 0.9
"""The call whose plan is shown."""


@dataclass(frozen=True)
class Subject:
    """The public functions with their engine pinned. Arguments move to the device, results come back to the CPU.

    A tensor that is on the device already is passed as it is, view and strides included; properties that lay out
    memory `put` its base there first and read it back themselves.
    """

    name: str
    engine: Engine
    device: str = "cpu"

    def put(self, value: T) -> T:
        """A tensor on the device; anything else as it is."""
        return cast(T, value.to(self.device)) if isinstance(value, Tensor) else value

    def top_k_top_p(
        self,
        logits: Tensor,
        k: int | Tensor | None = None,
        p: float | Tensor | None = None,
        *,
        mask_value: float = -_INF,
        out: Tensor | None = None,
    ) -> Tensor:
        """`qrita.top_k_top_p`. `out` must be on the device."""
        masked = api._top_k_top_p(
            self.put(logits), self.put(k), self.put(p), mask_value=mask_value, out=out, engine=self.engine
        )
        return masked.cpu()

    def top_k_top_p_(
        self,
        logits: Tensor,
        k: int | Tensor | None = None,
        p: float | Tensor | None = None,
        *,
        mask_value: float = -_INF,
    ) -> Tensor:
        """`qrita.top_k_top_p_`. Logits that are not on the device are copied there and stay unchanged."""
        masked = api._top_k_top_p(
            self.put(logits), self.put(k), self.put(p), mask_value=mask_value, in_place=True, engine=self.engine
        )
        return masked.cpu()

    def candidates(
        self,
        logits: Tensor,
        k: int | Tensor | None = None,
        p: float | Tensor | None = None,
        *,
        max_candidates: int | None = None,
    ) -> Candidates:
        """`qrita.candidates`."""
        found = api._candidates(
            self.put(logits), self.put(k), self.put(p), max_candidates=max_candidates, engine=self.engine
        )
        return Candidates(*(getattr(found, name).cpu() for name in Candidates.__dataclass_fields__))

    def cuts(self, logits: Tensor, k: int | Tensor | None = None, p: float | Tensor | None = None) -> Cuts:
        """The cut of every row."""
        found = api._cuts(self.put(logits), self.put(k), self.put(p), engine=self.engine)
        return Cuts(*(getattr(found, name).cpu() for name in Cuts.__dataclass_fields__))

    def plan(self) -> str:
        """What the engine says of how it answers a typical call; "" where it says nothing."""
        describe = getattr(self.engine, "describe", None)
        if describe is None:
            return ""
        logits = torch.zeros((TYPICAL_ROWS, TYPICAL_VOCAB), device=self.device)
        return str(describe(arguments.problem(logits, TYPICAL_K, TYPICAL_P)))


def named(name: str) -> Subject:
    """The subject for the name of an engine, or of an engine and a plan that it is held to: "triton", "triton:sigma".

    Raises:
        ValueError: there is no such engine, or no such plan; names those there are.
        RuntimeError: the engine cannot run here; says what to do.
    """
    engine, _, plan = name.partition(":")
    found = engines.named(engine)
    device = str(engines.device_of(engine))
    if not plan:
        return Subject(name, found, device)
    if engine == "torch":
        raise ValueError(f"subject={name!r}: the engine 'torch' has no plans; expected 'torch' alone")
    from qrita.testing import forced

    if plan not in forced.names():
        raise ValueError(f"subject={name!r}: no such plan; expected one of {', '.join(forced.names())}")
    return Subject(name, forced.ForcedEngine(engine, plan=None, forced=plan), device)
