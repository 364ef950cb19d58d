"""Measure which figures suit this machine's GPU: tiles, warps, and how many programs share the work.

One figure after the other is given other values, all of which take turns with the figures in use on rows made for it. A
value stays where it is faster by more than 2 % on some rows, slower by more than 2 % on none, and so twice; and only if
it gives the same bits. --json FILE writes the result as an entry, with where it comes from; with it in the package's
folder `tuned`, as ARCHITECTURE.json, plans are made from it. Nothing else puts figures in force.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from qrita.cli.counting import counted
from qrita.cli.exits import FAILED, INTERRUPTED, PASSED, UsageError
from qrita.cli.interrupts import ending_at_once

if TYPE_CHECKING:
    from qrita.bench.tuner import Measure, Step
    from qrita.cli.screen import Screen
    from qrita.device import Device
    from qrita.entries import Entry, Provenance
    from qrita.tuning import Tuning

HELP = "measure which tiles, warps and programs suit this GPU, and write them down"
REPEATS = 15
FIGURES = (
    *("tile", "warps", "small_k_splits", "many_rows_splits", "few_rows_splits", "many_rows", "streaming"),
    *("select_warps", "bracket_warps", "settle_warps", "sample", "programs", "row_tile", "row_warps", "row_programs"),
)
"""As in `qrita.bench.tuner`, known here without importing it, so that help comes at once."""


@dataclass(frozen=True)
class _Tuned:
    """What a run has so far."""

    device: Device
    provenance: Provenance
    figures: Tuning
    steps: tuple[Step, ...] = ()

    @property
    def entry(self) -> Entry:
        from qrita.bench import text
        from qrita.entries import Entry

        said = (*self.provenance.compared, *(line for step in self.steps for line in text.compared(step)))
        return Entry(self.device.architecture, self.figures, replace(self.provenance, compared=said))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write the figures there after each that was tried; a run starts from those that the file has",
    )
    parser.add_argument(
        "--figure", metavar="NAME", help=f"try these alone, with commas between them, of {', '.join(FIGURES)}"
    )
    parser.add_argument(
        "--repeats", type=_positive, default=REPEATS, metavar="N", help=f"of each time (default: {REPEATS})"
    )
    parser.add_argument("--seconds", type=_positive, metavar="N", help="measure nothing after that time")
    parser.add_argument("--device", default="cuda", help="torch's name of the GPU (default: cuda)")


def run(args: argparse.Namespace) -> int:
    """Tune, report, and return the exit status."""
    fields = _fields(args.figure)
    with ending_at_once():
        from qrita import device as features
        from qrita.bench import gpu, running, surroundings, trying

        try:
            device = surroundings.gpu(args.device)
        except surroundings.NoGpuError as error:
            raise UsageError(str(error)) from None
        card = features.of(device)
        provenance = surroundings.provenance(device, shlex.join(["qrita", *sys.argv[1:]]), ())
        tuned, origin = _start(args.json, card, provenance)
    from qrita.cli.screen import Screen

    screen = Screen()
    screen.say(
        f"qrita tune: {counted(len(fields), 'figures')} on {card.name} ({card.architecture}), from figures {origin}; "
        "first calls compile; Ctrl-C ends it with a report"
    )
    with running.settled(device) as machine:
        measure = trying.measure_with(gpu.GraphTimer(), machine, args.repeats)
        tuned, interrupted = _tuned(tuned, fields, measure, running.deadline(args.seconds), args.json, screen)
    return _report(tuned, fields, args.json, interrupted, screen)


def _fields(given: str | None) -> list[str]:
    if given is None:
        return [*FIGURES]
    found = [name.strip() for name in given.split(",") if name.strip()]
    for name in found or [given]:
        if name not in FIGURES:
            raise UsageError(f"argument --figure: {name!r}: expected some of {', '.join(FIGURES)}")
    return found


def _start(file: Path | None, card: Device, provenance: Provenance) -> tuple[_Tuned, str]:
    """What a run starts with, and where its figures come from.

    Raises:
        UsageError: the file has no entry that this run can go on from, or cannot be written.
    """
    from qrita import entries
    from qrita.tuning import TuningError

    try:
        if file is not None and file.is_file() and (text := file.read_text(encoding="utf-8")).strip():
            before = entries.parse(text, card.architecture)
            for name in ("card", "torch", "triton", "sources"):
                was, now = getattr(before.provenance, name), getattr(provenance, name)
                if was != now:
                    raise TuningError(
                        f"it was made with {name} {was!r}, this is {now!r}; name another file or remove it"
                    )
            provenance = replace(provenance, compared=before.provenance.compared)
            return _Tuned(card, provenance, before.figures), f"of {str(file)!r}"
        if file is not None:
            file.touch()
    except (OSError, ValueError) as error:
        raise UsageError(f"argument --json: {str(file)!r}: {error}") from None
    try:
        figures, origin = entries.in_force(card)
    except TuningError as error:
        raise UsageError(str(error)) from None
    return _Tuned(card, provenance, figures), origin


def _tuned(
    tuned: _Tuned, fields: list[str], measure: Measure, over: Callable[[], bool], file: Path | None, screen: Screen
) -> tuple[_Tuned, bool]:
    """What came of the figures, and whether a person ended it."""
    from qrita.bench import text, tuner

    try:
        for step in tuner.steps(fields, tuned.figures, tuned.device, measure, over):
            tuned = replace(tuned, figures=step.figures, steps=(*tuned.steps, step))
            for line in text.compared(step):
                screen.say(f"  {line}")
            for line in text.left_out(step):
                screen.say(f"  NOT RUN: {line}")
            if file is not None:
                _write(file, tuned.entry)
    except KeyboardInterrupt:
        return tuned, True
    return tuned, False


def _write(file: Path, entry: Entry) -> None:
    """In one step, so that a run that is ended leaves all that it has done."""
    draft = file.with_name(f"{file.name}.new")
    draft.write_text(entry.to_json(), encoding="utf-8")
    draft.replace(file)


def _report(tuned: _Tuned, fields: list[str], file: Path | None, interrupted: bool, screen: Screen) -> int:
    from qrita.bench import text
    from qrita.entries import FOLDER

    steps = tuned.steps
    if steps:
        screen.say()
        for line in text.aligned([text.TRIED, *(row for step in steps for row in text.tried(step))]):
            screen.say(line, style="bold red" if "OTHER BITS" in line else "")
    missing = [line for step in steps for line in text.left_out(step)]
    for title, said in (("not run:", missing), ("figures:", [str(tuned.figures)])):
        if said:
            screen.say(f"\n{title}")
            for line in said:
                screen.say(f"  {line}")
    left = fields[len(steps) :]
    if left:
        screen.say(f"\n{counted(len(left), 'figures')} left; `--figure {','.join(left)}` with the same --json goes on")
    if file is not None and steps:
        place = resources.files("qrita") / FOLDER / f"{tuned.device.architecture}.json"
        screen.say(f"\nwrote {file}; with it as {place} plans are made from it")
    kept = sum(step.kept for step in steps)
    different = any(trial.different for step in steps for trial in step.trials)
    ended = ", INTERRUPTED" if interrupted else ""
    wrong = ", OTHER BITS FOUND: that is a bug" if different else ""
    screen.say(
        f"\nqrita tune{ended}: {counted(len(steps), 'figures')} tried, {kept} changed{wrong}; {tuned.provenance.card} "
        f"({tuned.device.architecture})",
        style="bold",
    )
    return INTERRUPTED if interrupted else FAILED if left or different or _blind(steps) else PASSED


def _blind(steps: tuple[Step, ...]) -> bool:
    """Whether some job had no time with the figures in use, so that nothing is known of it."""
    return any(step.failed for step in steps)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number of at least 1")
    return int(text)
