"""Merge what lanes report into a Markdown summary, an HTML page, or JUnit XML."""

from qrita.report.command import HELP, add_arguments, run  # there, since it also runs without torch: ci/report.py

__all__ = ["HELP", "add_arguments", "run"]
