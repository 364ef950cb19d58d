"""The instructions that the project's kernels consist of, as tests/amdsim/emitted/ARCHITECTURE.txt lists them.

`python tests/sim/emitting.py` completes the lists.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Set
from pathlib import Path

HERE = Path(__file__).parent / "emitted"
_SUFFIX = re.compile(r"_(e32|e64|sdwa|dpp|e64_dpp)$")


def base(mnemonic: str) -> str:
    """Without the encoding; a half of a dual instruction by the name of the whole."""
    return _SUFFIX.sub("", mnemonic).replace("v_dual_", "v_")


def encoding(mnemonic: str) -> str:
    """The encoding that a mnemonic names, "dual" for halves of dual instructions, "" where it names none."""
    if mnemonic.startswith("v_dual_"):
        return "dual"
    match = _SUFFIX.search(mnemonic)
    return match[1] if match else ""


@functools.cache
def instructions() -> tuple[tuple[str, str], ...]:
    """(architecture, mnemonic), all of them."""
    lists = sorted(HERE.glob("gfx*.txt"))
    return tuple((path.stem, mnemonic) for path in lists for mnemonic in path.read_text().split())


def of(architecture: str) -> frozenset[str]:
    """Those of one architecture."""
    return frozenset(mnemonic for name, mnemonic in instructions() if name == architecture)


def add(architecture: str, mnemonics: Set[str]) -> list[str]:
    """Write those that an architecture's list lacks into it; they are returned."""
    known = of(architecture)
    (HERE / f"{architecture}.txt").write_text("\n".join(sorted(known | mnemonics)) + "\n")
    return sorted(mnemonics - known)
