"""The instructions that the project's kernels consist of, as tests/amdsim/emitted/ARCHITECTURE.txt lists them.

`python tests/amdsim/emitted.py DIRECTORY` adds those of the assemblies in a directory, such as Triton's cache after
`ci/tox -e sim`. What kernels consisted of before stays: it is simulated, and its tests are there.
"""

from __future__ import annotations

import functools
import re
import sys
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


def main(directory: Path) -> None:
    """Complete the lists, by the kernels that the package launches: their names end so."""
    from amdsim import parse

    found: dict[str, set[str]] = {}
    for path in sorted(directory.glob("**/*_kernel.amdgcn")):
        program = parse.program(path.read_text())
        found.setdefault(program.architecture.name, set()).update(program.mnemonics)
    for architecture, mnemonics in found.items():
        mnemonics |= {known for name, known in instructions() if name == architecture}
        (HERE / f"{architecture}.txt").write_text("\n".join(sorted(mnemonics)) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
