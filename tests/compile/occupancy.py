"""How many programs of a compiled kernel a multiprocessor holds at once.

NVIDIA's limits are from the CUDA Programming Guide ("Compute Capabilities": threads, programs, registers and shared
memory of a multiprocessor) and from `cuda_occupancy.h` of CUDA 13.1, which Triton brings along (units, partitions, the
system's share); AMD's from LLVM's AMDGPU back end (`AMDGPUBaseInfo.cpp`: VGPRs and LDS with their granules, SGPRs,
waves of a SIMD, barriers). On 2026-11-30 `programs` gave what that header computes for 145,920 combinations of
architecture, warps, registers and shared memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from machine_code import Needs

KIB = 1024


@dataclass(frozen=True)
class Limits:
    """What the programs on a multiprocessor share.

    Attributes:
        partitions: SIMDs; a warp lives in one of them.
        warps: that a partition holds.
        registers, unit: vector registers of a lane of a partition, and how many of them a warp is given at a time.
        scalars: scalar registers of a partition; 0 where their number limits nothing.
        programs, meeting: that the multiprocessor holds; of those with several warps, which need a barrier.
        shared, shared_unit: bytes of shared memory, and how many of them a program is given at a time.
        reserved: bytes of shared memory that each program costs beside its own.
    """

    partitions: int
    warps: int
    registers: int
    unit: int
    scalars: int
    programs: int
    meeting: int
    shared: int
    shared_unit: int
    reserved: int


def _nvidia(threads: int, programs: int, shared: int) -> Limits:
    """65,536 registers in four partitions, given out by 256 to a warp; 1 KiB of shared memory is the system's."""
    return Limits(4, threads // 32 // 4, 65536 // 4 // 32, 256 // 32, 0, programs, programs, shared, 128, KIB)


def _cdna(shared: int, shared_unit: int) -> Limits:
    """A compute unit: 4 SIMDs of 8 waves, whose vector registers are ordinary and accumulation registers together."""
    return Limits(4, 8, 512, 8, 800, 32, 16, shared, shared_unit, 0)


_RDNA = Limits(4, 16, 1536, 24, 0, 64, 32, 128 * KIB, 512, 0)
"""A work-group processor, two compute units that share their memory: LLVM's default mode, in waves of 32."""

LIMITS = {
    "sm_80": _nvidia(2048, 32, 164 * KIB),
    "sm_89": _nvidia(1536, 24, 100 * KIB),
    "sm_90": _nvidia(2048, 32, 228 * KIB),
    "sm_100": _nvidia(2048, 32, 228 * KIB),
    "sm_120": _nvidia(1536, 24, 100 * KIB),
    "gfx942": _cdna(64 * KIB, 512),
    "gfx950": _cdna(160 * KIB, 1280),
    "gfx1100": _RDNA,
    "gfx1201": _RDNA,
}


def programs(limits: Limits, warps: int, needs: Needs) -> int:
    """Programs of so many warps that registers, threads, barriers and shared memory allow a multiprocessor to hold."""
    held = [limits.partitions * warps_of_a_partition(limits, needs) // warps]
    held.append(limits.programs if warps == 1 else limits.meeting)
    if shared := _rounded_up(needs.shared + limits.reserved, limits.shared_unit):
        held.append(limits.shared // shared)
    return min(held)


def warps_of_a_partition(limits: Limits, needs: Needs) -> int:
    """Warps, or waves, that registers allow a partition to hold: what LLVM prints as the occupancy of AMD's kernels."""
    return min(_by_registers(limits, needs))


def _by_registers(limits: Limits, needs: Needs) -> Iterator[int]:
    yield limits.warps
    yield limits.registers // max(_rounded_up(needs.registers, limits.unit), limits.unit)
    if limits.scalars and needs.scalar_registers:
        yield limits.scalars // needs.scalar_registers


def _rounded_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
