"""Bit patterns: rounding, and the way to tensors and back."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from qrita.testing import formats
from qrita.testing.formats import DTYPES
from qrita.testing.generator import Stream


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_rounded_is_round_to_nearest_even(dtype: str) -> None:
    """Against torch's own conversion, on random bits and on the middles between neighbours."""
    random = Stream(0).words(0, 200_000).astype(np.uint32)
    narrow = formats.patterns(Stream(0).below(1, 20_000, 1 << 16), dtype)
    middles = formats.values(narrow, dtype).view(np.uint32) + np.uint32(1 << (15 if dtype == "bfloat16" else 12))
    for bits in (random, middles, middles + np.uint32(1), middles - np.uint32(1)):
        values = bits.view(np.float32)
        expected = torch.from_numpy(values.copy()).to(getattr(torch, dtype))
        finite = np.isfinite(values) & expected.isfinite().numpy()
        assert (formats.rounded(values, dtype)[finite] == formats.raw(expected)[finite]).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_rounded_keeps_kinds(dtype: str) -> None:
    values = np.array([np.inf, -np.inf, 3.4e38, -3.4e38, 0.0, -0.0, np.nan], np.float32)
    back = formats.values(formats.rounded(values, dtype), dtype)
    greatest = torch.finfo(getattr(torch, dtype)).max
    assert back[:2].tolist() == [np.inf, -np.inf]
    assert np.isfinite(back[2:6]).all()
    assert back[2] >= 0.99 * min(greatest, 3.4e38)
    assert np.signbit(back[:6]).tolist() == [False, True, False, True, False, True]
    assert np.isnan(back[6])


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensor_and_raw_are_inverse(dtype: str) -> None:
    bits = formats.patterns(Stream(2).words(0, 999), dtype)
    tensor = formats.tensor(bits, dtype)
    assert formats.name(tensor.dtype) == dtype
    assert (formats.raw(tensor) == bits).all()
    assert (formats.raw(tensor[::2]) == bits[::2]).all()
    tensor.zero_()
    assert bits.any()  # memory of its own
