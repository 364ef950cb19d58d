"""torch's tensors as buffers of simulated memory, with what nobody wrote to them yet."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from amdsim.arrays import Array
from amdsim.errors import LaunchFault
from amdsim.memory import Memory

_EMPTY = ("empty", "empty_strided", "empty_like", "new_empty", "new_empty_strided", "empty_permuted")


class Written(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While it is on, notes which bytes of what torch.empty gave were written since, by torch or by a kernel."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._known: dict[int, tuple[Any, torch.Tensor]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator, then note what it wrote."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func.overloadpacket.__name__ in _EMPTY:
            self._note(result)
        elif func._schema.is_mutable:
            for argument, value in zip(func._schema.arguments, args, strict=False):
                if argument.alias_info is not None and argument.alias_info.is_write:
                    self._wrote(value)
            for argument in func._schema.arguments:
                if argument.alias_info is not None and argument.alias_info.is_write:
                    self._wrote(kwargs.get(argument.name))
        return result

    def known(self, storage: torch.UntypedStorage) -> Array | None:
        """bool for each byte of a storage, shared with what is noted here; None where all of it is known."""
        entry = self._entry(storage)
        return None if entry is None else np.asarray(entry.numpy())

    def _note(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        if tensor.device.type == "cpu" and storage.nbytes():
            with torch.utils._python_dispatch._disable_current_modes():
                mask = torch.zeros(storage.nbytes(), dtype=torch.bool)
            self._known[storage.data_ptr()] = (_reference(storage), mask)

    def _wrote(self, values: Any) -> None:
        for tensor in tree_leaves(values):
            if not isinstance(tensor, torch.Tensor):
                continue
            mask = self._entry(tensor.untyped_storage())
            if mask is None:
                continue
            size = tensor.element_size()
            shape, strides = (*tensor.shape, size), (*(s * size for s in tensor.stride()), 1)
            with torch.utils._python_dispatch._disable_current_modes():
                mask.as_strided(shape, strides, tensor.storage_offset() * size).fill_(True)

    def _entry(self, storage: torch.UntypedStorage) -> torch.Tensor | None:
        reference, mask = self._known.get(storage.data_ptr(), (None, None))
        if reference is None or reference.expired() or reference.cdata != _reference(storage).cdata:
            self._known.pop(storage.data_ptr(), None)
            return None
        return mask


class Placed:
    """Tensors in simulated memory, each storage once."""

    def __init__(self, written: Written | None) -> None:
        self.memory = Memory()
        self._written = written
        self._addresses: dict[int, int] = {}

    def address(self, tensor: torch.Tensor) -> int:
        """Where a tensor's first element is for a kernel.

        Raises:
            LaunchFault: the tensor is not on the CPU.
        """
        if tensor.device.type != "cpu":
            raise LaunchFault(f"a tensor on {tensor.device}: expected one on the CPU")
        storage = tensor.untyped_storage()
        start = storage.data_ptr()
        if start not in self._addresses:
            name = f"a {str(tensor.dtype).removeprefix('torch.')} tensor of shape {tuple(tensor.shape)}"
            known = self._written.known(storage) if self._written is not None else None
            self._addresses[start] = self.memory.add(name, _bytes(storage), known=known)
        return self._addresses[start] + tensor.data_ptr() - start


def _reference(storage: torch.UntypedStorage) -> Any:
    """Tells whether a storage is still there, and the same."""
    return StorageWeakRef(storage)  # type: ignore[no-untyped-call]


def _bytes(storage: torch.UntypedStorage) -> Array:
    """A storage as an array that shares its memory."""
    if not storage.nbytes():
        return np.zeros(0, np.uint8)
    with torch.utils._python_dispatch._disable_current_modes():
        return np.asarray(torch.empty(0, dtype=torch.uint8).set_(storage).numpy())
