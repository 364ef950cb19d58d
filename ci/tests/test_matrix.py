"""ci/matrix.toml is read strictly, and what is printed of it is what CI and people build on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import matrix
import pytest
import targets

SMALL = """\
tox = "4.65.0"
python = "3.12"

[stacks.cpu]
vendor = "cpu"
torch = "2.13.0+cpu"
triton = "triton==3.7.1"
wheels = "https://download.pytorch.org/whl/cpu"

[stacks.cpu-min]
vendor = "cpu"
torch = "2.10.0+cpu"
wheels = "https://download.pytorch.org/whl/cpu"

[stacks.cuda]
vendor = "nvidia"
torch = "2.13.0+cu130"
triton = "triton==3.7.1"
wheels = "https://download.pytorch.org/whl/cu130"
minimum_driver = "580.65.06"

[stacks.rocm]
vendor = "amd"
torch = "2.13.0+rocm7.2"
triton = "triton-rocm==3.7.1"
wheels = "https://download.pytorch.org/whl/rocm7.2"
minimum_driver = "6.14.14"

[refused]
amd = { "3.8.0" = "it miscompiles" }

[images.slim]
reference = "docker.io/library/python:3.12-slim"
digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
verified = false
source = "a registry"
date = 2026-11-30

[images.other]
reference = "docker.io/library/debian:12"
digest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
verified = true
source = "a registry"
date = 2026-11-30

[runners.hosted]
labels = ["ubuntu-24.04"]
hosted = true

[runners.h100]
labels = ["self-hosted", "sm_90"]

[targets.cpu]
environment = "cpu"
stack = "cpu"
runner = "hosted"
tags = ["pull-request", "nightly"]
evidence = { state = "hardware", date = 2026-11-30 }

[targets.cuda-h100]
environment = "cuda"
stack = "cuda"
architecture = "sm_90"
wave = 32
card = "H100"
image = "slim"
dockerfile = "docker/h100.Dockerfile"
runner = "h100"
tags = ["gpu"]
evidence = { state = "rehearsed", date = 2026-11-30, note = "never on a card" }

[targets.cuda-h200]
environment = "cuda"
stack = "cuda"
architecture = "sm_90"
wave = 32
card = "H200"
image = "slim"
dockerfile = "docker/h100.Dockerfile"
runner = "h100"
tags = ["gpu"]
evidence = { state = "hardware", date = 2026-11-30 }

[targets.compile-gfx950]
environment = "compile"
stack = "cpu"
architecture = "gfx950"
wave = 64
runner = "hosted"
tags = ["pull-request"]
evidence = { state = "compiled", date = 2026-11-30 }

[targets.compile-gfx1100]
environment = "compile"
stack = "cpu"
architecture = "gfx1100"
wave = 32
runner = "hosted"
tags = ["nightly"]
evidence = { state = "compiled", date = 2026-11-30 }

[targets.sim-gfx950]
stack = "cpu"
architecture = "gfx950"
wave = 64
evidence = { state = "none", date = 2026-11-30 }
"""

Edits = dict[str, "str | None"]
DATE = "date = 2026-11-30"

WRONG: list[tuple[str, Edits, str]] = [
    # Keys: unknown, missing.
    ("", {"colour": "1"}, "colour: unknown key; expected one of tox, python, stacks"),
    ("", {"tox": None}, "the file: the key 'tox' is missing"),
    ("stacks.cuda", {"colour": "1"}, "stacks.cuda.colour: unknown key; expected one of vendor, torch"),
    ("stacks.cuda", {"torch": None}, "stacks.cuda: the key 'torch' is missing"),
    ("images.slim", {"colour": "1"}, "images.slim.colour: unknown key"),
    ("images.slim", {"digest": None}, "images.slim: the key 'digest' is missing"),
    ("runners.h100", {"colour": "1"}, "runners.h100.colour: unknown key"),
    ("runners.h100", {"labels": None}, "runners.h100: the key 'labels' is missing"),
    ("targets.cuda-h100", {"colour": "1"}, "targets.cuda-h100.colour: unknown key"),
    ("targets.cuda-h100", {"evidence": None}, "targets.cuda-h100: the key 'evidence' is missing"),
    (
        "targets.cpu",
        {"evidence": f'{{ state = "hardware", {DATE}, colour = 1 }}'},
        "targets.cpu.evidence.colour: unknown key",
    ),
    ("targets.cpu", {"evidence": '{ state = "hardware" }'}, "targets.cpu.evidence: the key 'date' is missing"),
    # Types.
    ("", {"python": "3.12"}, "python: expected str, got 3.12"),
    ("", {"tox": "no TOML"}, "not TOML: "),
    ("stacks.cuda", {"minimum_driver": "580"}, "stacks.cuda.minimum_driver: expected str, got 580"),
    ("stacks", {"cuda12": "1"}, "stacks.cuda12: expected a table, got 1"),
    ("images.slim", {"verified": '"no"'}, "images.slim.verified: expected bool, got 'no'"),
    ("images.slim", {"verified": "0"}, "images.slim.verified: expected bool, got 0"),
    ("images.slim", {"date": '"2026-11-30"'}, "images.slim.date: expected date, got '2026-11-30'"),
    ("images.slim", {"date": "2026-11-30T00:00:00"}, "images.slim.date: expected date, got datetime"),
    ("runners.h100", {"labels": '"sm_90"'}, "runners.h100.labels: expected tuple, got 'sm_90'"),
    ("runners.h100", {"labels": "[90]"}, "runners.h100.labels: expected str, got 90"),
    ("targets.cuda-h100", {"wave": '"32"'}, "targets.cuda-h100.wave: expected int, got '32'"),
    ("targets.cuda-h100", {"wave": "true"}, "targets.cuda-h100.wave: expected int, got True"),
    ("targets.cuda-h100", {"evidence": '"hardware"'}, "targets.cuda-h100.evidence: expected a table, got 'hardware'"),
    ("refused", {"amd": '"3.8.0"'}, "refused.amd: expected dict, got '3.8.0'"),
    ("refused", {"amd": '{ "3.8.0" = 1 }'}, "refused.amd.3.8.0: expected str, got 1"),
    # Stacks.
    ("stacks.cuda", {"vendor": '"nvdia"'}, "stacks.cuda.vendor: expected one of cpu, nvidia, amd, got 'nvdia'"),
    ("stacks.cuda", {"torch": '"2.13.0"'}, "stacks.cuda.torch: "),
    ("stacks.cuda", {"torch": '"2.13+cu130"'}, "stacks.cuda.torch: "),
    (
        "stacks.rocm",
        {"torch": '"2.13.0+cu130"', "wheels": '"https://download.pytorch.org/whl/cu130"'},
        "stacks.rocm.torch: ",
    ),
    (
        "stacks.cuda",
        {"wheels": '"https://download.pytorch.org/whl/cu126"'},
        "stacks.cuda.wheels: expected the folder of torch's label, .../cu130, got ",
    ),
    ("stacks.cuda", {"triton": '"triton-rocm==3.7.1"'}, "stacks.cuda.triton: expected triton==VERSION on nvidia"),
    ("stacks.rocm", {"triton": '"triton==3.7.1"'}, "stacks.rocm.triton: expected triton-rocm==VERSION on amd"),
    ("stacks.rocm", {"triton": '"triton-rocm==3.8.0"'}, "stacks.rocm.triton: 3.8.0 is refused on amd: it miscompiles"),
    (
        "stacks.cpu",
        {"triton": '"triton==3.8.0"'},
        "targets.compile-gfx950.stack: 'cpu' has Triton 3.8.0, refused on amd: it miscompiles",
    ),
    ("stacks.cuda", {"triton": None}, "stacks.cuda: a stack for GPUs needs triton and minimum_driver"),
    ("stacks.rocm", {"minimum_driver": None}, "stacks.rocm: a stack for GPUs needs triton and minimum_driver"),
    ("stacks.cpu", {"triton": None}, "stacks.cpu: it needs triton"),
    (
        "stacks.rocm",
        {"torch": '"2.12.0+rocm7.2"'},
        "stacks: one line of torch for every vendor, got {'cpu': '2.13.0', 'cuda': '2.13.0', 'rocm': '2.12.0'}",
    ),
    (
        "stacks.cuda-min",
        {
            "vendor": '"nvidia"',
            "torch": '"2.11.0+cu126"',
            "triton": '"triton==3.6.0"',
            "wheels": '"https://download.pytorch.org/whl/cu126"',
            "minimum_driver": '"560.28.03"',
        },
        "stacks: one line of torch for every vendor, got {'cpu-min': '2.10.0', 'cuda-min': '2.11.0'}",
    ),
    ("refused", {"amdd": '{ "3.8.0" = "why" }'}, "refused: expected one of cpu, nvidia, amd, got 'amdd'"),
    # Images and runners.
    ("images.slim", {"digest": '"sha256:00"'}, "images.slim.digest: expected sha256: and 64 hexadecimal digits"),
    ("images.slim", {"digest": f'"sha256:{"G" * 64}"'}, "images.slim.digest: expected sha256:"),
    ("images.slim", {"digest": f'"{"0" * 64}"'}, "images.slim.digest: expected sha256:"),
    ("runners.h100", {"attached": '"soon"'}, "runners.h100.attached: expected bool, got 'soon'"),
    ("runners.h100", {"labels": "[]"}, "runners.h100.labels: expected at least one"),
    # Targets: names of other things.
    (
        "targets.cuda-h100",
        {"stack": '"cuda13"'},
        "targets.cuda-h100.stack: expected one of cpu, cpu-min, cuda, rocm, got 'cuda13'",
    ),
    ("targets.cuda-h100", {"image": '"fat"'}, "targets.cuda-h100.image: expected one of slim, other, got 'fat'"),
    ("targets.cuda-h100", {"runner": '"h300"'}, "targets.cuda-h100.runner: expected one of hosted, h100, got 'h300'"),
    (
        "targets.cuda-h100",
        {"tags": '["gpus"]'},
        "targets.cuda-h100.tags: expected one of pull-request, gpu, nightly, got 'gpus'",
    ),
    (
        "targets.cuda-h100",
        {"tags": '["gpu", "pull-request"]'},
        "targets.cuda-h100.tags: pull-request is for hosted runners, 'h100' is machines of our own",
    ),
    (
        "targets.cpu",
        {"evidence": f'{{ state = "seen", {DATE} }}'},
        "targets.cpu.evidence.state: expected one of hardware, interpreted, simulated, compiled, rehearsed, none",
    ),
    # Targets: architectures.
    ("targets.cuda-h100", {"wave": None}, "targets.cuda-h100: architecture and wave go together"),
    (
        "targets.compile-gfx950",
        {"architecture": None},
        "targets.compile-gfx950: architecture and wave go together",
    ),
    (
        "targets.cuda-h100",
        {"architecture": '"hopper"'},
        "targets.cuda-h100.architecture: expected such as sm_90 or gfx950, got 'hopper'",
    ),
    ("targets.cuda-h100", {"wave": "64"}, "targets.cuda-h100.wave: expected 32 on sm_90, got 64"),
    ("targets.compile-gfx950", {"wave": "32"}, "targets.compile-gfx950.wave: expected 64 on gfx950, got 32"),
    ("targets.compile-gfx1100", {"wave": "64"}, "targets.compile-gfx1100.wave: expected 32 on gfx1100, got 64"),
    # Targets: what goes together.
    ("targets.cuda-h100", {"image": None}, "targets.cuda-h100: image and dockerfile go together"),
    ("targets.cuda-h100", {"dockerfile": None}, "targets.cuda-h100: image and dockerfile go together"),
    ("targets.cpu", {"card": '"EPYC"'}, "targets.cpu: a card needs an architecture"),
    ("targets.sim-gfx950", {"tags": '["nightly"]'}, "targets.sim-gfx950: without an environment it has no tags"),
    ("targets.sim-gfx950", {"runner": '"hosted"'}, "targets.sim-gfx950: without an environment it has no tags"),
    ("targets.cpu", {"environment": None, "tags": None, "runner": None}, "targets.cpu: without an environment"),
    ("targets.cpu", {"tags": None}, "targets.cpu: with an environment it needs a runner and tags"),
    ("targets.cpu", {"tags": "[]"}, "targets.cpu: with an environment it needs a runner and tags"),
    ("targets.cpu", {"runner": None}, "targets.cpu: with an environment it needs a runner and tags"),
    ("targets.cuda-h100", {"card": None}, "targets.cuda-h100: on the stack 'cuda' it needs a card"),
    (
        "targets.cuda-h100",
        {"architecture": '"gfx950"', "wave": "64"},
        "targets.cuda-h100: on the stack 'cuda' it needs a card and an architecture of nvidia",
    ),
    # Targets: what those of one environment, Dockerfile or lane share.
    ("targets.cuda-h200", {"image": '"other"'}, "targets.cuda-h200.image: expected 'slim', since 'cuda-h100' shares "),
    ("targets.compile-gfx1100", {"stack": '"cpu-min"'}, "targets.compile-gfx1100.stack: expected 'cpu', since "),
    ("targets.compile-gfx1100", {"runner": '"h100"'}, "targets.compile-gfx1100.runner: expected 'hosted', since "),
]

LANE = {
    "lane": "cuda-h200",
    "command": "docker/run cuda-h200 --build",
    "targets": ["cuda-h200"],
    "environment": "cuda",
    "stack": "cuda",
    "labels": ["self-hosted", "sm_90"],
    "hosted": False,
    "attached": False,
    "image": "slim",
    "dockerfile": "docker/h100.Dockerfile",
    "tags": ["gpu"],
    "python": "3.12",
}
SHOWN = {
    **LANE,
    "target": "cuda-h200",
    "vendor": "nvidia",
    "architecture": "sm_90",
    "wave": 32,
    "card": "H200",
    "base": f"docker.io/library/python:3.12-slim@sha256:{'0' * 64}",
    "torch": "2.13.0+cu130",
    "triton": "triton==3.7.1",
    "wheels": "https://download.pytorch.org/whl/cu130",
    "minimum_driver": "580.65.06",
}


def edited(section: str, edits: Edits) -> str:
    """SMALL with keys of a section set, or deleted where the value is None. "" is the top; a new section is added."""
    sections = SMALL.split("\n\n")
    heading = f"[{section}]\n" if section else ""
    number = next((n for n, text in enumerate(sections) if text.startswith(heading)), len(sections))
    lines = [*sections[number].splitlines()] if number < len(sections) else [heading.strip()]
    lines = [line for line in lines if line.partition(" = ")[0] not in edits]
    lines += [f"{key} = {value}" for key, value in edits.items() if value is not None]
    return "\n\n".join([*sections[:number], "\n".join(lines), *sections[number + 1 :]])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder whose matrix is SMALL."""
    write(tmp_path, SMALL)
    return tmp_path


def write(root: Path, text: str) -> Path:
    file = root / "ci" / "matrix.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def printed(capsys: pytest.CaptureFixture[str], root: Path, *args: str) -> Any:
    assert matrix.main([*args], root) == 0
    return json.loads(capsys.readouterr().out)


def test_the_matrix_loads() -> None:
    loaded = targets.load()
    assert {loaded.vendor(name) for name in loaded.targets} == set(targets.VENDORS)


def test_the_small_one_loads_also_edited_with_what_is_right(tmp_path: Path) -> None:
    assert targets.load(write(tmp_path, SMALL)).environments == ("cpu", "cuda", "compile")
    assert targets.load(write(tmp_path, edited("", {"python": '"3.13"'}))).python == "3.13"
    assert targets.load(write(tmp_path, edited("runners.new", {"labels": '["gfx950"]'}))).runners["new"].hosted is False


@pytest.mark.parametrize(
    ("section", "edits", "sentence"),
    WRONG,
    ids=[f"{section or 'top'} {' '.join(edits)}" for section, edits, _ in WRONG],
)
def test_what_does_not_fit_is_an_error_that_names_the_place(
    tmp_path: Path, section: str, edits: Edits, sentence: str
) -> None:
    with pytest.raises(targets.MatrixError) as error:
        targets.load(write(tmp_path, edited(section, edits)))
    assert str(error.value).startswith(sentence)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["cpu", "cpu-min", "cuda", "rocm"])
def test_stacks_that_others_are_compared_with_are_there(tmp_path: Path, name: str) -> None:
    stacks = [text for text in SMALL.split("\n\n") if not text.startswith(f"[stacks.{name}]")]
    with pytest.raises(targets.MatrixError, match=rf"^stacks\.{name}: missing"):
        targets.load(write(tmp_path, "\n\n".join(stacks)))


def test_every_command_says_what_is_wrong_in_the_matrix(root: Path) -> None:
    write(root, edited("", {"colour": "1"}))
    for args in (["check"], ["write"], ["jobs"], ["show", "cpu"], ["python"]):
        assert str(matrix.main(args, root)).startswith("ci/matrix.toml: colour: unknown key")


def test_the_vendor_is_that_of_the_architecture(root: Path) -> None:
    loaded = targets.load(root / "ci" / "matrix.toml")
    assert {name: loaded.vendor(name) for name in ("cpu", "cuda-h100", "compile-gfx950")} == {
        "cpu": "cpu",
        "cuda-h100": "nvidia",
        "compile-gfx950": "amd",
    }


def test_jobs(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = printed(capsys, root, "jobs")
    assert [(job["lane"], job["targets"]) for job in jobs] == [
        ("cpu", ["cpu"]),
        ("cuda-h100", ["cuda-h100"]),
        ("cuda-h200", ["cuda-h200"]),
        ("compile", ["compile-gfx950", "compile-gfx1100"]),
    ]
    assert jobs[2].items() >= LANE.items()
    hosted = {"labels": ["ubuntu-24.04"], "hosted": True, "attached": True, "image": None, "dockerfile": None}
    assert jobs[0].items() >= {**hosted, "command": "ci/tox --target cpu"}.items()
    assert jobs[3].items() >= {**hosted, "command": "ci/tox -e compile"}.items()


@pytest.mark.parametrize(
    ("tag", "lanes"),
    [
        ("pull-request", {"cpu": ["cpu"], "compile-gfx950": ["compile-gfx950"]}),
        ("gpu", {"cuda-h100": ["cuda-h100"], "cuda-h200": ["cuda-h200"]}),
        ("nightly", {"cpu": ["cpu"], "compile-gfx1100": ["compile-gfx1100"]}),
    ],
)
def test_jobs_of_a_tag(root: Path, capsys: pytest.CaptureFixture[str], tag: str, lanes: dict[str, list[str]]) -> None:
    assert {job["lane"]: job["targets"] for job in printed(capsys, root, "jobs", "--tag", tag)} == lanes


def test_a_tag_that_does_not_exist(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        matrix.main(["jobs", "--tag", "weekly"], root)
    assert "'weekly'" in capsys.readouterr().err


def test_jobs_of_named_targets(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = printed(capsys, root, "jobs", "compile-gfx1100", "cuda-h200")
    assert [(job["lane"], job["command"]) for job in jobs] == [
        ("cuda-h200", "docker/run cuda-h200 --build"),
        ("compile-gfx1100", "ci/tox --target compile-gfx1100"),
    ]


@pytest.mark.parametrize("name", ["cuda-h300", "sim-gfx950", "cuda"])
def test_a_named_target_that_is_not_run(root: Path, name: str) -> None:
    assert str(matrix.main(["jobs", "cpu", name], root)).startswith(f"ci/matrix.py: {name!r} is no target that runs; ")


def test_jobs_whose_runners_are_attached(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [job["lane"] for job in printed(capsys, root, "jobs", "--attached")] == ["cpu", "compile"]
    write(root, edited("runners.h100", {"attached": "true"}))
    assert printed(capsys, root, "jobs", "--attached") == printed(capsys, root, "jobs")


def test_compact_jobs_are_one_line_with_the_same_content(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = printed(capsys, root, "jobs")
    assert matrix.main(["jobs", "--compact"], root) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert json.loads(out) == expected


def test_lanes_are_all_targets_that_an_environment_runs_each_once() -> None:
    loaded = targets.load()
    lanes = matrix.jobs(loaded)
    names = [name for lane in lanes for name in lane["targets"]]
    assert sorted(names) == sorted(name for name, target in loaded.targets.items() if target.environment)
    assert len({lane["lane"] for lane in lanes}) == len(lanes)
    for lane in lanes:
        assert {loaded.targets[name].environment for name in lane["targets"]} == {lane["environment"]}
        assert lane["labels"], lane["lane"]


def test_show(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, root, "show", "cuda-h200")
    assert shown.items() >= SHOWN.items()
    assert shown["evidence"].items() >= {"state": "hardware", "date": "2026-11-30"}.items()


def test_show_a_target_without_a_card(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, root, "show", "compile-gfx950")
    assert shown.keys() >= SHOWN.keys()
    assert (shown["target"], shown["vendor"], shown["base"], shown["card"]) == ("compile-gfx950", "amd", None, None)


def test_show_a_planned_target_which_is_no_lane(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, root, "show", "sim-gfx950")
    assert shown.keys() >= SHOWN.keys() - LANE.keys()
    assert (shown["vendor"], shown.get("lane"), shown["evidence"]["state"]) == ("amd", None, "none")


def test_a_target_that_does_not_exist_gives_a_sentence(root: Path) -> None:
    assert str(matrix.main(["show", "cuda-h300"], root)) == (
        "ci/matrix.py: no target 'cuda-h300'; expected one of cpu, cuda-h100, cuda-h200, compile-gfx950, "
        "compile-gfx1100, sim-gfx950"
    )


def test_the_python_version() -> None:
    command = [sys.executable, "-B", str(targets.ROOT / "ci" / "matrix.py"), "python"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout == f"{targets.load().python}\n"
