"""What several test files need: small rows, and the bytes behind a tensor."""

from __future__ import annotations

import torch
from torch import Tensor

INF = float("inf")
NAN = float("nan")
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def logits(rows: int = 2, vocab: int = 8, dtype: torch.dtype = torch.float32) -> Tensor:
    """Rows of different values, each row's greatest last."""
    return torch.arange(rows * vocab, device="cpu").to(dtype).reshape(rows, vocab)


def kept(row: Tensor) -> list[int]:
    """The kept tokens of a masked row whose logits were all finite."""
    return (row > -INF).nonzero()[:, 0].tolist()


def memory(x: object) -> bytes:
    """All bytes of the storage behind a tensor, whatever its view; nothing for what has no memory."""
    if not isinstance(x, Tensor) or x.layout != torch.strided or x.is_nested:
        return b""
    storage = x.untyped_storage()
    if storage.device.type != "cpu":  # meta also where a FakeTensor claims the CPU
        return b""
    return torch.empty(0, dtype=torch.uint8, device="cpu").set_(storage).numpy().tobytes()


def bits(x: Tensor) -> bytes:
    """The bytes of a tensor's elements, row after row."""
    return memory(x.detach().clone(memory_format=torch.contiguous_format))


def short(dtype: torch.dtype) -> str:
    """A dtype's name in a test id."""
    return str(dtype).removeprefix("torch.")
