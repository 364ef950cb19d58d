"""The architectures that are simulated, and what differs between them."""

from __future__ import annotations

from dataclasses import dataclass

from amdsim.errors import LaunchFault

MAX_THREADS = 1024
"""Work items of a workgroup."""


@dataclass(frozen=True)
class Architecture:
    """One target of the compiler.

    Attributes:
        name: the compiler's name of it.
        generation: 9 (CDNA), 11 (RDNA3) or 12 (RDNA4): the generation of the instruction set.
        wave: lanes of a wave.
        lds: bytes of LDS that a workgroup may have.
    """

    name: str
    generation: int
    wave: int
    lds: int


KIB = 1024
ARCHITECTURES = {
    a.name: a
    for a in (
        Architecture("gfx942", 9, 64, 64 * KIB),
        Architecture("gfx950", 9, 64, 160 * KIB),
        Architecture("gfx1100", 11, 32, 64 * KIB),
        Architecture("gfx1201", 12, 32, 64 * KIB),
    )
}


def named(name: str) -> Architecture:
    """The architecture of a name.

    Raises:
        LaunchFault: it is not simulated.
    """
    if name not in ARCHITECTURES:
        raise LaunchFault(f"architecture {name!r} is not simulated: expected one of {', '.join(ARCHITECTURES)}")
    return ARCHITECTURES[name]
