"""What a user passes, checked: every user error in the package is raised here, before anything is written.

An error names the argument, its value and type, what was expected and what to do.
"""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import SupportsIndex

import torch
from torch import Tensor

from qrita import rounding
from qrita.records import Problem

MAX_VOCAB = 1 << 22
"""The longest row: its integer mass, at most 2**22 * 2**40, leaves room in 64 bits for the top-p target."""

_K_DTYPES = (torch.int32, torch.int64)
_P_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def problem(logits: Tensor, k: SupportsIndex | Tensor | None, p: float | Tensor | None) -> Problem:
    """The checked problem: semantics rules 0 to 3."""
    rows = _logits(logits)
    return Problem(rows, _top_k(k, rows), _top_p(p, rows))


def mask_value(value: float, dtype: torch.dtype) -> float:
    """`value` rounded to the logits' dtype: semantics rule 13."""
    if not _is_real(value):
        raise TypeError(f"{_shown('mask_value', value)}: expected a real number")
    rounded = rounding.nearest(value, dtype)
    if math.isnan(rounded) or value == math.inf:
        raise ValueError(f"mask_value={value}: expected a finite number or -inf")
    if math.isinf(rounded) and value != -math.inf:
        raise ValueError(
            f"mask_value={value}: rounds to infinity in {_name(dtype)}; "
            f"expected at most {torch.finfo(dtype).max} in magnitude, or -inf"
        )
    return rounded


def max_candidates(value: int | None, k: SupportsIndex | Tensor | None) -> int:
    """How many slots a candidate row has: semantics rule 15. `k` is the argument as the user passed it."""
    if value is None:
        if k is None or isinstance(k, Tensor):
            raise ValueError("max_candidates=None: required unless k is an int; pass the number of slots a row shall have")
        value, source = operator.index(k), " (the default, from k)"
        if value < 1:
            raise ValueError(f"max_candidates=None: k={value} switches top-k off and gives no default; pass max_candidates")
    else:
        source = ""
        if isinstance(value, (bool, Tensor)) or not hasattr(value, "__index__"):
            raise TypeError(f"{_shown('max_candidates', value)}: expected an int of at least 1")
        value = operator.index(value)
    if not 1 <= value <= MAX_VOCAB:
        raise ValueError(f"max_candidates={value}{source}: expected 1 to {MAX_VOCAB}; pass max_candidates")
    return value


def destination(out: Tensor, logits: Tensor, *others: object, name: str = "out") -> Tensor:
    """`out`, checked against rule 14: `others` are k and p; `name` is "logits" where the call is in place."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{_shown(name, out)}: expected a torch.Tensor")
    if (out.shape, out.dtype, out.device, out.layout) != (logits.shape, logits.dtype, logits.device, logits.layout):
        raise ValueError(
            f"{name}: is {_name(out.dtype)} {tuple(out.shape)} on {str(out.device)!r}; expected the logits' "
            f"{_name(logits.dtype)} {tuple(logits.shape)} on {str(logits.device)!r}, strided"
        )
    if out.requires_grad and torch.is_grad_enabled():
        raise ValueError(f"{name}: requires grad, and the result carries none; pass {name}.detach()")
    if out.is_neg():
        raise ValueError(f"{name}: is a lazy negation, whose memory holds other bits; pass {name}.resolve_neg()")
    if _overlaps_itself(out):
        raise ValueError(
            f"{name}: its elements share memory (shape {tuple(out.shape)}, strides {out.stride()}), so that one row "
            "would overwrite another; pass a tensor that owns its elements, for example .contiguous()"
        )
    if not _same_view(out, logits) and _overlap(out, logits):
        raise ValueError(
            f"{name}: its memory range overlaps that of logits without being the same view; pass out=logits to work "
            "in place, or a tensor with memory of its own"
        )
    for other, value in zip(("k", "p"), others, strict=True):
        if isinstance(value, Tensor) and _overlap(out, value):
            raise ValueError(f"{name}: its memory range overlaps that of {other}; pass {other}.clone()")
    return out


def _logits(logits: Tensor) -> Tensor:
    if not isinstance(logits, Tensor):
        raise TypeError(f"{_shown('logits', logits)}: expected a torch.Tensor")
    if logits.dtype not in rounding.FORMATS:
        raise TypeError(f"logits: dtype is {_name(logits.dtype)}; expected float32, bfloat16 or float16")
    if logits.ndim not in (1, 2):
        raise ValueError(f"logits: shape is {tuple(logits.shape)}; expected [vocab] or [batch, vocab]")
    if logits.layout != torch.strided:
        raise ValueError(f"logits: layout is {logits.layout}; expected torch.strided, for example .to_dense()")
    if logits.device.type not in ("cpu", "cuda"):
        raise ValueError(f"logits: device is {str(logits.device)!r}; expected 'cpu' or 'cuda' (ROCm's name too)")
    if logits.requires_grad and torch.is_grad_enabled():
        raise ValueError("logits: require grad, and truncation has no gradient; pass logits.detach()")
    if logits.is_neg():
        raise ValueError("logits: are a lazy negation, whose memory holds other bits; pass logits.resolve_neg()")
    if logits.shape[-1] > MAX_VOCAB:
        raise ValueError(f"logits: vocabulary is {logits.shape[-1]}; expected at most 2**22 = {MAX_VOCAB}")
    rows = logits.detach()
    return rows if rows.ndim == 2 else rows[None]


def _top_k(k: SupportsIndex | Tensor | None, logits: Tensor) -> int | Tensor | None:
    if k is None:
        return None
    if isinstance(k, Tensor):
        return _per_row("k", k, _K_DTYPES, logits)
    if isinstance(k, bool) or not hasattr(k, "__index__"):
        raise TypeError(f"{_shown('k', k)}: expected None, an int, or an int32 or int64 tensor [batch]")
    value = operator.index(k)
    return value if 0 < value < logits.shape[1] else None


def _top_p(p: float | Tensor | None, logits: Tensor) -> float | Tensor | None:
    if p is None:
        return None
    if isinstance(p, Tensor):
        return _per_row("p", p, _P_DTYPES, logits).resolve_neg()
    if not _is_real(p):
        raise TypeError(f"{_shown('p', p)}: expected None, a real number, or a floating-point tensor [batch]")
    value = rounding.nearest(p, torch.float32)
    if math.isnan(value):
        raise ValueError("p=nan: expected a number; pass None to switch top-p off")
    return value if value < 1.0 else None


def _per_row(name: str, value: Tensor, dtypes: tuple[torch.dtype, ...], logits: Tensor) -> Tensor:
    if value.dtype not in dtypes:
        raise TypeError(f"{name}: dtype is {_name(value.dtype)}; expected {', '.join(map(_name, dtypes))}")
    if value.shape != logits.shape[:1]:
        raise ValueError(
            f"{name}: shape is {tuple(value.shape)}; expected ({logits.shape[0]},), one value a row, "
            f"or a plain number for all rows"
        )
    if value.device != logits.device or value.layout != torch.strided:
        raise ValueError(
            f"{name}: is on {str(value.device)!r}, {value.layout}; expected a strided tensor on the logits' device "
            f"{str(logits.device)!r}"
        )
    return value.detach()


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, Tensor))


def _overlaps_itself(x: Tensor) -> bool:
    """Whether two elements may share memory. Conservative: a layout no dimension order explains counts as sharing."""
    if x.numel() == 0:
        return False
    span = 0
    for stride, size in sorted((stride, size) for stride, size in zip(x.stride(), x.shape, strict=True) if size > 1):
        if stride <= span:
            return True
        span += stride * (size - 1)
    return False


def _same_view(x: Tensor, y: Tensor) -> bool:
    strides = zip(x.stride(), y.stride(), x.shape, strict=True)
    return x.data_ptr() == y.data_ptr() and all(a == b for a, b, size in strides if size > 1)


def _overlap(x: Tensor, y: Tensor) -> bool:
    """Whether the byte ranges from first to last element meet."""
    (x_start, x_stop), (y_start, y_stop) = _byte_range(x), _byte_range(y)
    return x_start < y_stop and y_start < x_stop


def _byte_range(x: Tensor) -> tuple[int, int]:
    if x.numel() == 0:
        return (0, 0)
    last = sum(stride * (size - 1) for stride, size in zip(x.stride(), x.shape, strict=True))
    return x.data_ptr(), x.data_ptr() + (last + 1) * x.element_size()


def _shown(name: str, value: object) -> str:
    return f"{name}={value!r} (type {type(value).__name__})"


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
