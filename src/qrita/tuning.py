"""The figures that plans are made from, and those of a card on which nothing was measured."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from qrita.device import Device

LIMITS: dict[str, tuple[int, int, bool]] = {
    "tile": (512, 8192, True),
    "row_tile": (256, 8192, True),
    "sample": (64, 16_384, True),
    "warps": (1, 32, True),
    "select_warps": (1, 32, True),
    "bracket_warps": (1, 32, True),
    "settle_warps": (1, 32, True),
    "row_warps": (1, 32, True),
    "many_rows": (1, 1024, False),
    "few_rows_splits": (1, 64, False),
    "many_rows_splits": (1, 64, False),
    "small_k_splits": (1, 64, False),
    "streaming": (1, 256, False),
    "programs": (1, 256, False),
    "row_programs": (1, 64, False),
}
"""The least and the greatest value of each figure, and whether it has to be a power of two."""


class TuningError(ValueError):
    """Figures that no plan can be made from, or a file that has none. Says what was expected."""


@dataclass(frozen=True)
class Tuning:
    """What depends on the card and on nothing else in a plan.

    Attributes:
        tile, row_tile: tokens that a program reads at a time where several share a row, and where it has one alone.
        sample: tokens that a bracket is guessed from.
        warps, select_warps, bracket_warps, settle_warps, row_warps: as in a plan, but in warps of 32 threads.
        many_rows: rows for each multiprocessor from which a batch has many.
        few_rows_splits, many_rows_splits, small_k_splits: programs that share a row at least, in batches with few rows,
            with many, and in any where k is small.
        streaming: programs for each multiprocessor, at least, where rows are streamed.
        programs, row_programs: programs for each multiprocessor in the persistent grids, and in that of whole rows.
    """

    tile: int
    row_tile: int
    sample: int
    warps: int
    select_warps: int
    bracket_warps: int
    settle_warps: int
    row_warps: int
    many_rows: int
    few_rows_splits: int
    many_rows_splits: int
    small_k_splits: int
    streaming: int
    programs: int
    row_programs: int

    def __post_init__(self) -> None:
        """Refuse what no plan can have.

        Raises:
            TuningError: names the figure.
        """
        for name, value in asdict(self).items():
            low, high, power = LIMITS[name]
            whole = type(value) is int and low <= value <= high
            if not whole or (power and value & (value - 1)):
                kind = "a power of two" if power else "a whole number"
                raise TuningError(f"figures: {name}={value!r}: expected {kind} from {low:,} to {high:,}")


DERIVED = "derived from figures of sm_90, not measured"
"""Where the figures of a card without an entry come from."""

SPARING = ("sm_80", "sm_89")
"""Architectures whose assembler keeps a program of 8 warps to 128 registers of the 255 that there are, and spills.
There, groups are picked by 16 warps and whole rows searched in tiles of 512 by 4, as compiled with Triton 3.7.1."""

NANOSECONDS = 600
"""Between asking memory for a tile and having it, as assumed for every card."""

SCRATCH_WORDS = 5
"""Words of scratch for each token of a tile, of a program that searches a whole row."""


def derived(device: Device) -> Tuning:
    """The figures for a device without an entry: those of an H200 on 2026-11-30, fitted to what the device has.

    Everything counted in programs grows with its multiprocessors. Where its memory needs more bytes on the way to each
    of them than an H200's, more programs stream; where its cache cannot hold the scratch of whole rows' searches, fewer
    programs search. A size that is not known changes nothing.
    """
    sparing = device.architecture in SPARING
    tile, row_tile = 1024, 512 if sparing else 1024
    on_the_way = device.bandwidth * NANOSECONDS // 10**9 // device.multiprocessors
    wanted = -(-on_the_way // (2 * 4 * tile))  # two tiles of float32 logits a program, of which one is ahead
    scratch = 4 * SCRATCH_WORDS * row_tile * device.multiprocessors
    return Tuning(
        tile=tile,
        row_tile=row_tile,
        sample=2048,
        warps=4,
        select_warps=16 if sparing else 8,
        bracket_warps=4,
        settle_warps=1,
        row_warps=4 if sparing else 8,
        many_rows=4,
        few_rows_splits=8,
        many_rows_splits=4,
        small_k_splits=16,
        streaming=min(max(4, wanted), LIMITS["streaming"][1]),
        programs=16,
        row_programs=max(1, min(2, device.cache // scratch)) if device.cache else 2,
    )
