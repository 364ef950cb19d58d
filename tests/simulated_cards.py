"""Simulated cards for the command, by the name of their architecture:

qrita replay CASE --everywhere --also simulated_cards:gfx950 --subject-path tests
qrita check --subject simulated_cards:gfx950 --subject-path tests
"""

from __future__ import annotations

import sys
from pathlib import Path

from qrita.engines import Engine

sys.path.append(str(Path(__file__).parents[1] / "src"))  # the simulator is in no wheel

import simulated


def __getattr__(name: str) -> Engine:
    """The engine of a card. Asked for, not made beforehand: each has a simulator of its own."""
    if f"sim-{name}" not in simulated.NAMES:
        names = ", ".join(known.removeprefix("sim-") for known in simulated.NAMES)
        raise AttributeError(f"no simulated card {name!r}: expected one of {names}")
    return simulated.engine(f"sim-{name}")
