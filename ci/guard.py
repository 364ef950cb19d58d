"""Fail, with one sentence, unless a tox environment is defined and is what it promises.

python ci/guard.py ENVIRONMENT [--installed]

The variable QRITA_TARGET names a target of ci/matrix.toml, for an environment that promises that very card.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(environment: str, *options: str) -> str | None:
    """What is wrong, or None."""
    # The base environment, whose only command this is, has no packages: Python 3.10 has no TOML reader there.
    try:
        import facts
        import promises
        import targets

        matrix = targets.load()
        target = os.environ.get("QRITA_TARGET") or None
        made = promises.promise(matrix, environment, target, "--installed" in options, ROOT)
    except ImportError:
        return f"the environment {environment!r} has no package for reading TOML: if it is in `ci/tox list`, add -r"
    except ValueError as error:
        return str(error)
    return promises.broken(made, facts.gather(), matrix)


if __name__ == "__main__":
    if problem := main(*sys.argv[1:]):
        sys.exit(f"ci/guard.py: {problem}")
