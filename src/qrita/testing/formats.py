"""Logits as raw bit patterns: uint32 for float32, uint16 for bfloat16 and float16. Rows are made and compared so."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Raw = NDArray[np.unsignedinteger[Any]]
"""Bit patterns of one dtype: uint32 or uint16."""

DTYPES = ("float32", "bfloat16", "float16")

WIDTH = {"float32": 32, "bfloat16": 16, "float16": 16}
NEGATIVE_INFINITY = {"float32": 0xFF800000, "bfloat16": 0xFF80, "float16": 0xFC00}
INFINITY = {"float32": 0x7F800000, "bfloat16": 0x7F80, "float16": 0x7C00}

_UNSIGNED: dict[int, type[np.unsignedinteger[Any]]] = {32: np.uint32, 16: np.uint16}
_SIGNED: dict[int, type[np.signedinteger[Any]]] = {32: np.int32, 16: np.int16}
_INTEGER = {torch.float32: torch.int32, torch.bfloat16: torch.int16, torch.float16: torch.int16}


def patterns(values: object, dtype: str) -> Raw:
    """An array of patterns in the unsigned type of `dtype`; integers that do not fit wrap."""
    return np.asarray(values).astype(_UNSIGNED[WIDTH[dtype]])


def rounded(values: NDArray[np.float32], dtype: str) -> Raw:
    """float32 values rounded to nearest even into `dtype`, as patterns. What is finite stays finite (it saturates)."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    if dtype == "float32":
        return bits
    nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    infinite = (bits & np.uint32(0x7FFFFFFF)) == np.uint32(0x7F800000)
    if dtype == "bfloat16":  # on integers: numpy has no bfloat16
        half = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
        narrow = np.where(nan, bits, bits + half) >> np.uint32(16)
        greatest = 0x7F7F
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            narrow = bits.view(np.float32).astype(np.float16).view(np.uint16).astype(np.uint32)
        greatest = 0x7BFF
    overflowed = ~infinite & ~nan & ((narrow & np.uint32(0x7FFF)) > np.uint32(greatest))
    narrow = np.where(overflowed, (narrow & np.uint32(0x8000)) | np.uint32(greatest), narrow)
    quiet = (narrow & np.uint32(0x8000)) | np.uint32(INFINITY[dtype] | 1 << (6 if dtype == "bfloat16" else 9))
    return patterns(np.where(nan, quiet, narrow), dtype)


def values(raw: Raw, dtype: str) -> NDArray[np.float32]:
    """The patterns as float32 values, widened exactly (for showing them)."""
    if dtype == "float32":
        return raw.view(np.float32)
    if dtype == "bfloat16":
        return (raw.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return raw.view(np.float16).astype(np.float32)


def tensor(raw: Raw, dtype: str) -> Tensor:
    """A CPU tensor of the patterns' shape with memory of its own."""
    signed = np.array(raw, order="C").view(_SIGNED[WIDTH[dtype]])
    return torch.from_numpy(signed).view(getattr(torch, dtype))


def raw(tensor: Tensor) -> Raw:
    """The patterns of a tensor on any device, with any strides; of integers too."""
    integers = tensor.detach().cpu().contiguous()
    if integers.is_floating_point():
        integers = integers.view(_INTEGER[integers.dtype])
    array = integers.numpy()
    return array.view(array.dtype.str.replace("i", "u"))


def name(dtype: torch.dtype) -> str:
    """'float32', 'bfloat16' or 'float16'."""
    return str(dtype).removeprefix("torch.")
