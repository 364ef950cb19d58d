"""What the package's wheel has installed. tests/conftest.py leaves this file out where there is none."""

from __future__ import annotations

import importlib.metadata


def test_the_wheel_holds_the_package_and_nothing_else() -> None:
    files = importlib.metadata.files("qrita") or []
    outside = {"qrita", ".."}  # beside its own folders: the command, which is not under site-packages
    tops = {file.parts[0] for file in files if not file.parts[0].endswith(".dist-info")}
    assert "qrita" in tops
    assert tops <= outside
    assert not [file.as_posix() for file in files if "amdsim" in file.as_posix()]


def test_the_wheel_holds_what_was_measured() -> None:
    files = {file.as_posix() for file in importlib.metadata.files("qrita") or []}
    assert "qrita/tuned/sm_90.json" in files
