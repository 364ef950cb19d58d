"""The type of the arrays that values are kept in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

Value = Any
"""An array or a numpy scalar, which constants are."""

UNITS: dict[int, type[np.unsignedinteger[Any]]] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
"""Unsigned numbers by their size in bytes."""
