"""A write is a write to autograd too, whichever engine makes it."""

from __future__ import annotations

import pytest
import torch

from qrita.testing.subjects import Subject


@pytest.mark.parametrize("in_place", [True, False])
def test_writes_are_seen_by_autograd(subject: Subject, in_place: bool) -> None:
    """Backward through a tensor that was overwritten is an error, not a wrong gradient."""
    leaf = subject.put(torch.randn(2, 8)).requires_grad_()
    y = leaf.exp()
    with torch.no_grad():
        if in_place:
            subject.top_k_top_p_(y, 2)
        else:
            subject.top_k_top_p(torch.randn(2, 8), 2, out=y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
