"""Engines with one bug each. The suite is worth what it says about these; docs/testing.md tables it."""

from __future__ import annotations

from collections.abc import Callable

import planted_calls as calls
import planted_rows as rows
from planted_rows import RowEngine

from qrita.engines import Engine

PLANTED: dict[str, Callable[[], Engine]] = {
    "highest index first": lambda: RowEngine(rows.highest_index_first),
    "-0.0 below +0.0": lambda: RowEngine(rows.negative_zero_below),
    "subnormals are zero": lambda: RowEngine(rows.subnormals_are_zero),
    "subnormals of 16-bit rows lost": lambda: calls.Spoilt(calls.flushed_narrow),
    "NaN takes a place of k": lambda: RowEngine(rows.nan_takes_a_place),
    "k off by one": lambda: RowEngine(rows.one_more),
    "tie tolerance": lambda: RowEngine(rows.tie_tolerance),
    "pivot search with a cap": lambda: RowEngine(rows.capped_search),
    "bound from the first block": lambda: RowEngine(rows.bound_from_the_first_block),
    "statistics of the first block": lambda: RowEngine(rows.statistics_of_the_first_block),
    "k ignored where the minimum is finite": lambda: RowEngine(rows.k_ignored_without_minus_infinity),
    "k-th equals the minimum": lambda: RowEngine(rows.strictly_above_the_minimum),
    "tie quota at a split border": lambda: RowEngine(rows.quota_at_a_split_border),
    "tie scan of 64 lanes": lambda: RowEngine(rows.scan_of_64_lanes),
    "right count, wrong set": lambda: RowEngine(rows.right_count_wrong_set),
    "> for >= in the top-p target": lambda: RowEngine(rows.strictly_greater_mass),
    "fp32 sums": lambda: RowEngine(rows.float_sums),
    "estimate for the maximum": lambda: RowEngine(rows.estimated_maximum),
    "p of the whole row's mass": lambda: RowEngine(rows.mass_of_the_whole_row),
    "target rounded down": lambda: RowEngine(rows.target_rounded_down),
    "target in doubles": lambda: RowEngine(rows.target_in_doubles),
    "exp of the library": lambda: RowEngine(rows.library_exp),
    "fused weights": lambda: RowEngine(rows.fused_weights),
    "weightless tokens stay": lambda: RowEngine(rows.weightless_tokens_stay),
    "nothing at p = 0": lambda: RowEngine(rows.nothing_at_p_0),
    "the neighbour's k": lambda: calls.Spoilt(calls.neighbours_k),
    "the neighbour's row": lambda: calls.Spoilt(calls.neighbours_row),
    "the first row's p": lambda: calls.Spoilt(calls.first_rows_p),
    "k for the first row only": lambda: calls.Spoilt(calls.k_for_the_first_row),
    "k narrowed to 32 bits": lambda: calls.Spoilt(calls.narrowed_k),
    "p through bfloat16": lambda: calls.Spoilt(calls.narrowed_p),
    "NaN p keeps one": lambda: calls.Spoilt(calls.nan_p_keeps_one),
    "column stride taken for 1": lambda: calls.Spoilt(calls.column_stride_of_1),
    "another kernel above 64 rows": calls.ManyRows,
    "k depends on the threads": calls.CountsThreads,
    "NaN kept": calls.KeepsNan,
    "-inf becomes mask_value": calls.LosesMinusInfinity,
    "-0.0 becomes +0.0": calls.NormalisesZero,
    "float comparisons": calls.ComparesFloats,
    "counts cut off": calls.CountsWhatIsListed,
    "listed by index": calls.ListsByIndex,
    "in place, reads what it wrote": calls.ReadsWhatItWrote,
    "input written": calls.WritesTheInput,
    "write past the row": calls.WritesPastTheRow,
    "stale total": calls.KeepsTheLastTotal,
    "stale scratch": calls.StaleScratch,
}
"""Every bug by name, as a function that makes the engine. In the order of docs/testing.md."""
