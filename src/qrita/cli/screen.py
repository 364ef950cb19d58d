"""Writing for people: colours and a moving bar on a terminal, plain lines everywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

SECONDS_BETWEEN_LINES = 10.0

Advance = Callable[[int], None]
"""Called after each case with the number of failures so far."""


class Screen(Console):
    """A console that leaves lines whole, so that commands can be copied, and lets a broken pipe through."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(file=sys.stderr if stderr else sys.stdout, highlight=False, markup=False, emoji=False)

    def say(self, text: str = "", style: str = "") -> None:
        """One line, as long as it is."""
        self.print(Text(text, style=style), soft_wrap=True)

    def on_broken_pipe(self) -> None:
        """Leave it to the command."""
        raise  # noqa: PLE0704  rich calls this while it handles the BrokenPipeError


@contextmanager
def progress(screen: Screen, name: str, total: int) -> Iterator[Advance]:
    """Show how far a stage is."""
    if screen.file.isatty() and not screen.is_dumb_terminal:  # is_terminal is also true where colours are forced
        with _bar(screen) as bar:
            task = bar.add_task(name, total=total, failed="")
            yield lambda failed: bar.update(task, advance=1, failed=f"{failed:,} failed" if failed else "")
    else:
        yield _plain(screen, name, total)


def _bar(screen: Screen) -> Progress:
    return Progress(
        TextColumn("{task.description:<10}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[failed]}", style="bold red"),
        console=screen,
        transient=True,
    )


def _plain(screen: Screen, name: str, total: int) -> Advance:
    """A line at the start, at the end, and every few seconds in between."""
    done, spoken = 0, time.monotonic()

    def report(failed: int) -> None:
        nonlocal spoken
        spoken = time.monotonic()
        screen.say(f"{name}: {done:,} of {total:,}" + (f", {failed:,} failed" if failed else ""))

    def advance(failed: int) -> None:
        nonlocal done
        done += 1
        if done == total or time.monotonic() - spoken > SECONDS_BETWEEN_LINES:
            report(failed)

    return advance
