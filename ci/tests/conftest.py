"""Tests of what is in ci/, whose modules they import as the scripts there do: by their bare names."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ci"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout itself, to be read."""
    return ROOT


@pytest.fixture(scope="session")
def copy_checkout() -> Callable[[Path], Path]:
    """Copies the checkout as git sees it, with files not added yet and without those that are ignored; not its history.

    For tests that break a file, or that run tox.
    """

    def copy(to: Path) -> Path:
        listing = [
            "git",
            "-C",
            str(ROOT),
            "-c",
            f"safe.directory={ROOT}",
            "ls-files",
            "-z",
            "-co",
            "--exclude-standard",
        ]
        for name in subprocess.run(listing, check=True, capture_output=True, text=True).stdout.split("\0"):
            if name and (ROOT / name).is_file():  # deleted, and not yet from the index
                (to / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, to / name)
        return to

    return copy
