"""Compiling ahead: what `qrita.warmup` does."""

from __future__ import annotations

import torch

from qrita import device as devices
from qrita import plan as plans
from qrita.pipeline import KernelEngine
from qrita.plan import Plan
from qrita.records import Problem


def warm(device: torch.device, dtype: torch.dtype, chosen: list[tuple[Plan, int | None]] | None = None) -> None:
    """Compile and load every kernel that a call on `device` with logits of `dtype` can come to."""
    for plan, k in plans.reachable(devices.of(device)) if chosen is None else chosen:
        engine = KernelEngine(plan=plan)
        # Long enough that truncation can miss, so that the fallback is launched as well.
        vocab = plan.keep * plan.group * 2
        memory = torch.zeros(vocab + 1, dtype=dtype, device=device)
        p = torch.full((1,), 0.5, device=device)
        for logits in (memory[None, :vocab], memory[None, 1:]):  # aligned and general
            problem = Problem(logits, k, p)
            engine.mask(problem, 0.0, torch.empty((1, vocab + 8), dtype=dtype, device=device)[:, :vocab])
            engine.candidates(problem, 1)
