"""Tests of the compiled kernels on a GPU: they run where `--engine triton` asks for it, and only there."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(autouse=True)
def gpu() -> None:
    """A machine without a GPU fails here, it does not skip."""
    assert torch.cuda.is_available(), "--engine triton promises a GPU; torch sees none"


@pytest.fixture
def poisoned() -> None:
    """Free memory that holds garbage, so that workspace which a kernel reads before it writes shows."""
    sizes = [1 << n for n in range(8, 26)]
    blocks = [torch.full((size,), -0x55555556, dtype=torch.int32, device="cuda") for size in sizes]
    del blocks  # torch's allocator hands these out again, as they are
