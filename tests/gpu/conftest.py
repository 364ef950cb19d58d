"""Tests of the compiled kernels on a GPU: they run where `--engine triton` asks for it, and only there."""

from __future__ import annotations

import pytest
import torch

from qrita.pipeline import KernelEngine


@pytest.fixture
def engine() -> KernelEngine:
    """The engine for GPU tensors; a machine without one fails here, it does not skip."""
    assert torch.cuda.is_available(), "--engine triton promises a GPU; torch sees none"
    return KernelEngine()


@pytest.fixture
def poisoned() -> None:
    """Free memory that holds garbage, so that workspace which a kernel reads before it writes shows."""
    blocks = [
        torch.full((size,), -0x55555556, dtype=torch.int32, device="cuda") for size in [1 << n for n in range(8, 26)]
    ]
    del blocks  # torch's allocator hands these out again, as they are
