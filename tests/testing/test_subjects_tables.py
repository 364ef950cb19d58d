"""The tables of docs/peers.md."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from qrita.testing.foreign.peers import TORCH_SORT, VLLM
from qrita.testing.foreign.tables import BEGIN, END, TableError, main, read, tables
from qrita.testing.properties import PROPERTIES

DOCUMENT = Path(__file__).parents[2] / "docs" / "peers.md"


def tally(passed: int = 0, not_promised: int = 0, **faults: int) -> dict[str, Any]:
    return {"passed": passed, "faults": faults, "not_promised": not_promised, "not_run": 0, "reasons": {}}


def verdict(subject: str, contract: object, properties: dict[str, Any], minimal: list[Any]) -> dict[str, Any]:
    return {
        "format": 2,
        "surroundings": {
            "subject": subject,
            "about": f"what {subject} | calls",
            "plan": "",
            "card": "a card",
            "versions": {subject: "1.2"},
            "contract": contract,
        },
        "parts": [{"name": "recipes", "run": 1500}, {"name": "real rows", "run": 0}],
        "checks": 2000,
        "properties": properties,
        "minimal": minimal,
        "ended": "",
    }


MINIMAL = {"property": "mask", "status": "hung", "found": "no <answer>", "case": {"family": "equal", "vocab": 7}}
THREADS = {**tally(0, 65), "not_run": 87}
ONE = verdict("torch-sort", asdict(TORCH_SORT), {"mask": tally(1500), "cut": tally(0, 1500), "out": THREADS}, [])
OTHER = verdict("vllm", asdict(VLLM), {"mask": tally(1200, 50, failed=248, hung=2)}, [MINIMAL])


def test_every_state_has_its_words() -> None:
    text = tables([ONE, OTHER])
    for line in (
        "| torch-sort | what torch-sort \\| calls | torch-sort 1.2 | a card | 1,500 recipes | 2,000 |",
        "| `cut` | not promised | not run |",
        "| `mask` | passed, 1,500 | **fails** on 250 of 1,450 (hung 2) |",
        "| `out` | not run | not run |",
        "| `threads` | not run | not run |",
        "- vllm, `mask` (hung): no &lt;answer>",
        '  `{"family": "equal", "vocab": 7}`',
        "| `p_values` | 0 &lt; p &lt;= 1 | 0 &lt; p &lt;= 1 |",
        "| `ties` | lowest index first | any number of them |",
    ):
        assert line in text.splitlines()
    assert all(f"| `{name}` |" in text for name in PROPERTIES)
    assert "`keeps_input`: its docstring: the input may or may not be modified in place" in text


def test_no_failure_is_said() -> None:
    assert "\nNone.\n" in tables([ONE])


def test_into_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, document = tmp_path / "one.json", tmp_path / "peers.md"
    file.write_text(json.dumps(ONE), encoding="utf-8")
    document.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    for _ in range(2):  # the second time over the first
        assert main([str(file), "--into", str(document)]) == 0
    text = document.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\n\n### What was run\n")
    assert text.endswith(f"\n{END}\nafter\n")
    assert "old" not in text
    assert main([str(file)]) == 0
    assert capsys.readouterr().out in text


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": 1, "properties": {}}'])
def test_a_file_that_is_no_verdict_is_named(content: str, tmp_path: Path) -> None:
    file = tmp_path / "broken.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(TableError, match=r"broken\.json (cannot be read|is no verdict of format 2)"):
        read(file)


def test_errors_end_with_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, document = tmp_path / "one.json", tmp_path / "peers.md"
    file.write_text(json.dumps(ONE), encoding="utf-8")
    document.write_text("no markers", encoding="utf-8")
    for arguments in ([str(tmp_path / "absent.json")], [str(file), "--into", str(document)]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2
    said = capsys.readouterr().err
    assert "absent.json cannot be read: " in said
    assert "peers.md: expected the lines " in said


def test_the_document_has_its_markers() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert (text.count(BEGIN), text.count(END)) == (1, 1)
