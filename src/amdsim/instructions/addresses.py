"""What the mnemonics of loads and stores say, under the names of every generation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Access:
    """A load or a store.

    Attributes:
        load: which of the two.
        size: bytes for each lane.
        signed: whether a short value's sign is extended.
        half: "" for whole registers, "low" or "high" for a half of one, the other of which a load keeps.
    """

    load: bool
    size: int
    signed: bool = False
    half: str = ""


WIDE = {"b32": 4, "b64": 8, "b96": 12, "b128": 16}
_LOADS = {
    "u8": Access(True, 1), "i8": Access(True, 1, signed=True), "u16": Access(True, 2),
    "i16": Access(True, 2, signed=True), "d16_u8": Access(True, 1, half="low"),
    "d16_i8": Access(True, 1, signed=True, half="low"), "d16_b16": Access(True, 2, half="low"),
    "d16_hi_u8": Access(True, 1, half="high"), "d16_hi_i8": Access(True, 1, signed=True, half="high"),
    "d16_hi_b16": Access(True, 2, half="high"),
}  # fmt: skip
_STORES = {
    "b8": Access(False, 1), "b16": Access(False, 2), "d16_hi_b8": Access(False, 1, half="high"),
    "d16_hi_b16": Access(False, 2, half="high"),
}  # fmt: skip
_OLD_LOADS = {
    "ubyte": "u8", "sbyte": "i8", "ushort": "u16", "sshort": "i16", "ubyte_d16": "d16_u8", "sbyte_d16": "d16_i8",
    "short_d16": "d16_b16", "ubyte_d16_hi": "d16_hi_u8", "sbyte_d16_hi": "d16_hi_i8", "short_d16_hi": "d16_hi_b16",
}  # fmt: skip
_OLD_STORES = {"byte": "b8", "short": "b16", "byte_d16_hi": "d16_hi_b8", "short_d16_hi": "d16_hi_b16"}
_OLD_WIDE = {"dword": "b32", "dwordx2": "b64", "dwordx3": "b96", "dwordx4": "b128"}


def accesses(prefix: str) -> dict[str, Access]:
    """The loads and stores with a prefix such as "global": mnemonic -> what it does."""
    loads = {name: Access(True, size) for name, size in WIDE.items()} | _LOADS
    stores = {name: Access(False, size) for name, size in WIDE.items()} | _STORES
    loads |= {old: loads[new] for old, new in (_OLD_WIDE | _OLD_LOADS).items()}
    stores |= {old: stores[new] for old, new in (_OLD_WIDE | _OLD_STORES).items()}
    return {
        f"{prefix}_{verb}_{name}": it
        for verb, all_ in (("load", loads), ("store", stores))
        for name, it in all_.items()
    }


def local_accesses(load: str, store: str) -> dict[str, Access]:
    """The same of LDS, whose names differ: ds_read_u16_d16_hi."""
    found = {f"ds_{load}_{name}": Access(True, size) for name, size in WIDE.items()}
    found |= {f"ds_{store}_{name}": Access(False, size) for name, size in WIDE.items()}
    for name, size, signed in (("u8", 1, False), ("i8", 1, True), ("u16", 2, False), ("i16", 2, True)):
        found[f"ds_{load}_{name}"] = Access(True, size, signed)
        if name != "i16":
            found[f"ds_{load}_{name}_d16"] = Access(True, size, signed, "low")
            found[f"ds_{load}_{name}_d16_hi"] = Access(True, size, signed, "high")
    for name, size in (("b8", 1), ("b16", 2)):
        found[f"ds_{store}_{name}"] = Access(False, size)
        found[f"ds_{store}_{name}_d16_hi"] = Access(False, size, half="high")
    return found
