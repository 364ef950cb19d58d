"""Hypothesis profiles, chosen by the environment variable HYPOTHESIS_PROFILE; `dev` without it.

- dev: random, few examples, for the edit loop.
- pr: derandomised (the same examples for the same installed code), bounded, no database: what a pull request passes.
- slice: like pr with a handful of examples, for engines that take a second for one (the kernels interpreted).
- nightly: random, many examples, failures kept in a database that runs share (QRITA_EXAMPLES names its directory).

Deadlines are off everywhere: a first call may compile for seconds, and the example that pays for it is not slow.
hypothesis has a profile `ci` of its own that loads itself under CI and never explores anything new; `load` replaces it.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

NAMES = ("dev", "pr", "slice", "nightly")

_UNHURRIED = (HealthCheck.too_slow, HealthCheck.data_too_large)


def register() -> None:
    """Make the profiles known to hypothesis. Each starts from hypothesis's own default, whatever is loaded now."""
    base = settings.get_profile("default")
    database = DirectoryBasedExampleDatabase(os.environ.get("QRITA_EXAMPLES", ".hypothesis/examples"))
    common = {"deadline": None, "print_blob": False, "suppress_health_check": _UNHURRIED}
    settings.register_profile("dev", base, max_examples=25, database=database, **common)
    settings.register_profile("pr", base, max_examples=300, derandomize=True, database=None, **common)
    settings.register_profile("slice", base, max_examples=4, derandomize=True, database=None, **common)
    settings.register_profile("nightly", base, max_examples=5000, database=database, **common)


def load() -> str:
    """Register the profiles and load the one that the environment names; returns its name.

    Raises:
        ValueError: the environment names a profile that is not ours.
    """
    register()
    name = os.environ.get("HYPOTHESIS_PROFILE") or "dev"
    if name not in NAMES:
        raise ValueError(f"HYPOTHESIS_PROFILE={name!r}: expected one of {', '.join(NAMES)}")
    settings.load_profile(name)
    return name
