"""The order in which properties are shown: the most basic first, as `qrita.testing.properties` declares them.

Written down once more, since what declares them needs torch, and a report does not (a test compares the two).
"""

from __future__ import annotations

PROPERTIES = (
    "cut",
    "mask",
    "mask_value",
    "candidates",
    "one_answer",
    "batch",
    "spelling",
    "stride",
    "widening",
    "repetition",
    "nested_in_k",
    "nested_in_p",
    "permutation",
    "in_place",
    "out",
    "untouched",
    "flush_subnormals",
    "threads",
)


def place(name: str) -> tuple[int, str]:
    """What to sort a property by; one that is not known comes last."""
    return (PROPERTIES.index(name) if name in PROPERTIES else len(PROPERTIES), name)
