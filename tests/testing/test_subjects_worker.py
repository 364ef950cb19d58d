"""The process of a foreign subject: it may hang, die, or be killed, and nothing else is lost."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from torch import Tensor

from qrita import reference
from qrita.testing.foreign import serving, worker
from qrita.testing.foreign.implementation import Implementation
from qrita.testing.foreign.loading import SubjectError, load
from qrita.testing.foreign.worker import TRIES, Worker
from qrita.testing.recipes import Recipe, build
from qrita.testing.sweep import Outcome

SEVEN = Recipe("equal", 7, k=3)
"""What the planted subjects trip over."""
EIGHT = Recipe("equal", 8, k=3)


def outcome(tester: Worker, recipe: Recipe, name: str = "mask") -> Outcome:
    return tester.outcome(recipe, build(recipe), name)


@pytest.fixture(scope="module")
def right() -> Iterator[Worker]:
    with closing(Worker("planted_subjects:Masks", seconds=60)) as found:
        yield found


def test_says_what_it_is(right: Worker) -> None:
    said = right.described
    assert (said.name, said.device) == ("planted_subjects:Masks", "cpu")
    assert said.contract is not None
    assert said.contract.ties == "lowest index first"


def test_outcomes_are_those_of_this_process(right: Worker) -> None:
    assert outcome(right, SEVEN).status == "passed"
    assert outcome(right, SEVEN, "cut").status == "not promised"
    assert outcome(right, SEVEN, "cut").message == "cuts are not among its outputs"
    assert outcome(right, SEVEN).case.recipe == SEVEN


def test_answers(right: Worker) -> None:
    answer = right.answer(SEVEN, build(SEVEN))
    assert isinstance(answer.kept, np.ndarray)
    assert answer.kept.tolist() == reference.kept(build(SEVEN).answer).tolist()
    assert answer.cut == "none: cuts are not among its outputs"


def test_killed_from_outside_loses_nothing(right: Worker) -> None:
    before = right.restarts
    for recipe in (SEVEN, EIGHT, Recipe("normal", 100, k=5, p=0.5)):
        assert right.pid is not None
        os.kill(right.pid, signal.SIGKILL)
        assert outcome(right, recipe).status == "passed"
    assert right.restarts == before + 3


def test_an_engine_of_ones_own() -> None:
    with closing(Worker("planted_bugs:RowEngine")) as tester:
        assert tester.described.contract is None
        assert [outcome(tester, SEVEN, name).status for name in ("cut", "candidates", "batch")] == ["passed"] * 3
        assert tester.answer(SEVEN, build(SEVEN)).cut == build(SEVEN).answer.cut


def test_a_hang_is_found_after_three_tries() -> None:
    with closing(Worker("planted_subjects:Hangs", seconds=1.0)) as tester:
        start = time.monotonic()
        found = outcome(tester, SEVEN)
        assert found.status == "hung"
        assert found.message == f"no answer within 1 s, {TRIES} times"
        assert time.monotonic() - start >= TRIES * 1.0
        assert tester.restarts == TRIES
        assert outcome(tester, EIGHT).status == "passed"
        again = outcome(tester, SEVEN)
        assert (again.status, again.message) == ("hung", "no answer within 1 s, once")
        assert tester.restarts == TRIES + 1


def test_a_hang_that_does_not_come_again_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_ONCE", str(tmp_path / "once"))
    with closing(Worker("planted_subjects:HangsOnce", seconds=5.0)) as tester:
        assert outcome(tester, SEVEN).status == "passed"
        assert tester.restarts == 1


def test_what_compiles_is_warmed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every number of arguments, of rows and of alignments; and a warm-up that does not end is no failure yet."""
    calls = []
    subject = load("planted_subjects:Masks", None)
    assert isinstance(subject, Implementation)

    def counting(logits: Tensor, k: object, p: object) -> Tensor:
        calls.append((*logits.shape, k, p))
        return logits

    serving._warm(replace(subject, mask=counting))
    assert {*calls} == {
        (rows, vocab, *setting)
        for rows in (1, 2, 65)
        for vocab in (4096, 1001)
        for setting in ((5, None), (5, 0.5), (None, 0.5))
    }
    with closing(Worker("planted_subjects:HangsWhenWarmed")) as tester:
        tester.described = replace(tester.described, device="cuda")
        monkeypatch.setattr(worker, "WARM_SECONDS", 2.0)
        tester._warm()
        assert outcome(tester, EIGHT).status == "passed"
        assert tester.restarts == 1


def test_death_is_a_crash_with_its_signal_and_last_words() -> None:
    with closing(Worker("planted_subjects:Aborts")) as tester:
        found = outcome(tester, SEVEN)
        assert found.status == "crashed"
        assert found.message == f"the process was killed by SIGABRT (out of patience), {TRIES} times"
        assert outcome(tester, EIGHT).status == "passed"


def test_sys_exit_is_a_crash_and_ends_nothing() -> None:
    with closing(Worker("planted_subjects:Exits")) as tester:
        found = outcome(tester, SEVEN)
        assert found.status == "crashed"
        assert "SystemExit: enough" in found.message
        assert outcome(tester, EIGHT).status == "passed"
        assert tester.restarts == 0


def test_an_exception_is_a_crash() -> None:
    with closing(Worker("planted_subjects:Raises")) as tester:
        found = outcome(tester, SEVEN)
        assert found.status == "crashed"
        assert "RuntimeError: no kernel for 7" in found.message
        assert tester.answer(SEVEN, build(SEVEN)).kept == "raised RuntimeError: no kernel for 7"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("import os; os._exit(3)", "cannot be loaded: the process exited with status 3"),
        ("import os; os.abort()", "cannot be loaded: the process was killed by SIGABRT"),
        ("import sys; sys.exit('no')", "cannot be loaded: raised SystemExit: no"),
        ("raise ValueError('not today')", "cannot be loaded: ValueError: not today"),
        ("import time; time.sleep(1000)", "cannot be loaded: no answer within 8 s"),
    ],
)
def test_a_module_that_cannot_be_imported(
    source: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "START_SECONDS", 8.0)
    (tmp_path / "broken_subject.py").write_text(source, encoding="utf-8")
    before = multiprocessing.active_children()
    with pytest.raises(SubjectError) as caught:
        Worker("broken_subject:mask", str(tmp_path), seconds=1.0)
    assert says in str(caught.value)
    assert multiprocessing.active_children() == before


def test_what_it_prints_stays_out_of_the_way(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "def mask(logits, k, p):\n    print('hello')\n    return logits.clone()\n"
    (tmp_path / "chatty_subject.py").write_text(source, encoding="utf-8")
    with closing(Worker("chatty_subject:mask", str(tmp_path / "chatty_subject.py"))) as tester:
        assert outcome(tester, Recipe("equal", 5)).status == "passed"
    assert capfd.readouterr() == ("", "")


def test_it_ends_with_the_one_who_asks(tmp_path: Path) -> None:
    """Also while it hangs, and when the other is killed."""
    script = tmp_path / "asks.py"
    script.write_text(
        "from qrita.testing.foreign.worker import Worker\n"
        "from qrita.testing.recipes import Recipe, build\n"
        "if __name__ == '__main__':\n"
        "    tester = Worker('planted_subjects:Hangs', seconds=1000)\n"
        "    print(tester.pid, flush=True)\n"
        "    recipe = Recipe('equal', 7, k=3)\n"
        "    tester.outcome(recipe, build(recipe), 'mask')\n",
        encoding="utf-8",
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [*sys.path, str(Path(__file__).parent)]))}
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=env) as asks:
        assert asks.stdout is not None
        pid = int(asks.stdout.readline())
        time.sleep(1.0)
        asks.kill()
    deadline = time.monotonic() + 20.0
    while _alive(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _alive(pid)


def _alive(pid: int) -> bool:
    """Neither gone nor waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split()[2] != "Z"
    except FileNotFoundError:
        return False
