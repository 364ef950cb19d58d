"""--records and --recorded, in runs of the suite on engines with planted bugs."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path

import planted_lanes
import planted_suite as suite
import pytest

from qrita.report import commands, junit, lanes, plugin, record
from qrita.report.record import Record, id_of
from qrita.testing.recipes import Recipe

WRONG, RIGHT = 'planted_bugs:PLANTED["k off by one"]()', "planted_engines:Right()"
CASE = Recipe("equal", 40, k=7).to_json()


class Sleeps:
    """An engine that does not come back."""

    name = "sleeps"

    def cuts(self, problem: object) -> None:
        time.sleep(60)

    mask = candidates = cuts


@pytest.fixture(scope="module")
def lane(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lane whose suite has met a planted bug."""
    root = tmp_path_factory.mktemp("wrong")
    directory = planted_lanes.lane(root / "reports" / "cuda-h200", outcome="failed", **planted_lanes.H200)
    done = suite.run(
        root / "suite",
        WRONG,
        f"--records={directory / 'records'}",
        f"--junit-xml={directory / 'results-1.xml'}",
        "-k",
        "test_property and (cut or nested_in_k)",
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "wrong set: The implementation 'planted' keeps token" in done.stdout
    assert "<- differs" in done.stdout
    assert f"record: {directory / 'records' / 'cut-'}" in done.stdout
    return directory


def records(lane: Path) -> tuple[Record, ...]:
    found = lanes.read(lane)
    assert found.problems == ()
    return found.records


def test_a_record_of_the_shrunk_case(lane: Path) -> None:
    (found,) = records(lane)
    assert (found.property, found.test) == ("cut", planted_lanes.PROPERTIES.format("cut"))
    assert found.case is not None
    assert (found.case["vocab"], found.case["k"]) == (2, 1)
    assert found.commands.lane.startswith("ci/tox --installed cuda-h200 -- --property=cut '--recorded={")


def test_the_same_case_elsewhere(lane: Path, tmp_path: Path) -> None:
    """Given the lane's folder, another engine tries its cases under the ids that they have everywhere; given a case
    alone, every property, of which -k chooses one."""
    (found,) = records(lane)
    results = tmp_path / "results-1.xml"
    places = (f"--recorded={lane.parent}", f"--recorded={CASE}")
    done = suite.run(tmp_path / "suite", RIGHT, *places, "-k", "cut or mask_value", f"--junit-xml={results}")
    assert "3 passed, 16 deselected" in done.stdout, done.stdout + done.stderr
    here, *others = sorted(test.id.partition("[")[2] for test in junit.read(results))
    assert f"{id_of(found)}]" in (here, *others)
    assert others[-1].startswith("mask_value-")


def test_a_command_tries_one_property_alone(tmp_path: Path) -> None:
    """Also where its name is the start of another's, as with mask and mask_value."""
    words = shlex.split(commands.commands("mask", json.loads(CASE), "", "torch", None).lane)[3:]
    results = tmp_path / "results-1.xml"
    done = suite.run(tmp_path / "suite", WRONG, *words, f"--junit-xml={results}")
    assert "1 failed" in done.stdout, done.stdout + done.stderr
    (tried,) = junit.read(results)
    assert tried.id.partition("[")[2] == f"{record.identifier('mask', json.loads(CASE))}]"


def test_a_property_that_is_not_there(tmp_path: Path) -> None:
    done = suite.run(tmp_path, RIGHT, "--property=msk", f"--recorded={CASE}")
    assert (done.returncode, "Traceback" in done.stderr) == (4, False)
    assert "--property: 'msk': expected one of cut, mask, mask_value, " in done.stderr
    with pytest.raises(pytest.UsageError, match="--property: 'mask': it needs --recorded"):
        plugin.of_properties({}, ["mask"])


def test_workers_share_a_folder_that_a_variable_names(tmp_path: Path) -> None:
    chosen = ("-k", "test_recorded and (cut or mask)", "-n2")
    suite.run(tmp_path / "suite", WRONG, f"--recorded={CASE}", *chosen, QRITA_RECORDS=str(tmp_path / "r"))
    files = sorted((tmp_path / "r").iterdir())
    assert [file.name.partition("-")[0] for file in files] == ["cut", "mask", "mask_value"]
    assert len(record.read(files)[0]) == len(files)


def test_a_hang(tmp_path: Path) -> None:
    done = suite.run(
        tmp_path / "suite",
        "test_plugin:Sleeps()",
        f"--recorded={CASE}",
        "-k",
        "test_recorded and cut",
        "--timeout=2",
        "--timeout-method=signal",
        f"--records={tmp_path / 'cpu' / 'records'}",
    )
    assert "1 failed" in done.stdout, done.stdout + done.stderr
    planted_lanes.lane(tmp_path / "other")
    (file,) = (tmp_path / "cpu" / "records").iterdir()
    found = json.loads(file.read_text(encoding="utf-8"))
    assert (found["kind"], found["answer"], found["reruns"]["count"]) == ("hang", None, 0)
    assert "time.sleep(60)" in found["details"]


def test_without_the_option_nothing_is_tried_again(tmp_path: Path) -> None:
    listed = suite.run(tmp_path, RIGHT, "tests", "--collect-only").stdout
    assert "test_property[cut]" in listed
    assert "test_recorded" not in listed


def test_wrong_usage_ends_it_at_once(tmp_path: Path) -> None:
    done = suite.run(tmp_path, RIGHT, "--recorded={")
    assert (done.returncode, "Traceback" in done.stderr) == (4, False)
    assert "--recorded: '{': not JSON" in done.stderr


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ('{"family": "norml", "vocab": 5}', "--recorded: recipe: family='norml': expected one of equal"),
        ("no/such/file", "--recorded: 'no/such/file': neither a JSON object nor a file that can be read"),
        (".", "--recorded: '.' holds no records"),
        ("broken", "cut.json is empty, expected a JSON object."),
    ],
)
def test_wrong_usage(where: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "cut.json").write_text("", encoding="utf-8")
    with pytest.raises(pytest.UsageError) as error:
        plugin.retries(where)
    assert says in str(error.value)
