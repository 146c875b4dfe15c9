"""Goldens: written from runs that repeat, judged by fingerprint, never harmed by what goes wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from golden.check.fixtures import Golden, dump
from golden.trace.golden import records_of
from golden.trace.trace import load_trace
from tests.golden.project import RUN, Project
from tests.golden.traces import write_trace

FIXTURES = Path(__file__).parents[3] / "golden" / "fixtures"


def own_golden(folder: Path) -> Path:
    (path,) = folder.glob("exact-cpu-*.json")
    return path


@pytest.mark.slow
def test_life_of_a_golden(project: Project, goldens: Path) -> None:
    verify = ("verify", "-n", "2")
    result = project.golden(*verify)
    assert result.code == 0, result
    assert "train: identical (18 events, 18 optimizer steps, " in result.out
    assert "1 runs: 5 s planned, " in result.out

    before = own_golden(goldens).read_text()
    project.edit("BEFORE STEP", "host[0].bias.grad[3] += 1e-3 * (env == 1 and step == 2)")
    result = project.golden(*verify)
    assert result.code == 1
    assert "first divergence: step 2 of env 1, Sequential (step 7 overall, SGD): gradient" in result.out
    assert own_golden(goldens).read_text() == before

    result = project.golden("record", "train", "--update")
    assert (result.code, result.out.split()[0::2]) == (0, ["changed", "unchanged"])
    assert project.golden(*verify).code == 0


LONG = """\
import torch

net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), 0.01)
for step in range(720):
    net(torch.ones(1, 2)).sum().backward()
    # GRADIENT
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.slow
def test_steps_that_a_golden_keeps_as_one_have_no_place(project: Project) -> None:
    script = project.root / "long.py"
    script.write_text(LONG)
    (project.root / "golden" / "runs" / "long.toml").write_text(
        'command = ["python", "long.py"]\nbudget = 5\n'
    )
    assert project.golden("record", "long", "--update").code == 0
    assert project.golden("verify", "long").code == 0
    script.write_text(LONG.replace("# GRADIENT", "net.bias.grad.mul_(2 if step == 710 else 1)"))
    result = project.golden("verify", "long")
    assert result.code == 1
    assert (
        "first divergence: step 699 overall, or one after it: the golden keeps these steps as one"
        in result.out
    )
    assert "the start" not in result.out


def of_another_machine(path: Path) -> Path:
    """Make a golden one of a machine with another canary."""
    table = json.loads(path.read_text())
    del table["seal"], table["format"]
    golden = Golden.model_validate(table)
    other = {**golden.fingerprint, "canary": "0" * 32, "python": "3.13", "cpu": "AVX512"}
    path.unlink()
    path = path.with_name("exact-cpu-0123456789ab.json")
    path.write_text(dump(golden.model_copy(update={"fingerprint": other})))
    return path


@pytest.mark.slow
def test_equal_bits_are_identical_whatever_the_machine(project: Project, goldens: Path) -> None:
    path = of_another_machine(own_golden(goldens))
    verify = ("verify", "train")
    result = project.golden(*verify)
    assert result.code == 0
    assert "train: identical (18 events" in result.out
    assert "the golden is of another machine (exact-cpu-0123456789ab)" in result.out

    project.edit("BEFORE STEP", "host[0].bias.grad[3] += 1e-3 * (env == 1 and step == 2)")
    result = project.golden(*verify)
    assert result.code == 4
    assert "this one computes other bits (other kernels)" in result.out
    assert "golden ab train --base REF" in result.out
    assert "first divergence: step 2 of env 1, Sequential (step 7 overall, SGD): gradient" in result.out

    result = project.golden("record", "train", "--update")
    assert result.out.split()[::2] == ["created", "unchanged"]
    assert path.exists()
    assert project.golden(*verify).code == 0


@pytest.mark.slow
def test_golden_covers_the_machines_that_gave_its_bits(project: Project, goldens: Path) -> None:
    path = of_another_machine(own_golden(goldens))
    result = project.golden("record", "train", "--update")
    assert result.out.split()[::2] == ["changed", "unchanged"]
    assert [p for p in goldens.glob("*.json") if p.name != "common.json"] == [path]
    project.edit("BEFORE STEP", "host[0].bias.grad[3] += 1e-3 * (env == 1 and step == 2)")
    assert project.golden("verify", "train").code == 1


@pytest.mark.slow
def test_machine_without_a_golden(project: Project, goldens: Path) -> None:
    own_golden(goldens).unlink()
    verify = ("verify", "train")
    result = project.golden(*verify)
    assert result.code == 4
    assert "no golden for this machine; what holds everywhere is identical (18 events, " in result.out
    assert "golden ab train --base REF" in result.out

    project.edit("EVENT", "if (env, step) == (2, 3): continue")
    result = project.golden(*verify)
    assert result.code == 1
    assert "event 11 (step) of env 2 is missing" in result.out

    (goldens / "common.json").unlink()
    assert project.golden(*verify).code == 4


def test_unusable_goldens(project: Project, goldens: Path) -> None:
    """Found before the run is started, but for the last, whose golden may be of another fingerprint."""
    path = own_golden(goldens)
    text = path.read_text()

    def refused() -> str:
        result = project.golden("verify", "train")
        assert result.code == 2
        return result.out

    table = json.loads(text)
    table["records"]["events"][0] = table["records"]["events"][1]
    path.write_text(json.dumps(table))
    assert "was tampered with" in refused()
    path.write_text(text[: len(text) // 2])
    assert "is damaged" in refused()
    path.write_text(text.replace('"format": 3', '"format": 2'))
    assert "has format 2, not 3" in refused()
    path.write_text(text)
    project.run_file("seed = 5\n" + RUN)
    assert "is of another version of run file train: record it again" in refused()


def test_update_is_refused_where_nobody_looks(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    result = project.golden("record", "train", "--update")
    assert result.code == 2
    assert "--update is refused when CI=true" in result.err


@pytest.mark.slow
def test_failures_harm_no_golden(project: Project, goldens: Path) -> None:
    before = own_golden(goldens).read_text()
    text = (project.root / "train.py").read_text()

    project.script("raise SystemExit('boom')")
    result = project.golden("record", "train", "--update")
    assert result.code == 3
    assert "boom" in result.err
    assert own_golden(goldens).read_text() == before

    project.script(text)
    project.edit("BEFORE STEP", "host[0].weight.grad += time.time() % 1")
    result = project.golden("record", "train", "--update")
    assert result.code == 1
    assert "differs from itself on a second run, so it gets no golden" in result.err
    assert own_golden(goldens).read_text() == before


@pytest.mark.slow
def test_one_crash_among_several(project: Project, goldens: Path) -> None:
    project.script("raise SystemExit('boom')\n", "broken.py")
    project.run_file(RUN.replace("train.py", "broken.py"), "broken")
    result = project.golden("verify", "-n", "2")
    assert result.code == 3
    assert "broken: failed: run broken: exit status 1 before the first optimizer step: boom" in result.out
    assert "train: identical" in result.out


def test_shipped_goldens_are_small() -> None:
    """Somebody reviews them in a diff, and everybody clones them."""
    sizes = {path: path.stat().st_size for path in FIXTURES.rglob("*.json")}
    assert len(sizes) > 30
    assert [path.name for path, size in sizes.items() if size > 200_000] == []
    assert sum(sizes.values()) <= 2_000_000


def test_golden_of_a_long_run_is_small(tmp_path: Path) -> None:
    events = [("loss", None, {"number": number}) for number in range(5000)]
    trace = load_trace(write_trace(tmp_path / "long", steps=2000, events=events))
    assert len(records_of(trace).model_dump_json()) <= 250_000
