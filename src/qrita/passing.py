"""Tensors as kernels take them: raw words, strides in elements, k and p of any dtype with a word on how to read them.

So no launch depends on a dtype of k or p, and logits are copied, never converted.
"""

from __future__ import annotations

import struct
from typing import Any

import torch
from torch import Tensor

from qrita import device as devices
from qrita.kernels import rows

FORMATS = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}
WORDS = {torch.float32: torch.int32, torch.bfloat16: torch.int16, torch.float16: torch.int16}
_KINDS = {  # how kernels are told to read k and p
    torch.int32: rows.INT32.value,
    torch.int64: rows.INT64.value,
    torch.float32: rows.FLOAT32.value,
    torch.float64: rows.FLOAT64.value,
    torch.bfloat16: rows.BFLOAT16.value,
    torch.float16: rows.FLOAT16.value,
}


def strided(x: Tensor) -> tuple[Tensor, int, int]:
    """A [rows, vocab] tensor as kernels take it: raw words, and strides in elements."""
    return x.view(WORDS[x.dtype]), x.stride(0), x.stride(1)


def aligned(x: Tensor) -> bool:
    """Whether 16-byte accesses fit: contiguous columns, rows that start on 16 bytes, and a multiple of 8 of them."""
    pitched = x.shape[0] == 1 or x.stride(0) * x.element_size() % 16 == 0
    return x.data_ptr() % 16 == 0 and pitched and x.stride(1) == 1 and x.shape[1] % 8 == 0


def shape(logits: Tensor, *others: Tensor) -> dict[str, Any]:
    """What a launch's variant hangs on, whatever the kernel: the dtype, whether wide accesses fit, the device."""
    return {
        **devices.of(logits.device).early,
        "FORMAT": FORMATS[logits.dtype],
        "ALIGNED": aligned(logits) and all(map(aligned, others)),
        "enable_fp_fusion": False,
    }


def k_arguments(k: int | Tensor | None, unused: Tensor) -> tuple[Any, ...]:
    """k as kernels take it: (words, stride, kind, scalar); `unused` stands in where there is nothing to point to."""
    if isinstance(k, Tensor):
        return _words(k, torch.int32), k.stride(0), _KINDS[k.dtype], 0
    return unused, 0, rows.SCALAR.value, k or 0


def p_arguments(p: float | Tensor | None, unused: Tensor) -> tuple[Any, ...]:
    """p as kernels take it: (32-bit words, 16-bit words, stride, kind, scalar bits); the kind says which to read."""
    halves = unused.view(torch.int16)
    if isinstance(p, Tensor):
        if p.element_size() == 2:
            return unused, _words(p, torch.int16), p.stride(0), _KINDS[p.dtype], 0
        return _words(p, torch.int32), halves, p.stride(0), _KINDS[p.dtype], 0
    bits = rows.ONE.value if p is None else struct.unpack("<i", struct.pack("<f", p))[0]
    return unused, halves, 0, rows.SCALAR.value, bits


def _words(x: Tensor, word: torch.dtype) -> Tensor:
    """A tensor of `word` at the address of x, [1]: what a kernel needs to read x, of any dtype and stride, as words."""
    offset = x.storage_offset() * x.element_size() // word.itemsize
    return torch.empty(0, dtype=word, device=x.device).set_(x.untyped_storage(), offset, (1,), (1,))
