"""`qrita check --subject` and `qrita replay --subject`: implementations of others, judged by what they promise."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from qrita.cli import main, schedule
from qrita.cli.schedule import CORE, TURNS, Stage, Trial
from qrita.testing.foreign import worker
from qrita.testing.foreign.contract import Contract
from qrita.testing.foreign.peers import TORCH_SORT, TORCH_TOPK
from qrita.testing.recipes import Planted, Recipe

SOURCE = """
import os, time
from qrita.testing.foreign.contract import Contract
from qrita.testing.foreign.peers import sorted_mask

class Mine:
    contract = Contract(ties="lowest index first", tensors=True)
    versions = {"mine": "1.2"}

    def mask(self, logits, k, p):
        if logits.shape[-1] == 7:
            time.sleep(1000)
        if logits.shape[-1] == 8:
            os.abort()
        if logits.shape[-1] == 9:
            logits[0, 0] = 1.0
        if logits.shape[-1] == 10:
            return logits.double()
        if logits.shape[-1] == 11:
            raise RuntimeError("eleven")
        return sorted_mask(logits, k if k is None or logits.shape[-1] < 12 else k + 1, p)

def right(logits, k, p):
    return sorted_mask(logits, k, p)

def asked(logits, k, p):
    open("asked", "w").close()
    return sorted_mask(logits, k, p)
"""
PATIENCE = 100.0
"""Seconds for what takes a moment on a machine that has nothing else to do."""
HANGS = 7
"""The vocabulary with which the subject above never answers."""

NAN = Recipe("normal", 6, planted=(Planted(1, 0x7FC00000),))
ITEMS = (*(Recipe("normal", vocab, k=3, seed=1) for vocab in range(6, 12)), Recipe("normal", 200, k=3), NAN)


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A subject with a failure of every kind, and a check that meets each once.

    Only what never answers is waited for in vain, and not as long as the command says. A slow machine is no hang.
    """
    exchange = worker.Worker._exchange

    def impatient(self: worker.Worker, request: worker.Request, seconds: float) -> Any:
        hangs = isinstance(request[1], Recipe) and request[1].vocab == HANGS
        return exchange(self, request, seconds / 60 if hangs else seconds)

    monkeypatch.setattr(worker.Worker, "_exchange", impatient)
    (tmp_path / "mine.py").write_text(SOURCE, encoding="utf-8")
    stage = Stage("recipes", "some", tuple(Trial(item, ("mask",)) for item in ITEMS))
    monkeypatch.setattr(schedule, "stages", lambda **_: (stage,))
    monkeypatch.setattr(worker, "TRIES", 2)  # each costs a process
    return tmp_path


def test_every_kind_of_failure_is_told_apart(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = mine / "verdict.json"
    chosen = ["--subject", "mine:Mine", "--subject-path", str(mine), "--subject-timeout", "90"]
    assert main(["check", *chosen, "--json", str(out), "--failures", str(mine / "failures")]) == 1
    said = capsys.readouterr().out
    for text in (
        "qrita check: subject mine:Mine on cpu; Ctrl-C ends it with a verdict",
        "mask (hung)\n  mask: no answer within 1.5 s, 2 times\n",
        "mask (raised)\n  mask: the process was killed by SIGABRT",
        "mask (input changed)\n  mask: the input logits has changed at [0, 0], in 1 places\n",
        "mask (wrong form)\n  mask: mask: expected float32 [1, 10] on cpu, got float64 [1, 10] on",
        "RuntimeError: eleven",
        "FAILED, 6 of 8 cases failed",
        "  subject    mine:Mine on cpu",
        "  promised   mask; float32; k then p; ties by lowest index; p within 1e-06 + 2.38e-07 * sqrt(vocab)",
        "  versions   mine 1.2, qrita ",
        "  checks     7 comparisons, by its contract, by 1 property",
        "times: the subject's process hung or ended",
        "  mask                      1        6             1        0  crashed 2, hung 1, input changed 1, ",
        "  cut                       0        0             8        0  cuts are not among its outputs\n",
    ):
        assert text in said
    found = json.loads(out.read_text(encoding="utf-8"))
    assert (found["format"], found["verdict"], found["checks"]) == (2, "failed", 7)
    assert found["surroundings"]["subject"] == "mine:Mine"
    assert found["surroundings"]["contract"]["ties"] == "lowest index first"
    assert found["properties"]["mask"] == {
        "passed": 1,
        "faults": {"failed": 1, "crashed": 2, "hung": 1, "input changed": 1, "wrong form": 1},
        "not_promised": 1,
        "not_run": 0,
        "reasons": {"NaN": 1},
    }
    minimal = {(case["property"], case["status"]): case for case in found["minimal"]}
    assert minimal["mask", "hung"]["case"]["vocab"] == HANGS
    assert not minimal["mask", "hung"]["shrunk"]
    assert minimal["mask", "failed"]["case"]["vocab"] < 30
    assert minimal["mask", "failed"]["shrunk"]
    assert (
        f"replay --subject mine:Mine --subject-path {mine} --subject-timeout 90 " in minimal["mask", "failed"]["replay"]
    )
    records = sorted(file.name for file in (mine / "failures").iterdir())
    assert len(records) == 6
    assert main(["replay", *chosen, json.dumps(minimal["mask", "failed"]["case"])]) == 1
    said = capsys.readouterr().out
    for text in (
        "subject mine:Mine on cpu",
        "subject count ",
        "FAILED  mask: ",
        "not promised cut: cuts are not among",
    ):
        assert text in said


def test_a_function_without_a_contract_is_held_to_the_least(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--subject", "mine:right", "--subject-path", str(mine / "mine.py")]) == 0
    said = capsys.readouterr().out
    assert "PASSED, 8 cases" in said
    assert "  promised   mask; float32; k then p; of ties any number of them; " in said


def test_torch_sort_keeps_its_promises(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--quick", "--recipes", "40", "--max-vocab", "300", "--subject", "torch-sort"]) == 0
    said = capsys.readouterr().out
    assert "PASSED, 88 cases" in said
    assert "  called     torch.sort(descending=True, stable=True)" in said


def test_nothing_promised_of_all_that_was_tried_is_no_pass(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage("recipes", "one", (Trial(NAN, ("mask",)),))
    monkeypatch.setattr(schedule, "stages", lambda **_: (stage,))
    assert main(["check", "--subject", "mine:right", "--subject-path", str(mine)]) == 1


def test_control_c_reaches_the_one_who_asks_alone(tmp_path: Path) -> None:
    """It goes to every process of a terminal: the subject's goes on until it is ended, and says nothing."""
    (tmp_path / "mine.py").write_text(SOURCE, encoding="utf-8")
    command = [sys.executable, "-m", "qrita", "check", "--subject", "mine:asked", "--json", "json"]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        cwd=tmp_path,
        start_new_session=True,
    ) as process:
        end = time.monotonic() + PATIENCE
        while not (tmp_path / "asked").exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (130, "")
    assert "Ctrl-C ends it with a verdict" in out
    assert "qrita check: INTERRUPTED, " in out
    assert json.loads((tmp_path / "json").read_text(encoding="utf-8"))["verdict"] == "interrupted"


# --- what is tried ----------------------------------------------------------------------------------------------


def test_what_a_contract_does_not_speak_of_is_not_scheduled() -> None:
    assert schedule.core(None) == CORE
    assert schedule.turns(None) == TURNS
    assert schedule.core(TORCH_SORT) == ("mask",)
    assert schedule.core(TORCH_TOPK) == ("candidates",)
    assert "nested_in_p" not in schedule.turns(TORCH_TOPK)
    assert schedule.core(Contract(outputs=("mask in place",))) == ("batch",)


def test_rows_are_those_that_a_contract_speaks_of() -> None:
    for stage in schedule.stages(recipes=60, seed=0, max_vocab=64, quick=False, contract=TORCH_TOPK):
        assert {trial.item.p for trial in stage.trials} == {None}
        assert len({trial.item.k for trial in stage.trials}) > 3
    for stage in schedule.stages(recipes=60, seed=0, max_vocab=64, quick=True, contract=Contract(max_vocab=20)):
        assert {trial.item.dtype for trial in stage.trials} == {"float32"}
    assert max(trial.item.vocab for trial in stage.trials) <= 20
