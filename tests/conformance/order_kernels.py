"""The kernel of `test_orders`: in a file of its own, since Triton may be imported only once an engine is chosen."""

from __future__ import annotations

import triton
import triton.language as tl

from qrita.kernels.order import rank_under, ranks_of, value_from, values_of


@triton.jit
def compare_kernel(words, keys, by_rank, by_value, COUNT: tl.constexpr, FORMAT: tl.constexpr):
    """One program a key: which of the logits reach it, by ranks and by floats."""
    key = tl.load(keys + tl.program_id(0))
    index = tl.arange(0, COUNT)
    raw = tl.load(words + index)
    place = tl.program_id(0) * COUNT + index
    tl.store(by_rank + place, (ranks_of(raw, FORMAT) > rank_under(key)).to(tl.int32))
    tl.store(by_value + place, (values_of(raw, FORMAT) >= value_from(key)).to(tl.int32))
