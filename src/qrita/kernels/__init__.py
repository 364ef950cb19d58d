"""The Triton kernels: order and weight (what a logit is worth), truncate, search, select, emit (what happens to a row).

Kernels see logits as raw integer words, so that kept bits are copied and no conversion can touch them, and the k and p
of all rows through `rows.top_k` and `rows.top_p`, so that no launch depends on their values or dtypes.
"""
