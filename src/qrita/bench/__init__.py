"""Measuring: what `qrita bench` does. Times are compared inside one job only: contenders take turns, call by call."""
