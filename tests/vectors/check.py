"""Checks vectors in Python integers: no float, no other package, nothing of qrita. A model for any language.

python check.py FILE.json ...
"""

import json
import sys
from functools import cache
from itertools import accumulate

UNIT = 149  # every fp32 number is a whole multiple of 2**-149, and is written here as that multiple
COEFFICIENTS = (-0x1EF66D2, 11), (0x12DA7D6, 7), (-0x1C4FEF8, 5), (0x1EBE392, 3), (-0x162E3BC, 1), (0x1000000, 0)


def nearest(n):
    """Rounded to 24 significant bits, ties to even."""
    drop = max(abs(n).bit_length() - 24, 0)
    quotient, rest = divmod(abs(n), 1 << drop)
    quotient += 2 * rest + (quotient & 1) > 1 << drop
    return (quotient << drop) * (-1 if n < 0 else 1)


def widened(bits, dtype):
    """fp32 bits."""
    if dtype != "float16":
        return bits << (16 if dtype == "bfloat16" else 0)
    sign, exponent, fraction = (bits & 0x8000) << 16, bits >> 10 & 31, bits & 1023
    if exponent == 0 and fraction:
        shift = 11 - fraction.bit_length()
        exponent, fraction = 1 - shift, (fraction << shift) & 1023
    elif exponent == 0:
        return sign
    return sign | (255 if exponent == 31 else exponent + 112) << 23 | fraction << 13


def value(bits):
    exponent, fraction = bits >> 23 & 255, bits & 0x7FFFFF
    magnitude = fraction if exponent == 0 else (fraction | 1 << 23) << (exponent - 1)
    return -magnitude if bits >> 31 else magnitude


@cache
def weight(d):
    steps = nearest(max(nearest(d), -28 << UNIT) * -12102203) >> UNIT
    f, q = (steps & 0x7FFFFF) << (UNIT - 23), 0
    for coefficient, exponent in COEFFICIENTS:
        q = nearest((nearest(q * f) >> UNIT) + (coefficient << (UNIT - 24 - exponent)))
    return (q >> (UNIT - 24)) << 16 >> (steps >> 23)


def expanded(text):
    """'3f80 0000*2' -> 3f80 0000 0000, as integers."""
    for item in text.split():
        pattern, _, count = item.partition("*")
        yield from [int(pattern, 16)] * int(count or 1)


def indices(text):
    """'7 2-4' -> 7 2 3 4."""
    for item in text.split():
        first, _, last = item.partition("-")
        yield from range(int(first), int(last or first) + 1)


def answer(vector):
    """The kept tokens in order, and the cut."""
    rows = [widened(bits, vector["dtype"]) for bits in expanded(vector["logits"])]
    eligible = [i for i, bits in enumerate(rows) if bits & 0x7FFFFFFF <= 0x7F800000 and bits != 0xFF800000]
    keys = [bits ^ (0xFFFFFFFF if bits >> 31 else 1 << 31) if bits << 1 & 0xFFFFFFFF else 1 << 31 for bits in rows]
    order = sorted(eligible, key=lambda i: (-keys[i], i))
    k, p = vector["k"], vector["p"] and int(vector["p"], 16)
    if k is not None and 0 < k < len(rows):
        order = order[:k]
    if not order:
        return [], {"key": "ffffffff", "index": -1, "count": 0, "mass": 0, "total": 0}
    most = value(rows[order[0]])
    weights = [weight(value(rows[i]) - most) for i in order]
    total = sum(weights)
    if p is not None and p & 0x7FFFFFFF <= 0x7F800000 and value(p) < 1 << UNIT:
        target = max(1, -(-value(p) * total >> UNIT))
        count = next(n for n, mass in enumerate(accumulate(weights), 1) if mass >= target)
        order, weights = order[:count], weights[:count]
    cut = {"key": f"{keys[order[-1]]:08x}", "index": order[-1]}
    return order, {**cut, "count": len(order), "mass": sum(weights), "total": total}


def check(vector):
    """What is wrong with a vector, or None."""
    order, cut = answer(vector)
    right = [len(list(expanded(vector["logits"]))), sorted(order), order, cut]
    found = [vector["vocab"], list(indices(vector["kept"])), list(indices(vector["order"])), vector["cut"]]
    return None if found == right else f"{vector['name']}: expected vocab, kept, order, cut {right}, found {found}"


if __name__ == "__main__":
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            found = [check(vector) for vector in json.load(file)["vectors"]]
        print(f"{path}: {len(found)} vectors", *filter(None, found), sep="\n")
