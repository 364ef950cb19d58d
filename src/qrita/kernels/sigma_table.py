"""Standard normal quantiles for sigma-truncation. Written by ci/derive_sigma_table.py; change that, not this.

QUANTILES[x] is the z that a standard normal exceeds with probability 2**-x (x = 0 stands for "always": -6).
"""

import triton.language as tl

QUANTILES = tl.constexpr(
    (
        -6.0000,
        0.0000,
        0.6745,
        1.1503,
        1.5341,
        1.8627,
        2.1539,
        2.4176,
        2.6601,
        2.8856,
        3.0973,
        3.2972,
        3.4871,
        3.6683,
        3.8419,
        4.0088,
        4.1696,
        4.3249,
        4.4753,
        4.6212,
        4.7630,
        4.9010,
        5.0354,
    )
)
