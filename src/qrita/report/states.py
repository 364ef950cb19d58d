"""The states that a test, a property or a whole lane can be in. Each has a word and a shape: none is told by colour."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class State:
    """One state.

    Attributes:
        word: what it is called.
        mark: a shape that stands before the word.
        meaning: a sentence.
        good: whether it counts as passed.
    """

    word: str
    mark: str
    meaning: str
    good: bool = False


PASSED = State("passed", "✓", "It was run, on the hardware that the lane names, and everything held.", good=True)
INTERPRETED = State("interpreted", "≈", "It passed in Triton's interpreter, on a CPU: no GPU took part.", good=True)
SIMULATED = State("simulated", "∿", "It passed in a simulation of the machine code: no GPU took part.", good=True)
COMPILED = State("compiled only", "◇", "The kernels compile for this architecture. Nothing was run.", good=True)
NOT_PROMISED = State("not promised", "⊖", "It is outside what the implementation promises: neither pass nor fail.")
NOT_RUN = State("not run", "○", "It was not run here, so nothing is known.")
UNREADABLE = State("unreadable", "?", "What the lane left behind cannot be read.")
KILLED = State("killed", "⊗", "The lane was started and never ended: killed, timed out, or its machine went away.")
REFUSED = State("refused", "⊘", "The guard ended the lane before any test: the machine is not the one promised.")
FAILED = State("failed", "✗", "It was run, and something did not hold.")

STATES = (PASSED, INTERPRETED, SIMULATED, COMPILED, NOT_PROMISED, NOT_RUN, UNREADABLE, KILLED, REFUSED, FAILED)
"""Every state, the best first."""

ON = {"hardware": PASSED, "interpreted": INTERPRETED, "simulated": SIMULATED, "compiled": COMPILED}
"""What a pass is worth, by how the lane runs things."""


def worst(states: Iterable[State]) -> State:
    """The state of several things together. Nothing at all is not run."""
    return max(states, key=STATES.index, default=NOT_RUN)
