"""The steps of a float32 division that are not plain arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np

from amdsim.instructions import arithmetic as a
from amdsim.instructions import encoding
from amdsim.instructions.forms import Binder, Step, form
from amdsim.instructions.selection import condition
from amdsim.machine import Machine
from amdsim.operands import operand
from amdsim.program import Instruction
from amdsim.values import bound, mask_sink, mask_source

TINY = 2.0**-126
BIAS = 127


def _exponent(value: Any) -> Any:
    """The biased exponent: 0 of zeros and of subnormal numbers."""
    return (value.view(np.uint32) >> np.uint32(23)).astype(np.int32) & np.int32(255)


def _subnormal(value: Any, least: float = TINY) -> Any:
    return (np.abs(value) < least) & (value != 0)


def _scaled(value: Any, denominator: Any, numerator: Any) -> Any:
    """v_div_scale_f32: (the value, scaled by 2**64 or 2**-64 where that avoids trouble, whether the quotient was)."""
    value, denominator, numerator = np.broadcast_arrays(value, denominator, numerator)
    wide = denominator.astype(np.float64)
    reciprocal, quotient = 1.0 / wide, numerator.astype(np.float64) / wide
    tiny_reciprocal, tiny_quotient = _subnormal(reciprocal), _subnormal(quotient)
    of_denominator, of_numerator = value == denominator, value == numerator
    up, down = a.scaled(value, np.int32(64)), a.scaled(value, np.int32(-64))
    cases = (
        ((numerator == 0) | (denominator == 0), np.full_like(value, np.nan), False),
        (_exponent(numerator) - _exponent(denominator) >= 96, np.where(of_denominator, up, value), True),
        (_subnormal(denominator), up, False),
        (tiny_reciprocal & tiny_quotient, np.where(of_denominator, down, value), True),
        (tiny_reciprocal, down, False),
        (tiny_quotient, np.where(of_numerator, up, value), True),
        (_exponent(numerator) <= 23, up, False),
    )
    conditions = [case for case, _, _ in cases]
    result = np.select(conditions, [scaled for _, scaled, _ in cases], value)
    flags = np.select(conditions, [np.full(value.shape, flag) for _, _, flag in cases], False)
    return result, flags


def _scale(instruction: Instruction, machine: Machine) -> Step:
    encoding.check(instruction)
    target, flag, *operands = instruction.operands
    sources, lanes = encoding.inputs(instruction, operands, ("f32", "f32", "f32"), machine)
    to_target = encoding.output(instruction, target, "f32", machine, lanes)
    to_flag = mask_sink(instruction, flag, machine, lanes)

    def commit(value: Any) -> None:
        result, flags = value
        to_flag(flags)
        to_target(result)

    return Step(bound(_scaled, sources), commit)


def _unscaled(first: Any, second: Any, third: Any, flag: Any) -> Any:
    """The last multiply-add of the quotient, and back by 2**64 where v_div_scale said so."""
    exponent = np.where(_exponent(third) > BIAS, np.int32(64), np.int32(-64))
    return np.ldexp(a.fused_wide(first, second, third), np.where(flag, exponent, np.int32(0))).astype(np.float32)


def _multiply_add(instruction: Instruction, machine: Machine) -> Step:
    encoding.check(instruction)
    target, *operands = instruction.operands
    sources, lanes = encoding.inputs(instruction, operands, ("f32", "f32", "f32"), machine)
    flag = mask_source(instruction, operand(condition(machine)), machine)
    return Step(bound(_unscaled, [*sources, flag]), encoding.output(instruction, target, "f32", machine, lanes))


def _fixed(quotient: Any, denominator: Any, numerator: Any) -> Any:
    """v_div_fixup_f32: the quotient, but for the cases that the steps before get wrong.

    Where they come to NaN for two numbers, the quotient overflowed.
    """
    quotient, denominator, numerator = np.broadcast_arrays(quotient, denominator, numerator)
    negative = np.signbit(denominator) ^ np.signbit(numerator)
    sign = np.where(negative, np.float32(-1), np.float32(1))
    indefinite = np.uint32(0xFFC00000).view(np.float32)
    both_zero = (denominator == 0) & (numerator == 0)
    both_infinite = np.isinf(denominator) & np.isinf(numerator)
    return np.select(
        [
            np.isnan(numerator),
            np.isnan(denominator),
            both_zero | both_infinite,
            (denominator == 0) | np.isinf(numerator),
            np.isinf(denominator) | (numerator == 0),
            _exponent(numerator) - _exponent(denominator) < -150,
        ],
        [
            a.quieted(numerator),
            a.quieted(denominator),
            np.full_like(quotient, indefinite),
            np.copysign(np.float32(np.inf), sign),
            np.copysign(np.float32(0), sign),
            np.copysign(np.float32(0), sign),
        ],
        np.copysign(np.where(np.isnan(quotient), np.float32(np.inf), quotient), sign),
    )


TABLE: dict[str, Binder] = {
    "v_div_scale_f32": _scale,
    "v_div_fmas_f32": _multiply_add,
    "v_div_fixup_f32": form("f32", "f32 f32 f32", _fixed),
}
