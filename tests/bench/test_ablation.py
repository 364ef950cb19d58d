"""The runs of the ablation, their tables, and what may lead to them. No kernel runs here."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch
from bench_fakes import book, result

import qrita
from qrita.bench import text
from qrita.bench.ablation import tables
from qrita.bench.ablation.runs import BLOCK, JOB, RUNS, fixed, plan_of
from qrita.bench.jobs import Job
from qrita.bench.results import Book, Hits
from qrita.device import Device
from qrita.plan import TRUNCATIONS, Plan, choose
from qrita.records import Problem

H200 = Device("NVIDIA H200", "sm_90", 32, 132)
PROBLEM = Problem(torch.empty((JOB.rows, JOB.vocab), device="meta"), JOB.k, 0.9)
NAMED = {run.name: run for run in RUNS}
SOURCES = Path(qrita.__file__).parent


def test_the_paper_s_runs_are_there_in_its_order() -> None:
    assert "".join(run.name for run in RUNS if run.paper is not None) == "ABCDEFGIJ"
    assert [NAMED[name].paper for name in "AGJ"] == [0.919, 7.773, 16.487]
    assert (JOB.rows, JOB.vocab, JOB.k, JOB.p) == (1024, 128_256, 50, 0.9)


def test_what_is_not_exact_says_so() -> None:
    assert [run.name for run in RUNS if run.kind == "NOT EXACT"] == [*"CDEFG"]
    assert all(run.by == "bench" for run in RUNS if run.kind == "NOT EXACT")
    assert all(run.kind in run.words for run in RUNS)


def test_one_part_differs_from_run_to_run() -> None:
    """So that a ratio of two times is about that part."""
    for one, other, part in (
        ("A", "B", "tuned"),
        ("B-bench", "C", "duplicates"),
        ("C", "D", "truncation"),
        ("D", "E", "truncation"),
        ("C", "F", "search"),
        ("D", "G", "search"),
        ("C", "I", "search"),
        ("A", "miss", "truncation"),
        ("A", "none", "truncation"),
        ("A", "groups", "truncation"),
    ):
        parts = ("truncation", "search", "duplicates", "tuned", "by")
        differing = [name for name in parts if getattr(NAMED[one], name) != getattr(NAMED[other], name)]
        assert differing == [part]


@pytest.mark.parametrize("run", [run for run in RUNS if run.by != "torch"], ids=lambda run: run.name)
def test_plans(run: object) -> None:
    plan = plan_of(run, PROBLEM, H200)  # type: ignore[arg-type]
    chosen = choose(PROBLEM, H200)
    assert plan.truncation == {"hit": "sigma", "miss": "sigma"}.get(run.truncation, run.truncation)  # type: ignore[attr-defined]
    same = chosen if run.tuned else fixed(chosen, PROBLEM)  # type: ignore[attr-defined]
    assert replace(plan, truncation="none", hold=64) == replace(same, truncation="none", hold=64)
    # A split of a row that misses has room for one token.
    assert (plan.hold // plan.splits == 1) == (run.truncation == "miss")  # type: ignore[attr-defined]


@pytest.mark.parametrize("splits", [1, 3, 16, 17])
def test_a_forced_miss_fits_any_number_of_splits(splits: int) -> None:
    few = replace(PROBLEM, logits=torch.empty((1, splits * BLOCK), device="meta"))
    plan = plan_of(NAMED["D"], few, replace(H200, multiprocessors=1))
    assert plan.hold // plan.splits == 1


def test_fixed_blocks_are_one_for_all() -> None:
    plan = fixed(choose(PROBLEM, H200), PROBLEM)
    assert {plan.tile, plan.row_tile, plan.hold} == {BLOCK}
    assert len({plan.warps, plan.row_warps, plan.select_warps}) == 1


def test_no_plan_has_a_name_for_what_is_not_exact() -> None:
    assert TRUNCATIONS == ("groups", "sigma", "none")
    assert not {field.name for field in fields(Plan)} & {"duplicates", "search", "pivots"}


def imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_nothing_but_the_bench_imports_them() -> None:
    """What is not imported is not reached: neither by a plan, nor by an engine, nor by a public function."""
    importing = {
        file.relative_to(SOURCES).as_posix()
        for file in SOURCES.rglob("*.py")
        if any("ablation" in name for name in imports(file)) and file.parent.name != "ablation"
    }
    assert importing == {"bench/surroundings.py", "cli/bench.py", "cli/bench_ablation.py"}
    beside = [file for file in SOURCES.rglob("*.py") if file.relative_to(SOURCES).parts[0] not in ("bench", "cli")]
    assert not [file for file in beside if any(name.startswith("qrita.bench") for name in imports(file))]


def test_calls_load_no_part_of_the_bench() -> None:
    program = (
        "import sys, torch, qrita\n"
        "logits = torch.zeros(2, 9)\n"
        "qrita.top_k_top_p(logits, 5, 0.9)\n"
        "qrita.top_k_top_p_(logits, 5, 0.9)\n"
        "qrita.candidates(logits, 5, 0.9)\n"
        "from qrita import engines, plan, testing\n"
        "print([name for name in sys.modules if name.startswith('qrita.bench')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_table_of_runs() -> None:
    some = book(result(JOB, {"G": "reason"}, A=300.0, C=270.0, J=14000.0))
    heading, *rows = tables.runs(some)
    by_name = {row[0]: row for row in rows}
    assert all(len(row) == len(heading) for row in rows)
    assert [*by_name] == [*NAMED]
    assert by_name["A"][1:] == [
        "hit", "three pivots", "on", "tuned", "package", "exact", "0.919", "1.00", "300 (270 to 330)", "1.00"
    ]  # fmt: skip
    assert by_name["C"][6:] == ["NOT EXACT", "1.308", "1.42", "270 (243 to 297)", "0.90"]
    assert by_name["J"][3:] == [
        "-",
        "-",
        "torch",
        "float sums",
        "16.487",
        "17.94",
        "14,000 (12,600 to 15,400)",
        "46.67",
    ]
    assert by_name["G"][-2:] == ["-", "-"]
    assert by_name["groups"][-4:] == ["-", "-", "-", "-"]
    assert [row[-2:] for row in tables.runs(book())[1:]] == [["-", "-"]] * len(RUNS)


def test_the_table_of_parts() -> None:
    some = book(result(JOB, A=300.0, B=310.0, C=270.0, B_bench=300.0, groups=150.0))
    heading, *rows = tables.pairs(some)
    by_runs = {row[1]: row[2:] for row in rows}
    assert heading == ["part", "runs", "paper", "here"]
    assert by_runs["B / A"] == ["1.47", "1.03"]
    assert by_runs["C / B-bench"] == ["0.97", "0.90"]  # the paper's C / B
    assert by_runs["D / C"] == ["4.11", "-"]
    assert by_runs["groups / A"] == ["-", "0.50"]
    assert {name for _, run, other in tables.PAIRS for name in (run, other)} == {*NAMED}


HITS = (
    Hits(Job(8, 49_152, "bfloat16", "real", 50), 2048, 2),
    Hits(Job(8, 49_152, "bfloat16", "real", 50), None, 8),
    Hits(Job(1024, 128_256, p=0.9), 2048, 0),
)


def test_the_table_of_hits() -> None:
    assert tables.hits(HITS) == [
        ["rows", "k, p", "hits with room for 2,048", "hits with room for all"],
        ["8 x 49,152 bfloat16 real", "k = 50", "2 of 8", "8 of 8"],
        ["1,024 x 128,256 float32 normal", "p = 0.9", "0 of 1,024", "-"],
    ]


def test_hits_travel_as_json() -> None:
    some = book(result(JOB, A=300.0), hits=HITS)
    assert Book.from_json(some.to_json()) == some


def test_the_tables_are_in_the_document() -> None:
    some = book(result(JOB, A=300.0), hits=HITS)
    said = text.document(some, [], tables.sections(some))
    assert "| A | hit | three pivots | on | tuned | package | exact | 0.919 | 1.00 | 300 (270 to 330) | 1.00 |" in said
    assert "| fixed blocks instead of tuned ones | B / A | 1.47 | - |" in said
    assert "| 8 x 49,152 bfloat16 real | k = 50 | 2 of 8 | 8 of 8 |" in said
    assert "Rows that truncation" not in "\n".join(tables.sections(book()))
