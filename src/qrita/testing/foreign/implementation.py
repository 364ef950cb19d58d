"""An implementation under test: its functions, called as its contract says, and what is looked at in every call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from qrita.testing import formats
from qrita.testing.foreign.contract import Contract
from qrita.testing.formats import NEGATIVE_INFINITY, Raw

MaskFunction = Callable[..., Tensor]
"""(logits [rows, vocab], k, p) -> masked logits; with mask_value=... where the contract has it."""

CandidatesFunction = Callable[[Tensor, Any, Any], tuple[Tensor, Tensor]]
"""(logits [rows, vocab], k, p) -> the logits and the indices of what is kept, [rows, n] each."""


class InputChanged(Exception):
    """A call wrote where its contract says that it does not."""


class WrongForm(Exception):
    """A call returned something that is not of the promised type, shape, dtype or device."""


@dataclass(frozen=True)
class Implementation:
    """One implementation.

    Attributes:
        name: what reports call it.
        contract: what it promises.
        device: where its tensors are: "cpu" or "cuda".
        mask, mask_in_place, candidates: its functions; None where it has none.
        versions: of what it is made of.
        about: a sentence on what was called, for reports.
    """

    name: str
    contract: Contract
    device: str
    mask: MaskFunction | None = None
    mask_in_place: MaskFunction | None = None
    candidates: CandidatesFunction | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    about: str = ""

    def put(self, logits: Tensor) -> Tensor:
        """Memory of its own on the device."""
        return logits.to(self.device, copy=True)

    def masked(
        self, view: Tensor, k: Any, p: Any, *, base: Tensor | None = None, mask_value: float | None = None
    ) -> Raw:
        """The patterns of a mask, [rows, vocab]; `view` is on the device, and `base` the memory that it is a view of.

        Raises:
            InputChanged, WrongForm: the call did something that no contract allows, or this one does not.
        """
        function = self.mask or self.mask_in_place
        assert function is not None, "the contract has no mask"
        options = {} if mask_value is None else {"mask_value": mask_value}
        return self._masked(function, view, k, p, base, self.contract.keeps_input and self.mask is not None, options)

    def masked_in_place(self, view: Tensor, k: Any, p: Any, *, base: Tensor | None = None) -> Raw:
        """The patterns that a call in place leaves in `view`."""
        assert self.mask_in_place is not None, "the contract has no mask in place"
        self._masked(self.mask_in_place, view, k, p, base, False, {})
        return formats.raw(view)

    def listed(self, logits: Tensor, k: Any, p: Any) -> tuple[Raw, NDArray[np.int64]]:
        """The patterns and the indices of the candidates, [rows, n] each."""
        assert self.candidates is not None, "the contract has no candidates"
        watch = _Watch.of(logits, logits, self.contract.keeps_input)
        k, p = self._per_row(k, p, len(logits))
        found = self.candidates(logits, k, p)
        watch.check()
        if not isinstance(found, tuple) or len(found) != 2:
            raise WrongForm(f"candidates: expected two tensors, logits and indices; got {_kind(found)}")
        values, indices = found
        shape = (len(logits), indices.shape[-1]) if isinstance(indices, Tensor) and indices.ndim else (len(logits), 0)
        _check_form("candidates, logits", values, shape, logits.dtype, self.device)
        _check_form("candidates, indices", indices, shape, None, self.device)
        return formats.raw(values), indices.cpu().numpy().astype(np.int64)

    def kept(self, view: Tensor, k: Any, p: Any, *, base: Tensor | None = None) -> NDArray[np.bool_]:
        """[rows, vocab], what is kept, by the mask or else by the candidates."""
        name = formats.name(view.dtype)
        if self.mask or self.mask_in_place:
            return np.not_equal(self.masked(view, k, p, base=base), NEGATIVE_INFINITY[name])
        values, indices = self.listed(view, k, p)
        kept = np.zeros(tuple(view.shape), bool)
        rows, slots = np.nonzero((values != NEGATIVE_INFINITY[name]) & (indices >= 0) & (indices < view.shape[1]))
        kept[rows, indices[rows, slots]] = True
        return kept

    def _masked(
        self,
        function: MaskFunction,
        view: Tensor,
        k: Any,
        p: Any,
        base: Tensor | None,
        keeps_input: bool,
        options: dict[str, float],
    ) -> Raw:
        k, p = self._per_row(k, p, len(view))
        watch = _Watch.of(view, view if base is None else base, keeps_input, k, p)
        masked = function(view, k, p, **options)
        watch.check()
        _check_form("mask", masked, tuple(view.shape), view.dtype, self.device)
        return formats.raw(masked)

    def _per_row(self, k: Any, p: Any, rows: int) -> tuple[Any, Any]:
        """k and p as the contract has them: as numbers, or as int32 and float32 tensors on the device."""
        given = []
        for value, dtype in ((k, torch.int32), (p, torch.float32)):
            tensor = torch.as_tensor(value, dtype=dtype, device=self.device) if isinstance(value, Tensor) else None
            if tensor is None and value is not None and not self.contract.numbers:
                tensor = torch.full((rows,), value, dtype=dtype, device=self.device)
            given.append(value if tensor is None else tensor)
        return given[0], given[1]


@dataclass(frozen=True)
class _Watch:
    """What memory held before a call, to compare with it afterwards."""

    memory: dict[str, tuple[Tensor, Raw]]
    rows: Tensor | None

    @staticmethod
    def of(view: Tensor, base: Tensor, keeps_input: bool, k: Any = None, p: Any = None) -> _Watch:
        watched = {"logits": base, "k": k, "p": p}
        memory = {name: (x, formats.raw(x).copy()) for name, x in watched.items() if isinstance(x, Tensor)}
        return _Watch(memory, None if keeps_input else view)

    def check(self) -> None:
        """Raises:
        InputChanged: names the argument, and where it changed.
        """
        for name, (tensor, before) in self.memory.items():
            now = formats.raw(tensor)
            changed = np.argwhere(before != now)
            if len(changed) and (name != "logits" or self.rows is None):
                raise InputChanged(f"the input {name} has changed at {changed[0].tolist()}, in {len(changed):,} places")
            if len(changed) and self.rows is not None and tensor is not self.rows:
                self._check_around(tensor, before, now)

    def _check_around(self, base: Tensor, before: Raw, now: Raw) -> None:
        """Rows may be written to; the memory around them may not."""
        assert self.rows is not None
        mine = torch.zeros(base.numel(), dtype=torch.bool)
        mine.as_strided(self.rows.shape, self.rows.stride(), self.rows.storage_offset()).fill_(True)
        around = np.flatnonzero((before != now).reshape(-1) & ~mine.numpy())
        if len(around):
            raise InputChanged(f"memory element {around[0]}, outside the rows, has changed")


def _check_form(what: str, found: object, shape: tuple[int, ...], dtype: torch.dtype | None, device: str) -> None:
    """Raises:
    WrongForm: names what was expected and what came.
    """
    if not isinstance(found, Tensor):
        raise WrongForm(f"{what}: expected a tensor, got {_kind(found)}")
    integers = dtype is None and not found.is_floating_point() and found.dtype is not torch.bool
    if tuple(found.shape) != shape or not (integers or found.dtype == dtype) or found.device.type != device:
        expected = f"{'integers' if dtype is None else formats.name(dtype)} {list(shape)} on {device}"
        got = f"{formats.name(found.dtype)} {list(found.shape)} on {found.device.type}"
        raise WrongForm(f"{what}: expected {expected}, got {got}")


def _kind(found: object) -> str:
    return f"{len(found)} values" if isinstance(found, tuple) else type(found).__name__
