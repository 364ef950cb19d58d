"""The sweep: one outcome a property and case, whatever the subject does."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from planted_rows import RowEngine, one_more

from qrita.records import Cuts, Problem
from qrita.testing import subjects
from qrita.testing.building import Case
from qrita.testing.invariance import NotRun
from qrita.testing.properties import PROPERTIES, Mismatch, Property
from qrita.testing.recipes import Recipe, build, seeded
from qrita.testing.subjects import Subject
from qrita.testing.sweep import sweep
from qrita.torch_engine import TorchEngine

WRONG = Recipe("normal", 100, "bfloat16", k=5)


@dataclass(frozen=True)
class Crashes(TorchEngine):
    def cuts(self, problem: Problem) -> Cuts:
        raise RuntimeError("out of registers")


def test_outcomes_come_in_order() -> None:
    recipes = list(seeded(3, max_vocab=50))
    outcomes = list(sweep(subjects.named("torch"), recipes, ["cut", PROPERTIES["mask"]]))
    assert [(o.property, o.case.recipe) for o in outcomes] == [(n, r) for r in recipes for n in ("cut", "mask")]
    assert {(o.status, o.message) for o in outcomes} == {("passed", "")}


def test_all_properties_are_the_default() -> None:
    assert [o.property for o in sweep(subjects.named("torch"), [WRONG])] == list(PROPERTIES)


def test_a_failure_does_not_end_it() -> None:
    outcomes = list(sweep(Subject("off", RowEngine(one_more)), [WRONG, Recipe("equal", 1), WRONG], ["cut"]))
    assert [o.status for o in outcomes] == ["failed", "passed", "failed"]


def test_a_crash_is_no_mismatch() -> None:
    [outcome] = sweep(Subject("crashes", Crashes()), [WRONG], ["cut"])
    assert outcome.status == "crashed"
    assert "RuntimeError: out of registers" in outcome.message
    assert f"qrita replay '{WRONG.to_json()}'" in outcome.message


def test_what_cannot_be_tried_is_not_run() -> None:
    def impossible(subject: Subject, case: Case) -> str | None:
        raise NotRun("no such mode here")

    [outcome] = sweep(subjects.named("torch"), [WRONG], [Property("impossible", "none", impossible)])
    assert (outcome.status, outcome.message) == ("not run", "no such mode here")


def test_cases_without_a_recipe() -> None:
    case = Case(None, torch.tensor([1.0, 3.0, 3.0, 2.0]), 1, None, "four logits")
    [outcome] = sweep(Subject("off", RowEngine(one_more)), [case], ["cut"])
    assert "recipe:  four logits" in outcome.message
    assert "replay" not in outcome.message


def test_a_mismatch_says_everything() -> None:
    with pytest.raises(Mismatch) as raised:
        PROPERTIES["cut"].check(Subject("off", RowEngine(one_more)), build(WRONG))
    message = str(raised.value)
    sixth = build(Recipe("normal", 100, "bfloat16", k=6))
    token, oracle = sixth.answer.cut, build(WRONG).answer.cut
    for part in (
        "property 'cut' does not hold for 'off' on 'cpu'",
        "rule:    4 to 9, 12, 16: the cut of a row is the oracle's",
        f"token {token.index} (logit {sixth.logits[token.index].item()!r}, bits 0x{int(sixth.raw[token.index]):04x})",
        "should not be kept and is; 1 tokens differ",
        f"key 0x{oracle.key:08x}, index {oracle.index}, count 5",
        f"key 0x{token.key:08x}, index {token.index}, count 6",
        f"qrita replay '{WRONG.to_json()}'",
    ):
        assert part in message


def test_a_mismatch_of_a_subject_that_then_crashes() -> None:
    """The row alone cannot be asked for: the message still comes."""

    class CrashesAndMasks(Crashes):
        def mask(self, problem: Problem, mask_value: float, out: torch.Tensor) -> None:
            out.zero_()

    with pytest.raises(Mismatch, match="subject: raised RuntimeError: out of registers"):
        PROPERTIES["mask"].check(Subject("crashes", CrashesAndMasks()), build(WRONG))


@dataclass(frozen=True)
class DropsTheCut(TorchEngine):
    """Its mask lacks the last kept token; its cut and its candidates are right."""

    def mask(self, problem: Problem, mask_value: float, out: torch.Tensor) -> None:
        TorchEngine().mask(problem, mask_value, out)
        cuts = TorchEngine().cuts(problem)
        out[torch.arange(problem.rows), cuts.index.long()] = mask_value


@pytest.mark.parametrize("name", ["mask", "mask_value", "one_answer", "batch", "stride", "in_place"])
def test_the_row_alone_is_not_called_right_where_its_mask_is_wrong(name: str) -> None:
    case, fifth = build(WRONG), build(WRONG).answer.cut
    with pytest.raises(Mismatch) as raised:
        PROPERTIES[name].check(Subject("drops", DropsTheCut()), case)
    (line,) = (line for line in str(raised.value).splitlines() if line.startswith("token: "))
    assert line.startswith(f"token:   alone, the row has the right cut and a wrong mask: token {fifth.index} (logit ")
    assert "got 0xff80" in line


def test_the_row_alone_is_right_where_both_are() -> None:
    with pytest.raises(Mismatch, match="token:   none: alone, the row has the right cut and the right mask"):
        Property("never", "none", lambda subject, case: "nothing").check(subjects.named("torch"), build(WRONG))


def test_the_row_alone_whose_mask_cannot_be_asked_for() -> None:
    class CannotMask(TorchEngine):
        def mask(self, problem: Problem, mask_value: float, out: torch.Tensor) -> None:
            raise RuntimeError("out of registers")

    with pytest.raises(Mismatch, match="its mask raised RuntimeError: out of registers"):
        Property("never", "none", lambda subject, case: "nothing").check(Subject("x", CannotMask()), build(WRONG))


def test_of_two_answers_neither_is_called_the_right_one() -> None:
    """The oracle is not asked by one_answer: here it is the mask that is wrong."""
    with pytest.raises(Mismatch) as raised:
        PROPERTIES["one_answer"].check(Subject("drops", DropsTheCut()), build(WRONG))
    found = str(raised.value).splitlines()[2]
    assert found.endswith(" is kept by the candidates and not by the mask; 1 token differs")
    assert "expected" not in found


def test_unknown_engine() -> None:
    with pytest.raises(ValueError, match="engine='tropic': expected"):
        subjects.named("tropic")
