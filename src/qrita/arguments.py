"""What a user passes, checked: every user error in the package is raised here, before anything is written.

An error names the argument, its value and type, what was expected and what to do.
"""

from __future__ import annotations

import math
import operator
from numbers import Rational, Real
from typing import SupportsFloat, SupportsIndex, TypeGuard

import torch
from torch import Tensor

from qrita import rounding
from qrita.records import Problem

MAX_VOCAB = 1 << 22
"""The longest row: its integer mass, at most 2**22 * 2**40, leaves room in 64 bits for the top-p target."""

_K_DTYPES = (torch.int32, torch.int64)
_P_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
_REAL = "a real number (int, float, Fraction or a numpy scalar)"


def problem(logits: Tensor, k: SupportsIndex | Tensor | None, p: SupportsFloat | Tensor | None) -> Problem:
    """The checked problem: semantics rules 0 to 3."""
    rows = _logits(logits)
    return Problem(rows, _top_k(k, rows), _top_p(p, rows))


def mask_value(value: SupportsFloat, dtype: torch.dtype) -> float:
    """`value` rounded to the logits' dtype: semantics rule 13."""
    if not _is_real(value):
        raise TypeError(f"{_shown('mask_value', value)}: expected {_REAL}")
    rounded = rounding.nearest(value, dtype)
    if math.isnan(rounded) or value == math.inf:
        raise ValueError(f"mask_value={_text(value)}: expected a finite number or -inf")
    if math.isinf(rounded) and value != -math.inf:
        raise ValueError(
            f"mask_value={_text(value)}: rounds to infinity in {_name(dtype)}, the logits' dtype; "
            f"expected at most {torch.finfo(dtype).max} in magnitude, or -inf"
        )
    return rounded


def max_candidates(value: int | None, k: SupportsIndex | Tensor | None) -> int:
    """How many slots a candidate row has: semantics rule 15. `k` is the argument as the user passed it."""
    if value is None:
        if k is None or isinstance(k, Tensor):
            raise ValueError(
                "max_candidates=None: required unless k is an int; pass the number of slots a row shall have"
            )
        value, source = _integer("k", k, "an int"), " (the default, from k)"
        if value < 1:
            raise ValueError(
                f"max_candidates=None: k={_text(value)} switches top-k off and gives no default; "
                "pass the number of slots a row shall have"
            )
    else:
        value, source = _integer("max_candidates", value, "None or an int"), ""
    if not 1 <= value <= MAX_VOCAB:
        raise ValueError(f"max_candidates={_text(value)}{source}: expected 1 to 2**22 = {MAX_VOCAB}")
    return value


def destination(out: Tensor, logits: Tensor, *others: object, name: str = "out") -> Tensor:
    """`out`, checked against rule 14: `others` are k and p; `name` is "logits" where the call is in place."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{_shown(name, out)}: expected a torch.Tensor")
    _plain(name, out)
    if out.dtype != logits.dtype:
        raise TypeError(f"{name}: dtype is {_name(out.dtype)}; expected the logits' {_name(logits.dtype)}")
    if out.shape != logits.shape:
        raise ValueError(f"{name}: shape is {tuple(out.shape)}; expected the logits' {tuple(logits.shape)}")
    _on_device_of(logits, name, out)
    if out.is_inference() and not torch.is_inference_mode_enabled():
        raise ValueError(
            f"{name}: is an inference tensor, which torch forbids to modify outside torch.inference_mode(); "
            f"call inside that mode, or pass {name}.clone()"
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


def device(value: torch.device | str) -> torch.device:
    """A device that logits may be on."""
    try:
        found = torch.device(value)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"{_shown('device', value)}: expected 'cpu', 'cuda' or 'cuda:INDEX'") from error
    if found.type not in ("cpu", "cuda"):
        raise ValueError(f"device={str(found)!r}: expected 'cpu' or 'cuda' (ROCm's name too)")
    return found


def logits_dtype(value: torch.dtype) -> torch.dtype:
    """A dtype that logits may have."""
    if value not in rounding.FORMATS:
        raise TypeError(f"{_shown('dtype', value)}: expected torch.float32, torch.bfloat16 or torch.float16")
    return value


def _logits(logits: Tensor) -> Tensor:
    if not isinstance(logits, Tensor):
        raise TypeError(f"{_shown('logits', logits)}: expected a torch.Tensor")
    _plain("logits", logits)
    if logits.dtype not in rounding.FORMATS:
        raise TypeError(f"logits: dtype is {_name(logits.dtype)}; expected float32, bfloat16 or float16")
    if logits.ndim not in (1, 2):
        raise ValueError(f"logits: shape is {tuple(logits.shape)}; expected [vocab] or [batch, vocab]")
    if logits.device.type not in ("cpu", "cuda"):
        raise ValueError(f"logits: device is {str(logits.device)!r}; expected 'cpu' or 'cuda' (ROCm's name too)")
    _has_memory("logits", logits)
    if logits.requires_grad and torch.is_grad_enabled():
        raise ValueError("logits: requires grad, and truncation has no gradient; pass logits.detach()")
    if logits.is_neg():
        raise ValueError("logits: is a lazy negation, whose memory holds other bits; pass logits.resolve_neg()")
    if logits.shape[-1] > MAX_VOCAB:
        raise ValueError(f"logits: vocabulary is {logits.shape[-1]}; expected at most 2**22 = {MAX_VOCAB}")
    rows = _bare(logits)
    return rows if rows.ndim == 2 else rows[None]


def _top_k(k: SupportsIndex | Tensor | None, logits: Tensor) -> int | Tensor | None:
    if k is None:
        return None
    if isinstance(k, Tensor):
        return _per_row("k", k, _K_DTYPES, logits).resolve_neg()
    value = _integer("k", k, "None, an int, or an int32 or int64 tensor [batch]")
    return value if 0 < value < logits.shape[1] else None


def _top_p(p: SupportsFloat | Tensor | None, logits: Tensor) -> float | Tensor | None:
    if p is None:
        return None
    if isinstance(p, Tensor):
        return _per_row("p", p, _P_DTYPES, logits).resolve_neg()
    if not _is_real(p):
        raise TypeError(f"{_shown('p', p)}: expected None, {_REAL}, or a floating-point tensor [batch]")
    value = rounding.nearest(p, torch.float32)
    if math.isnan(value):
        raise ValueError("p=nan: expected a number; pass None to switch top-p off")
    return value if value < 1.0 else None


def _per_row(name: str, value: Tensor, dtypes: tuple[torch.dtype, ...], logits: Tensor) -> Tensor:
    _plain(name, value)
    if value.dtype not in dtypes:
        raise TypeError(f"{name}: dtype is {_name(value.dtype)}; expected {' or '.join(map(_name, dtypes))}")
    if value.shape != logits.shape[:1]:
        raise ValueError(
            f"{name}: shape is {tuple(value.shape)}; expected ({logits.shape[0]},), one value a row, "
            f"or a plain number for all rows"
        )
    _on_device_of(logits, name, value)
    return _bare(value)


def _bare(x: Tensor) -> Tensor:
    """The same memory without history, and without the arithmetic that a subclass of Tensor may bring along."""
    return x.detach().as_subclass(Tensor)


def _plain(name: str, x: Tensor) -> None:
    if x.is_nested or x.layout != torch.strided:  # a nested tensor may call itself strided
        layout = "nested" if x.is_nested else x.layout
        raise ValueError(f"{name}: layout is {layout}; expected a dense, strided tensor")


def _on_device_of(logits: Tensor, name: str, x: Tensor) -> None:
    if x.device != logits.device:
        raise ValueError(f"{name}: device is {str(x.device)!r}; expected that of logits, {str(logits.device)!r}")
    _has_memory(name, x)


def _has_memory(name: str, x: Tensor) -> None:
    """Refuse stand-ins: FakeTensor, the tensors inside torch.func transforms, wrapper subclasses such as DTensor."""
    try:
        # The first for FakeTensor, whose data_ptr() warns; the second for wrappers.
        stands_in = x.untyped_storage().device != x.device or (x.numel() > 0 and x.data_ptr() == 0)
    except RuntimeError:  # what torch raises where there is no storage at all
        stands_in = True
    if stands_in:
        raise ValueError(
            f"{name}: has no memory of its own (type {type(x).__name__}); expected a plain tensor, "
            "and a call outside of torch.func transforms (vmap, grad, jvp) and FakeTensorMode"
        )


def _integer(name: str, value: object, expected: str) -> int:
    if not isinstance(value, (bool, Tensor)):
        try:
            return operator.index(value)  # type: ignore[arg-type]
        except TypeError:  # also from arrays and classes, which have an __index__ that refuses
            pass
    raise TypeError(f"{_shown(name, value)}: expected {expected}")


def _is_real(value: object) -> TypeGuard[float]:
    """Whether `value` is a number that can be rounded exactly; bool is none, nor is a Real of unknown value."""
    known = isinstance(value, Rational) or hasattr(value, "as_integer_ratio")
    return isinstance(value, Real) and known and not isinstance(value, (bool, Tensor))


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
    return f"{name}={_text(value)} (type {type(value).__name__})"


def _text(value: object) -> str:
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python refuses to print an int of more than 4300 digits
        return "<a number of thousands of digits>"
    return text if len(text) <= 80 else text[:77] + "..."


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
