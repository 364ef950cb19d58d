"""What a lane was a run of: which implementation, and which part of the tests."""

from __future__ import annotations

import shlex

from qrita.report.lanes import Lane
from qrita.report.states import KILLED, NOT_RUN, REFUSED, UNREADABLE

_BY_ENVIRONMENT = {
    "cpu": "torch",
    "interpreter": "triton, interpreted",
    "compile": "triton",
    "sim": "triton, simulated",
    "cuda": "triton",
    "rocm": "triton",
}
"""The implementation by what stands before "-" in the name of an environment, or of an engine that is given."""
_CHOOSING = ("-k", "-m", "--deselect", "--ignore", "--recorded", "--property", "--lf", "-x", "--exitfirst", "--maxfail")
"""Options of pytest after which some tests are not run."""
_WITHOUT = {
    NOT_RUN: "the lane was not run",
    REFUSED: "the lane was refused",
    KILLED: "the lane never ended",
    UNREADABLE: "the report cannot be read",
}


def implementation(lane: Lane) -> str:
    """What was tested: the engine that its arguments name, else that of its environment; "" where it is unknown."""
    if lane.identity is None:
        return ""
    given = arguments(lane)
    for option, value in zip(given, (*given[1:], ""), strict=False):
        if option == "--engine" or option.startswith("--engine="):
            engine = option.partition("=")[2] or value
            return _BY_ENVIRONMENT.get(engine.partition("-")[0], engine)
    return _BY_ENVIRONMENT.get(lane.identity.environment.partition("-")[0], "")


def alike(lane: Lane, other: Lane) -> bool:
    """Whether what one lane shows says something of the other: the same implementation, be it simulated, or not known
    to be another."""
    one, two = (implementation(each).partition(",")[0] for each in (lane, other))
    return not one or not two or one == two


def arguments(lane: Lane) -> tuple[str, ...]:
    """Those of pytest that whoever ran the lane gave."""
    given = lane.identity.command.partition(" -- ")[2] if lane.identity else ""
    try:
        return tuple(shlex.split(given))
    except ValueError:  # another's text, which no shell would take
        return (given,)


def selection(lane: Lane) -> str:
    """The arguments, where they leave tests out; "" where the lane ran all that it has."""
    given = arguments(lane)
    names = (argument.partition("=")[0] for argument in given)
    paths = (not argument.startswith("-") and (".py" in argument or "::" in argument) for argument in given)
    chosen = any(name in _CHOOSING or name[:2] in ("-k", "-m") for name in names) or any(paths)
    return shlex.join(given) if chosen else ""


def why_not(lane: Lane, tests: tuple[str, ...]) -> str:
    """Why none of these tests was run on a lane, as far as that is known."""
    if lane.without != NOT_RUN or lane.identity is None:
        return _WITHOUT.get(lane.without, "")
    said = [lane.by_id[test].message for test in tests if test in lane.by_id and lane.by_id[test].message]
    if said:
        return said[0]
    chosen = selection(lane)
    return f"left out by {chosen}" if chosen else "no reason is recorded"
