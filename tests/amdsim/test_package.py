"""What the package needs and what it is no part of."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "amdsim"


def test_the_core_needs_numpy_only() -> None:
    code = (
        "import sys, amdsim, amdsim.instructions; "
        "print(sorted({m.partition('.')[0] for m in sys.modules} & {'torch', 'triton', 'qrita', 'numpy'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT / "src")}
    )
    assert done.stdout.strip() == "['numpy']"


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_it_knows_nothing_of_what_it_runs(path: Path) -> None:
    assert "qrita" not in path.read_text().lower()


def test_it_is_not_in_the_wheel() -> None:
    """The wheel holds the packages that are named, and this is none of them."""
    configuration = (ROOT / "pyproject.toml").read_text()
    section = configuration.partition("[tool.hatch.build.targets.wheel]")[2].partition("\n[")[0]
    assert section.strip() == 'packages = ["src/qrita"]'
