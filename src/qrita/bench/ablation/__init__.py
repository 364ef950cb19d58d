"""The paper's ablation: its runs A to J on our kernels, what they take, and how often truncation by sigma hits.

Some runs are inexact on purpose. They live here and nowhere else: nothing outside `qrita.bench` imports this folder, no
plan leads to its kernels, and every table labels them.
"""
