"""Finding what is to be tested by the name that a person gives it."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import torch

from qrita import engines
from qrita.testing.foreign.contract import Contract, ContractError
from qrita.testing.foreign.implementation import Implementation
from qrita.testing.foreign.peers import PEERS
from qrita.testing.subjects import Subject, named

_ENGINE = ("name", "cuts", "mask", "candidates")
"""What an object has that answers as docs/semantics.md says: `qrita.engines.Engine`."""

_EXPECTED = (
    "a function (logits, k, p) -> masked logits, an object with `contract` and mask, mask_in_place or candidates, or a "
    "qrita.engines.Engine"
)


class SubjectError(Exception):
    """There is no such subject, or it cannot be loaded here. Says what was expected."""


def is_ours(name: str) -> bool:
    """Whether a name is that of one of our engines, with or without a plan: they run in this process."""
    return name.partition(":")[0] in engines.NAMES


def known() -> str:
    """What can be named, in words."""
    return ", ".join(map(repr, (*engines.NAMES, *PEERS)))


def load(name: str, path: str | None) -> Subject | Implementation:
    """The subject of a name.

    Args:
        name: of one of our engines ("torch", "triton:sigma"), of a peer ("torch-sort", "vllm"), or "module:attribute".
        path: a folder to import from, or for a peer that is one file, the file.

    Raises:
        SubjectError: says what is wrong, and what was expected.
    """
    if is_ours(name):
        try:
            return named(name)
        except (ValueError, RuntimeError) as error:
            raise SubjectError(str(error)) from None
    where = _place(path)
    if name in PEERS:
        try:
            return PEERS[name](where)
        except SubjectError as error:
            raise SubjectError(f"{name!r}: {error}") from None
        except Exception as error:
            raise SubjectError(f"{name!r} cannot be loaded: {type(error).__name__}: {error}") from None
    if ":" not in name:
        raise SubjectError(f"{name!r}: expected one of {known()}; or module:attribute for one of your own")
    return _imported(name)


def _place(path: str | None) -> Path | None:
    """Make a folder, or that of a file, the first to import from."""
    sys.path.insert(0, os.getcwd())
    if path is None:
        return None
    where = Path(path).resolve()
    if not where.exists():
        raise SubjectError(f"path={path!r}: there is no such file or folder")
    sys.path.insert(0, str(where if where.is_dir() else where.parent))
    return where


def _imported(name: str) -> Subject | Implementation:
    module, _, attribute = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
        made: Any = found() if isinstance(found, type) else found
    except Exception as error:
        raise SubjectError(f"{name!r} cannot be loaded: {type(error).__name__}: {error}") from None
    contract = getattr(made, "contract", None)
    if contract is None and all(hasattr(made, part) for part in _ENGINE):
        return Subject(made.name, made, str(getattr(made, "device", "cpu")))
    if not isinstance(contract, Contract | None):
        raise SubjectError(f"{name!r}: contract is a {type(contract).__name__}; expected a Contract")
    functions = {part: getattr(made, part, None) for part in ("mask", "mask_in_place", "candidates")}
    if not any(functions.values()) and callable(made):
        functions["mask"] = made
    if not any(functions.values()):
        raise SubjectError(f"{name!r} is a {type(made).__name__}; expected {_EXPECTED}")
    try:
        return _implementation(name, contract or Contract(), functions, dict(getattr(made, "versions", {})))
    except (ContractError, SubjectError) as error:
        raise SubjectError(f"{name!r}: {error}") from None


def _implementation(
    name: str, contract: Contract, functions: dict[str, Any], versions: dict[str, str]
) -> Implementation:
    for output, function in (("mask", "mask"), ("mask in place", "mask_in_place"), ("candidates", "candidates")):
        if output in contract.outputs and not functions[function]:
            raise SubjectError(f"it promises {output!r} and has no {function}; expected a function of that name")
    return Implementation(name, contract, device_for(contract), **functions, versions=versions)


def device_for(contract: Contract) -> str:
    """Where an implementation is tried: on a GPU where there is one and its contract covers it.

    Raises:
        SubjectError: neither.
    """
    if "cuda" in contract.devices and torch.cuda.is_available():
        return "cuda"
    if "cpu" in contract.devices:
        return "cpu"
    raise SubjectError("it needs a GPU, and torch sees none here")
