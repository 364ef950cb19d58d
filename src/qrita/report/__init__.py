"""Merging what lanes report: which lanes ran, what passed on which, and what failed.

Everything that is needed for the Markdown summary is plain Python, without torch and without other packages, so that a
CI job that has neither can make it (`ci/report.py`).
"""
