"""Derive the table of sigma-truncation and write it to src/qrita/kernels/sigma_table.py.

Logits of a language model are roughly normal, so about n of V exceed mu + z * sigma where z = quantile(1 - n / V). The
kernel knows n / V as a power of two with a fraction, and interpolates between whole powers: one entry for each of
V / n = 2**0 .. 2**22, the longest row. The quantile of probability 1 is -infinity; -6 stands for it, below which a
normal row of 2**22 has no token to speak of. Only hits depend on the table, never the answer.
"""

from __future__ import annotations

from pathlib import Path
from statistics import NormalDist

TARGET = Path(__file__).parent.parent / "src/qrita/kernels/sigma_table.py"
HEAD = '''"""Standard normal quantiles for sigma-truncation. Written by ci/derive_sigma_table.py; change that, not this.

QUANTILES[x] is the z that a standard normal exceeds with probability 2**-x (x = 0 stands for "always": -6).
"""

import triton.language as tl

QUANTILES = tl.constexpr(
    (
'''


def table() -> str:
    """The file's text."""
    quantiles = [-6.0] + [NormalDist().inv_cdf(1 - 2.0**-x) for x in range(1, 23)]
    return HEAD + "".join(f"        {z:.4f},\n" for z in quantiles) + "    )\n)\n"


if __name__ == "__main__":
    TARGET.write_text(table(), encoding="utf-8")
