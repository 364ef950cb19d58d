"""The property suite: rows made from recipes, properties of an implementation, and subjects to try them on.

`recipes` makes rows, `subjects` says what is under test, `properties` says what must hold, `sweep` tries one on the
other. Only `strategies` and `profiles` need hypothesis (the extra `qrita[testing]`).
"""
