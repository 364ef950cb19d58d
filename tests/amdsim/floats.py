"""Floats by their bits, exactly: an implementation of IEEE 754 on whole numbers and fractions, for expected values.

Nothing here uses numpy or the machine's floats, so that it shares no fault with what it is compared with.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Format:
    """A binary format: bits of the exponent and of the stored mantissa."""

    exponent: int
    mantissa: int

    @property
    def width(self) -> int:
        """All bits."""
        return 1 + self.exponent + self.mantissa

    @property
    def bias(self) -> int:
        """What the stored exponent is more than the exponent."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def infinity(self) -> int:
        """The bits of +inf."""
        return ((1 << self.exponent) - 1) << self.mantissa

    @property
    def quiet(self) -> int:
        """The bit that tells quiet NaNs from signalling ones."""
        return 1 << (self.mantissa - 1)

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.width - 1)


F16, F32, F64 = Format(5, 10), Format(8, 23), Format(11, 52)
FORMATS = {"f16": F16, "f32": F32, "f64": F64}


def is_nan(bits: int, form: Format) -> bool:
    """Whether bits are a NaN."""
    return bits & ~form.sign > form.infinity


def is_infinite(bits: int, form: Format) -> bool:
    """Whether bits are an infinity."""
    return bits & ~form.sign == form.infinity


def is_zero(bits: int, form: Format) -> bool:
    """Whether bits are a zero."""
    return bits & ~form.sign == 0


def negative(bits: int, form: Format) -> bool:
    """Whether the sign bit is set."""
    return bool(bits & form.sign)


def exponent_of(bits: int, form: Format) -> int:
    """The stored exponent."""
    return (bits & ~form.sign) >> form.mantissa


def value_of(bits: int, form: Format) -> Fraction:
    """The number that finite bits are."""
    stored, fraction = exponent_of(bits, form), bits & ((1 << form.mantissa) - 1)
    if stored:
        fraction |= 1 << form.mantissa
    number = Fraction(fraction) * Fraction(2) ** (max(stored, 1) - form.bias - form.mantissa)
    return -number if negative(bits, form) else number


def bits_of(number: Fraction, form: Format, *, minus_zero: bool = False) -> int:
    """A number rounded to nearest, ties to even. `minus_zero`: whether a zero has the sign."""
    sign = form.sign if number < 0 or (number == 0 and minus_zero) else 0
    magnitude = abs(number)
    if magnitude == 0:
        return sign
    power = 0
    while magnitude >= Fraction(2) ** (power + 1):
        power += 1
    while magnitude < Fraction(2) ** power:
        power -= 1
    power = max(power, 1 - form.bias)
    scaled = magnitude / Fraction(2) ** (power - form.mantissa)
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1):
        whole += 1
    stored = power + form.bias - 1  # the implicit one of the mantissa adds one to the exponent
    bits = (stored << form.mantissa) + whole
    return sign | min(bits, form.infinity)


def quieted(bits: int, form: Format) -> int:
    """A NaN, quiet."""
    return bits | form.quiet


def total_key(bits: int, form: Format) -> int:
    """An integer that orders numbers as they are, -0 below +0."""
    return -(bits & ~form.sign) - 1 if negative(bits, form) else bits


def compare(first: int, second: int, form: Format) -> str:
    """ "<", "=", ">" or "?" for two floats; zeros are equal, and NaNs compare with nothing."""
    if is_nan(first, form) or is_nan(second, form):
        return "?"
    if is_zero(first, form) and is_zero(second, form):
        return "="
    one, two = total_key(first, form), total_key(second, form)
    return "=" if one == two else "<" if one < two else ">"


def add(first: int, second: int, form: Format) -> int | None:
    """The sum; None stands for any NaN."""
    if is_nan(first, form) or is_nan(second, form):
        return None
    if is_infinite(first, form) or is_infinite(second, form):
        if is_infinite(first, form) and is_infinite(second, form) and first != second:
            return None
        return first if is_infinite(first, form) else second
    both = negative(first, form) and negative(second, form)
    return bits_of(value_of(first, form) + value_of(second, form), form, minus_zero=both)


def multiply(first: int, second: int, form: Format) -> int | None:
    """The product; None stands for any NaN."""
    if is_nan(first, form) or is_nan(second, form):
        return None
    sign = (first ^ second) & form.sign
    if is_infinite(first, form) or is_infinite(second, form):
        return None if is_zero(first, form) or is_zero(second, form) else sign | form.infinity
    return bits_of(value_of(first, form) * value_of(second, form), form, minus_zero=bool(sign))


def multiply_add(first: int, second: int, third: int, form: Format, exponent: int = 0) -> int | None:
    """(first * second + third) * 2**exponent rounded once; None stands for any NaN."""
    if is_nan(first, form) or is_nan(second, form) or is_nan(third, form):
        return None
    sign = (first ^ second) & form.sign
    if is_infinite(first, form) or is_infinite(second, form):
        product = multiply(first, second, form)
        if product is None or (is_infinite(third, form) and third != product):
            return None
        return product
    if is_infinite(third, form):
        return third
    total = value_of(first, form) * value_of(second, form) + value_of(third, form)
    return bits_of(total * Fraction(2) ** exponent, form, minus_zero=bool(sign) and negative(third, form))


def converted(bits: int, source: Format, target: Format) -> int | None:
    """The same number in another format; None stands for any NaN."""
    if is_nan(bits, source):
        return None
    sign = target.sign if negative(bits, source) else 0
    if is_infinite(bits, source):
        return sign | target.infinity
    return bits_of(value_of(bits, source), target, minus_zero=bool(sign))


def integer_of(bits: int, form: Format, low: int, high: int) -> int:
    """A float truncated towards zero and kept within bounds; 0 for NaN."""
    if is_nan(bits, form):
        return 0
    if is_infinite(bits, form):
        return low if negative(bits, form) else high
    number = value_of(bits, form)
    whole = abs(number.numerator) // number.denominator
    return max(low, min(high, -whole if number < 0 else whole))


def square_root(bits: int, form: Format) -> int | None:
    """The square root, rounded to nearest; None stands for any NaN."""
    if is_nan(bits, form) or (negative(bits, form) and not is_zero(bits, form)):
        return None
    if is_zero(bits, form) or is_infinite(bits, form):
        return bits
    low, high = 0, form.infinity
    target = value_of(bits, form)
    while high - low > 1:  # the greatest float whose square is not above
        middle = (low + high) // 2
        if value_of(middle, form) ** 2 <= target:
            low = middle
        else:
            high = middle
    between = (value_of(low, form) + value_of(low + 1, form)) / 2
    return low + 1 if between**2 < target else low


def quotient(first: int, second: int, form: Format) -> int | None:
    """The quotient, rounded to nearest; None stands for any NaN."""
    if is_nan(first, form) or is_nan(second, form):
        return None
    sign = (first ^ second) & form.sign
    undefined = (is_zero(first, form) and is_zero(second, form)) or (
        is_infinite(first, form) and is_infinite(second, form)
    )
    if undefined:
        return None
    if is_infinite(first, form) or is_zero(second, form):
        return sign | form.infinity
    if is_infinite(second, form):
        return sign
    return bits_of(value_of(first, form) / value_of(second, form), form, minus_zero=bool(sign))
