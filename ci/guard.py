"""Fail, with one sentence, unless a tox environment is defined and got the torch stack that it promises.

python ci/guard.py ENVIRONMENT [FILE_OF_PINS ...]
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
from pathlib import Path

PROMISES = {"cpu": "CPU", "interpreter": "CPU", "type": "CPU", "check": ""}
"""Environment to the build of torch that it runs on; "" is any."""
STACK = ("torch", "triton", "triton-rocm", "pytorch-triton-rocm")
"""Distributions that are part of the stack: each is there, in the pinned version, if and only if it is pinned."""

ANEW = "make it anew: run the same ci/tox again with -r, which asks the right wheel folder"


def main(environment: str, *files: str) -> str | None:
    """What is wrong, or None."""
    if environment not in PROMISES:
        return f"tox.ini does not define the environment {environment!r}; `ci/tox list` shows those that it defines"
    pinned = pins("\n".join(Path(file).read_text(encoding="utf-8") for file in files))
    for name in STACK:
        found, wanted = installed(name), pinned.get(name, set())
        # A pin without a label (2.13.0) takes any build (2.13.0+cpu): which one it is, is asked below.
        right = not wanted if found is None else bool({found, found.partition("+")[0]} & wanted)
        if not right:
            return (
                f"environment {environment!r} has {name} {found or '(not installed)'}, but {' and '.join(files)} pins "
                f"{' or '.join(sorted(wanted)) or 'none'}; {ANEW}"
            )
    promised, build = PROMISES[environment], torch_build()
    if not build.startswith(promised):
        return f"environment {environment!r} promises a {promised} build of torch, but got {build}; {ANEW}"
    return None


def pins(requirements: str) -> dict[str, set[str]]:
    """Name to the versions that a requirements file pins for it, for one platform or another."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w-]+)==([\w.+]+)", requirements, re.MULTILINE):
        found.setdefault(name, set()).add(version)
    return found


def installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def torch_build() -> str:
    """Vendor first: "CPU (torch 2.13.0+cpu)"."""
    import torch

    vendor = "CPU"
    if torch.version.hip is not None:
        vendor = f"ROCm {torch.version.hip}"
    elif torch.version.cuda is not None:
        vendor = f"CUDA {torch.version.cuda}"
    return f"{vendor} (torch {torch.__version__})"


if __name__ == "__main__":
    if problem := main(*sys.argv[1:]):
        sys.exit(f"ci/guard.py: {problem}")
