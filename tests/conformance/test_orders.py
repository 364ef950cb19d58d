"""The cheap forms of the order: ranks against keys, and the logit from which a key is reached, at the edges of fp32."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
import torch

from qrita import reference
from qrita.testing import formats
from qrita.testing.subjects import Subject

INELIGIBLE, HIGHEST = -(2**31), 2**31 - 1
LEAST, INFINITE = -0x7F800000, 0x7F800000
EDGES = (
    0x00000000, 0x00000001, 0x00000002, 0x007FFFFF, 0x00800000, 0x3F800000, 0x3F810000, 0x7F7FFFFF, 0x7F800000,
    0x7F800001, 0x7FC00000, 0x7FFFFFFF,
)  # fmt: skip
"""Patterns without a sign: zero, subnormals, the first normal number, 1 and one step of bf16, max, inf and NaN."""


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_ranks_and_values_reach_what_keys_reach(subject: Subject, dtype: str) -> None:
    """Also keys that no logit has: that of -0.0, those of -inf and NaN, and what is above +inf."""
    from order_kernels import compare_kernel

    from qrita import passing, pipeline

    shift = 0 if dtype == "float32" else 16
    patterns = (
        [word >> shift for word in EDGES]
        if dtype != "float16"
        else [0, 1, 0x3FF, 0x400, 0x3C00, 0x7BFF, 0x7C00, 0x7C01, 0x7E00]
    )
    sign = 0x80000000 >> shift
    words = sorted({word | negative for word in patterns for negative in (0, sign)})
    words += words[:1] * (-len(words) % 32)
    kind = np.uint32 if dtype == "float32" else np.uint16
    logits = formats.tensor(np.array(words, kind), dtype)
    bits = logits.float().numpy().view(np.uint32)
    own = reference.ordered_keys(bits).astype(np.int64) - 2**31
    eligible = ~np.isnan(logits.float().numpy()) & (bits != 0xFF800000)
    near = chain.from_iterable((key - 1, key, key + 1) for key in own[eligible].tolist())
    keys = sorted({INELIGIBLE, INELIGIBLE + 1, LEAST - 1, LEAST, -1, INFINITE, INFINITE + 1, HIGHEST, *near})
    on = subject.put(logits)
    given = torch.tensor(keys, dtype=torch.int32, device=on.device)
    by_rank, by_value = (torch.empty((len(keys), len(words)), dtype=torch.int32, device=on.device) for _ in range(2))
    with pipeline._on(on.device):
        compare_kernel[(len(keys),)](
            on.view(passing.WORDS[on.dtype]), given, by_rank, by_value, COUNT=len(words),
            FORMAT=passing.FORMATS[on.dtype], enable_fp_fusion=False,
        )  # fmt: skip
    expected = [[int(e and k >= key) for k, e in zip(own.tolist(), eligible.tolist(), strict=True)] for key in keys]
    assert by_rank.tolist() == expected
    assert by_value.tolist() == expected
