"""Global memory: buffers at addresses of their own, far apart, so that an access beside one hits none."""

from __future__ import annotations

from typing import Any

import numpy as np

from amdsim.arrays import UNITS, Array
from amdsim.errors import OutOfBounds, Race
from amdsim.program import Statement
from amdsim.tracking import Spans, Tracker

WINDOW = 36
"""Bits of an address within a buffer's window."""

ALIGNMENT = 256
"""A buffer is placed as its memory is aligned, up to this."""


class Buffer:
    """Some memory that a kernel may touch.

    Attributes:
        name: for messages.
        address: where it is for the kernel.
        data: its bytes, u8.
        writable: whether a kernel may store to it.
        known: bool for each byte, whether anybody wrote it; None where all of it is known.
    """

    def __init__(self, name: str, address: int, data: Array, writable: bool, known: Array | None) -> None:
        self.name, self.address, self.data, self.writable, self.known = name, address, data, writable, known
        self._views = {size: data[: len(data) // size * size].view(unit) for size, unit in UNITS.items()}
        self._tracker: Tracker | None = None

    def tracker(self, granule: int, spans: Spans) -> Tracker:
        """Who touched it in this launch."""
        if self._tracker is None:
            self._tracker = Tracker(len(self.data), granule, spans)
        return self._tracker

    def forget(self) -> None:
        """Forget who touched it: a launch is over."""
        self._tracker = None

    def load(self, offsets: Array, width: int) -> Array:
        """Unsigned numbers of 1, 2, 4 or 8 bytes, wherever they start."""
        if not (offsets & (width - 1)).any():
            values: Array = self._views[width][offsets // width]
            return values
        pieces: Array = self.data[offsets[:, None] + np.arange(width)]
        return pieces.view(UNITS[width])[:, 0]

    def store(self, offsets: Array, values: Array, width: int) -> None:
        """Store them; of equal places the last one wins."""
        if not (offsets & (width - 1)).any():
            self._views[width][offsets // width] = values
        else:
            pieces = np.ascontiguousarray(values.astype(UNITS[width])).view(np.uint8).reshape(-1, width)
            self.data[offsets[:, None] + np.arange(width)] = pieces
        self.written(offsets, width)

    def written(self, offsets: Array, width: int) -> None:
        """Note that bytes are known."""
        if self.known is not None:
            self.known[offsets[:, None] + np.arange(width)] = True

    def view(self, width: int) -> Array:
        """All of it in numbers of a width."""
        return self._views[width]

    def unknown(self, offsets: Array, width: int) -> Array | None:
        """Where a load reads what nobody wrote, as a mask of bits; None where it does not."""
        if self.known is None:
            return None
        known = self.known[offsets[:, None] + np.arange(width)]
        if known.all():
            return None
        return np.where(known, np.uint8(0), np.uint8(255)).view(UNITS[width])[:, 0]


class Memory:
    """The buffers of a launch, or of many.

    Attributes:
        granule: bytes that are tracked as one for races; 0 tracks none.
    """

    def __init__(self) -> None:
        self._buffers: list[Buffer] = []
        self.granule = 0

    def add(self, name: str, data: Array, *, writable: bool = True, known: Array | None = None) -> int:
        """Place a contiguous array, which kernels then see and change; its address."""
        window = len(self._buffers) + 1
        raw = data.reshape(-1).view(np.uint8)
        address = (window << WINDOW) + (1 << (WINDOW - 1)) + data.ctypes.data % ALIGNMENT
        self._buffers.append(Buffer(name, address, raw, writable, known))
        return address

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """All of them."""
        return tuple(self._buffers)

    def remove_last(self) -> None:
        """Take back the buffer that was added last."""
        self._buffers.pop()

    def forget(self) -> None:
        """Forget who touched what: a launch is over."""
        for buffer in self._buffers:
            buffer.forget()

    def split(
        self, statement: Statement, addresses: Array, width: int, writes: bool
    ) -> list[tuple[Buffer, Array, Any]]:
        """(buffer, offsets, which of the accesses), so that each access is in one buffer.

        Raises:
            OutOfBounds: one is in none, or writes to one that may only be read.
        """
        windows = addresses >> WINDOW
        first = int(windows[0])
        if (windows == first).all():
            return [(*self._inside(statement, first, addresses, width, writes), slice(None))]
        parts = []
        for window in np.unique(windows):
            which = np.flatnonzero(windows == window)
            parts.append((*self._inside(statement, int(window), addresses[which], width, writes), which))
        return parts

    def _inside(
        self, statement: Statement, window: int, addresses: Array, width: int, writes: bool
    ) -> tuple[Buffer, Array]:
        verb = "store" if writes else "load"
        low, high = int(addresses.min()), int(addresses.max()) + width
        if not 0 < window <= len(self._buffers):
            raise OutOfBounds(f"{statement.place}: {verb} of {width} bytes at {low:#x}, where no buffer is")
        buffer = self._buffers[window - 1]
        if low < buffer.address or high > buffer.address + len(buffer.data):
            raise OutOfBounds(
                f"{statement.place}: {verb} at bytes {low - buffer.address} to {high - buffer.address} of "
                f"{buffer.name}, which has {len(buffer.data)}"
            )
        if writes and not buffer.writable:
            raise OutOfBounds(f"{statement.place}: store to {buffer.name}, which may only be read")
        return buffer, addresses - buffer.address

    def load(
        self, statement: Statement, addresses: Array, width: int, spans: Spans, stamps: Array
    ) -> tuple[Array, Array | None]:
        """(values, the bits of them that nobody wrote or None)."""
        values = np.empty(len(addresses), UNITS[width])
        unknown = None
        for buffer, offsets, which in self.split(statement, addresses, width, writes=False):
            values[which] = buffer.load(offsets, width)
            if (bits := buffer.unknown(offsets, width)) is not None:
                unknown = np.zeros_like(values) if unknown is None else unknown
                unknown[which] = bits
            if self.granule and buffer.writable:
                bad = buffer.tracker(self.granule, spans).loads(offsets, width, stamps[which])
                if bad is not None:
                    _race(statement, "load", buffer, offsets[bad])
        return values, unknown

    def store(
        self, statement: Statement, addresses: Array, values: Array, width: int, spans: Spans, stamps: Array
    ) -> None:
        """Store unsigned numbers of a width."""
        for buffer, offsets, which in self.split(statement, addresses, width, writes=True):
            before, stored = buffer.load(offsets, width), values[which]
            buffer.store(offsets, stored, width)
            if (clash := buffer.load(offsets, width) != stored).any():
                _race(statement, "store by two lanes at once", buffer, offsets[clash])
            if self.granule:
                bad = buffer.tracker(self.granule, spans).stores(offsets, width, stamps[which])
                if bad is not None and (bad := bad & (before != stored)).any():
                    _race(statement, "store", buffer, offsets[bad])

    def cells(
        self, statement: Statement, addresses: Array, width: int, spans: Spans, stamps: Array
    ) -> list[tuple[Buffer, Array, Any]]:
        """(buffer, offsets, which) for atomic updates."""
        parts = self.split(statement, addresses, width, writes=True)
        for buffer, offsets, which in parts:
            if (offsets % width).any():
                raise OutOfBounds(f"{statement.place}: atomic update of {buffer.name}, not at a multiple of {width}")
            if self.granule:
                bad = buffer.tracker(self.granule, spans).updates(offsets, width, stamps[which])
                if bad is not None:
                    _race(statement, "atomic update", buffer, offsets[bad])
        return parts


def _race(statement: Statement, what: str, buffer: Buffer, offsets: Array) -> None:
    raise Race(
        f"{statement.place}: {what} at byte {int(offsets[0])} of {buffer.name}, which another wave touches with "
        "nothing to order the two"
    )
