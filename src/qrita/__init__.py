"""Exact, deterministic top-k / top-p truncation of LLM logits: the same answer on every device.

docs/semantics.md is the contract. The public names are these and no others.
"""

from qrita.api import candidates, top_k_top_p, top_k_top_p_, warmup
from qrita.records import Candidates

__version__ = "0.1.0"
__all__ = ["Candidates", "__version__", "candidates", "top_k_top_p", "top_k_top_p_", "warmup"]
