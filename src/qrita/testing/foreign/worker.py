"""One process that a foreign subject runs in: killed and started again when it hangs or dies.

What is tried travels there as a record of a few words (a recipe), and what came of it travels back; so a process that
dies takes nothing with it. A try that ends with the process is made again on the next one. What ends it three times is
a failure of the subject, kept as it is: making it smaller would cost as long again each time.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from qrita.testing.building import Case
from qrita.testing.foreign.loading import SubjectError
from qrita.testing.sweep import Outcome, Status
from qrita.testing.testers import Answer, Described, Item

TRIES = 3
"""How often a property is tried on a case before what ends its process is held against the subject.

Once it is known to hang, other cases of the same property are believed the first time: each costs the time limit.
"""

START_SECONDS = 120.0
"""For a process to import what it is to test."""

WARM_SECONDS = 300.0
"""For it to compile, on a GPU, before anything is timed."""

KILL_SECONDS = 30.0
"""For a killed process to be gone: a driver may be slow to let go of one whose kernel never ends."""


Request = tuple[str, Item | None, str]
"""What is wanted ("warm", "try", "answer"), the case, and the property."""


class Hung(Exception):
    """No answer in time."""


class Died(Exception):
    """The process ended; says how."""


class Worker:
    """A subject in a process of its own.

    Attributes:
        described: the subject in words.
        restarts: how often the process ended before its time, or had to be ended; the next request starts another.
    """

    def __init__(self, name: str, path: str | None = None, seconds: float = 60.0) -> None:
        """Start the process and load the subject.

        Args:
            name, path: as in `loading.load`.
            seconds: for one property on one case, after which the process counts as hung.

        Raises:
            SubjectError: it cannot be loaded.
        """
        self._name, self._path, self._seconds = name, path, seconds
        self._folder = tempfile.TemporaryDirectory(prefix="qrita-subject-", ignore_cleanup_errors=True)
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None
        self._hanging: set[str] = set()
        self.restarts = 0
        try:
            self.described = self._start()
            self._warm()
        except BaseException as error:
            self.close()
            if isinstance(error, Died | Hung):
                raise SubjectError(f"{name!r} cannot be loaded: {error}") from None
            raise

    @property
    def pid(self) -> int | None:
        """The process that runs now, if one does."""
        return None if self._process is None else self._process.pid

    def outcome(self, item: Item, case: Case, name: str) -> Outcome:
        """What became of one property on a case."""
        status, message = self._ask(("try", item, name), 1 if name in self._hanging else TRIES)
        if status == "hung":
            self._hanging.add(name)
        return Outcome(name, case, status, message)

    def answer(self, item: Item, case: Case) -> Answer:
        """What the subject says of a case."""
        found = self._ask(("answer", item, ""), 1)
        return found if isinstance(found, Answer) else Answer(found[1], found[1])

    def close(self) -> None:
        """End the process."""
        self._kill()
        self._folder.cleanup()

    def _ask(self, request: Request, tries: int) -> Any:
        """The reply to a request; (status, message) of what ended every process that was asked."""
        end: tuple[Status, str] = ("crashed", "")
        often = "once" if tries == 1 else f"{tries} times"
        for _ in range(tries):
            try:
                if self._process is None:
                    self._start()
                found, usable = self._exchange(request, self._seconds)
                if not usable:
                    self._kill()
                    self.restarts += 1
                return found
            except Hung as hung:
                end = ("hung", f"{hung}, {often}")
            except (Died, SubjectError) as died:
                end = ("crashed", f"{died}, {often}")
            self._kill()
            self.restarts += 1
        return end

    def _warm(self) -> None:
        """Have it compile. What goes wrong is left to the tries, which tell of it."""
        if not self.described.device.startswith("cuda"):
            return
        try:
            self._exchange(("warm", None, ""), WARM_SECONDS)
        except (Hung, Died):
            self._kill()
            self.restarts += 1

    def _exchange(self, request: Request, seconds: float) -> Any:
        assert self._connection is not None
        try:
            self._connection.send(request)
        except OSError:
            raise Died(self._last_words()) from None
        return self._receive(seconds)

    def _start(self) -> Described:
        """Start a process and hear from it.

        Raises:
            Died, Hung: it did not get that far.
            SubjectError: it says why the subject cannot be loaded.
        """
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, self._name, self._path, str(self._log)), daemon=True, name="qrita subject"
        )
        with _ignoring_interrupts():
            self._process.start()
        theirs.close()
        loaded = self._receive(max(START_SECONDS, self._seconds))
        if isinstance(loaded, Described):
            return loaded
        self._kill()
        raise SubjectError(loaded)

    @property
    def _log(self) -> Path:
        """Where what the process prints goes."""
        return Path(self._folder.name) / "output"

    def _receive(self, seconds: float) -> Any:
        assert self._connection is not None
        try:
            if self._connection.poll(seconds):
                return self._connection.recv()
        except (EOFError, OSError):
            raise Died(self._last_words()) from None
        raise Hung(f"no answer within {seconds:g} s")

    def _last_words(self) -> str:
        """How the process ended, and the last line that it printed."""
        assert self._process is not None
        self._process.join(10)
        code = self._process.exitcode
        how = f"exited with status {code}"
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
        lines = self._log.read_text("utf-8", "replace").split("\n") if self._log.exists() else []
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"the process {how}" + (f" ({said:.200})" if said else "")

    def _kill(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.join(KILL_SECONDS)
            if self._process.exitcode is not None:
                self._process.close()
        self._process = self._connection = None


# --- in the process ----------------------------------------------------------------------------------------------


def _serve(connection: Connection, name: str, path: str | None, log: str) -> None:
    """Load the subject and try what is asked for, until nobody asks."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    from qrita.testing.foreign.serving import serve  # imports the subject's world only now

    serve(connection, name, path)


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """What is started here ignores Ctrl-C from its first moment on: that is for the one who asks."""
    if threading.current_thread() is not threading.main_thread():  # which alone may set handlers
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end_with_parent() -> None:
    """A hung process must not outlive the one that would kill it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
