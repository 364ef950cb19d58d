"""No script escapes the linters because its name has no suffix that they look for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import targets

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SETTINGS = tomllib.loads((targets.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]


def scripts(interpreter: str) -> list[str]:
    """The files of the checkout without a suffix that begin as scripts of an interpreter do."""
    command = ["git", "-C", str(targets.ROOT), "-c", f"safe.directory={targets.ROOT}", "ls-files"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    files = [targets.ROOT / name for name in names if not Path(name).suffix]
    first = {file: file.read_bytes().partition(b"\n")[0] for file in files if file.is_file()}
    return [file.relative_to(targets.ROOT).as_posix() for file, line in first.items() if interpreter.encode() in line]


def test_every_shell_script_without_a_suffix_is_checked() -> None:
    found = scripts("sh")
    (command,) = re.findall(r"^    shellcheck (.*)$", (targets.ROOT / "tox.ini").read_text(encoding="utf-8"), re.M)
    assert ".ci/run" in found
    assert set(found) <= set(command.split())


@pytest.mark.parametrize(("tool", "setting"), [("ruff", "extend-include"), ("mypy", "files")])
def test_every_python_script_without_a_suffix_is_named(tool: str, setting: str) -> None:
    found = scripts("python")
    assert "ci/tox" in found
    assert set(found) <= set(SETTINGS[tool][setting])
