"""What the README shows works."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import torch

from qrita.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    return [block for name, block in found if name == language]


def test_python() -> None:
    (block,) = blocks("python")
    names: dict[str, torch.Tensor] = {}
    exec(block, names)
    kept = names["masked"] != float("-inf")
    assert kept.any(dim=1).all()
    assert (kept.sum(dim=1) <= 50).all()
    assert (names["masked"][kept] == names["logits"][kept]).all()


def test_commands_are_environments() -> None:
    """`ci/matrix.py check` compares every name with tox.ini; here it is what a newcomer is told to run first."""
    assert re.findall(r"^ci/tox -e (\w+)", "".join(blocks("")), re.MULTILINE) == ["check", "cpu"]


@pytest.mark.parametrize("line", re.findall(r"`qrita (\w+) --", README))
def test_commands_exist(line: str) -> None:
    assert main([*shlex.split(line), "--help"]) == 0


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).is_file(), target
