"""What a simulation stops for. Every message says which instruction, and where in the kernel's source."""

from __future__ import annotations


class SimulationError(Exception):
    """The kernel, or what it was given, is at fault, or lies beyond what is simulated."""


class UnknownInstruction(SimulationError):
    """A mnemonic, an operand or a modifier that is not simulated. Nothing is guessed."""


class OutOfBounds(SimulationError):
    """An access outside of every buffer, of a program's LDS, or of a read-only buffer by a store."""


class Race(SimulationError):
    """Two waves touch the same memory, one of them to write, and nothing orders them."""


class Uninitialised(SimulationError):
    """A branch, an address, an exec mask or a stored value depends on what nobody wrote."""


class BarrierFault(SimulationError):
    """Waves of a workgroup do not meet at one barrier, or meet with lanes switched off."""


class LaunchFault(SimulationError):
    """A launch that no AMD GPU would accept, or arguments that are not the kernel's."""


class Runaway(SimulationError):
    """More instructions than the limit: a loop that does not end."""
