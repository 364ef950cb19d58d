"""Hypothesis profiles, chosen by the environment variable HYPOTHESIS_PROFILE; `dev` without it.

- dev: random, few examples, for the edit loop.
- pr: derandomised (the same examples for the same installed code), bounded, no database: what a pull request passes.
- slice: like pr with a handful of examples, for engines that take a second for one (the kernels interpreted).
- sim: as slice, for kernels on simulated cards: what the tests of these multiply by plans and dtypes is larger.
- sim-slice: the least that tries every property, for a simulated card in a pull request.
- nightly: random, many examples, failures kept in the database.
- nightly-slice: like nightly with few examples, for engines that take a second for one.
- replay: the examples of the database and no other, as they are; the database is only read.

The database of dev and nightly is a directory. Hypothesis takes out of it what no longer fails, so it belongs to one
lane; what other lanes have found is read and never written. Two variables say where:

- QRITA_EXAMPLES: the lane's own directory, `.hypothesis/examples` without it.
- QRITA_EXAMPLES_FROM: others', separated by commas: directories, or `github:OWNER/REPOSITORY@ARTIFACT`, the newest
  artifact of that name that a workflow has uploaded (`hypothesis-example-db` without a name). It is fetched with
  GITHUB_TOKEN when a test first asks for examples, and kept for a day.

Test ids name no engine, so what failed on one lane is found by the same test on every other.

Deadlines are off everywhere: a first call may compile for seconds, and the example that pays for it is not slow.
hypothesis has a profile `ci` of its own that loads itself under CI and never explores anything new; `load` replaces it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import (
    DirectoryBasedExampleDatabase,
    ExampleDatabase,
    GitHubArtifactDatabase,
    MultiplexedDatabase,
    ReadOnlyDatabase,
)

NAMES = ("dev", "pr", "slice", "sim", "sim-slice", "nightly", "nightly-slice", "replay")

SLOW = ("slice", "sim", "sim-slice", "nightly-slice")
"""Those of engines that take a second for an example: their rows are short."""

_UNHURRIED = (HealthCheck.too_slow, HealthCheck.data_too_large)

_GITHUB = re.compile(r"github:([\w.-]+)/([\w.-]+)(?:@([\w.-]+))?")


def register() -> None:
    """Make the profiles known to hypothesis. Each starts from hypothesis's own default, whatever is loaded now.

    Raises:
        ValueError: QRITA_EXAMPLES_FROM names what is neither a directory nor an artifact.
    """
    base = settings.get_profile("default")
    own, others = DirectoryBasedExampleDatabase(_own()), [ReadOnlyDatabase(other) for other in _others()]
    database = MultiplexedDatabase(own, *others) if others else own
    common = {"deadline": None, "print_blob": False, "suppress_health_check": _UNHURRIED}
    settings.register_profile("dev", base, max_examples=25, database=database, **common)
    settings.register_profile("pr", base, max_examples=300, derandomize=True, database=None, **common)
    settings.register_profile("slice", base, max_examples=4, derandomize=True, database=None, **common)
    settings.register_profile("sim", base, max_examples=4, derandomize=True, database=None, **common)
    settings.register_profile("sim-slice", base, max_examples=2, derandomize=True, database=None, **common)
    settings.register_profile("nightly", base, max_examples=5000, database=database, **common)
    settings.register_profile("nightly-slice", base, max_examples=60, database=database, **common)
    settings.register_profile(
        "replay",
        base,
        max_examples=5000,
        phases=(Phase.explicit, Phase.reuse),
        database=ReadOnlyDatabase(database),
        **common,
    )


def load() -> str:
    """Register the profiles and load the one that the environment names; returns its name.

    Raises:
        ValueError: the environment names a profile that is not ours, a database that is none, or nothing to replay.
    """
    register()
    name = os.environ.get("HYPOTHESIS_PROFILE") or "dev"
    if name not in NAMES:
        raise ValueError(f"HYPOTHESIS_PROFILE={name!r}: expected one of {', '.join(NAMES)}")
    if name == "replay" and not _others() and not any(_own().glob("*/*")):
        raise ValueError(
            f"HYPOTHESIS_PROFILE='replay': no examples in {str(_own())!r}, so nothing would be tried; expected some "
            "there (QRITA_EXAMPLES names another directory) or the name of a database in QRITA_EXAMPLES_FROM"
        )
    settings.load_profile(name)
    return name


def _own() -> Path:
    return Path(os.environ.get("QRITA_EXAMPLES") or ".hypothesis/examples")


def _others() -> list[ExampleDatabase]:
    names = [name.strip() for name in os.environ.get("QRITA_EXAMPLES_FROM", "").split(",")]
    return [_other(name) for name in names if name]


def _other(name: str) -> ExampleDatabase:
    found = _GITHUB.fullmatch(name)
    if found:
        owner, repository, artifact = found.groups()
        return GitHubArtifactDatabase(owner, repository, artifact or "hypothesis-example-db")
    if not name.startswith("github:") and Path(name).is_dir():
        return DirectoryBasedExampleDatabase(name)
    raise ValueError(
        f"QRITA_EXAMPLES_FROM: {name!r}: expected a directory that is there, or github:OWNER/REPOSITORY@ARTIFACT; "
        "several are separated by commas"
    )
