"""Ctrl-C before there is anything to report."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from qrita.cli.exits import INTERRUPTED

MESSAGE = "qrita: interrupted"


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Ctrl-C ends the program, where a KeyboardInterrupt may not.

    Python drops one that is raised in a `__del__`, as at the end of numpy.load. Torch and numpy catch one in parts of
    their import, stay half imported, and fail later in other ways.
    """
    if threading.current_thread() is not threading.main_thread():  # which alone may set handlers
        yield
        return
    before = signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, f"{MESSAGE}\n".encode())  # sys.stderr may be in use; a Screen has flushed what it said
    os._exit(INTERRUPTED)
