"""A suite split over machines, and its results put together again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.golden.project import PLAIN_RUN, Project
from tests.trees import commit

NAMES = ("one", "three", "two")


@pytest.fixture
def suite(project: Project) -> Project:
    """Three runs without torch, with their goldens."""
    project.plain()
    (project.root / "golden" / "runs" / "train.toml").unlink()
    for name in NAMES:
        project.script((project.root / "train.py").read_text(), f"{name}.py")
        project.run_file(PLAIN_RUN.replace("train.py", f"{name}.py"), name)
    assert project.golden("record", *NAMES, "--update").code == 0
    return project


def verify(project: Project, shard: str) -> int:
    out = project.root.parent / f"shard-{shard.replace('/', '-')}"
    return project.golden("verify", "--shard", shard, "-o", out).code


def merge(project: Project, *folders: str, files: Sequence[Path] = ()) -> tuple[int, str]:
    paths = [project.root.parent / folder for folder in folders]
    outputs = files or [project.root.parent / "summary.md"]
    options = [part for path in outputs for part in ("-o", path)]
    result = project.golden("report", "--merge", *paths, *options)
    return result.code, result.out + result.err


def test_shards_of_verify_are_put_together(suite: Project, tmp_path: Path) -> None:
    assert [verify(suite, f"{index}/2") for index in (1, 2)] == [0, 0]
    files = {kind: tmp_path / f"out.{kind}" for kind in ("html", "md", "xml")}
    code, said = merge(suite, "shard-2-2", "shard-1-2", files=[*files.values()])
    assert code == 0
    assert [line.split(" (")[0] for line in said.splitlines()[:3]] == [f"{name}: identical" for name in NAMES]
    assert "3 identical of 3 runs" in files["html"].read_text()
    assert "| `two` | identical |" in files["md"].read_text()
    root = ElementTree.parse(files["xml"]).getroot()
    assert [root.get(key) for key in ("tests", "failures", "errors")] == ["3", "0", "0"]


def test_the_worst_run_of_all_shards_decides(suite: Project, tmp_path: Path) -> None:
    (suite.root / "two.py").write_text((suite.root / "two.py").read_text().replace("range(3)", "range(4)"))
    assert sorted(verify(suite, f"{index}/3") for index in (1, 2, 3)) == [0, 0, 1]
    junit = tmp_path / "out.xml"
    code, said = merge(suite, "shard-1-3", "shard-2-3", "shard-3-3", files=[junit])
    assert code == 1
    assert "two: different: golden and this run; first divergence: event 3 (step) is extra" in said
    failure = ElementTree.parse(junit).getroot().find("testsuite[@name='two']/testcase/failure")
    assert failure is not None


def test_a_shard_without_a_result_is_never_a_pass(suite: Project) -> None:
    assert verify(suite, "1/2") == 0
    code, said = merge(suite, "shard-1-2", "shard-2-2")
    assert code == 3
    assert "golden: shard 2 of 2 left no result" in said
    assert said.count(": no result: shard 2 of 2 left none") >= 1


def test_folders_that_are_not_shards_of_one_suite(suite: Project) -> None:
    assert verify(suite, "1/2") == 0
    assert verify(suite, "1/3") == 0
    assert merge(suite, "shard-1-2", "shard-1-3")[0] == 2
    code, said = merge(suite, "shard-1-2", "shard-1-2")
    assert (code, "shard 1 of 2 is there twice" in said) == (2, True)
    code, said = merge(suite, "nowhere")
    assert (code, "no results.json in" in said) == (2, True)
    (suite.root.parent / "shard-1-2" / "results.json").write_text("{")
    code, said = merge(suite, "shard-1-2")
    assert (code, "results.json is damaged" in said) == (2, True)
    result = suite.golden("report", suite.root, "-o", suite.root / "x.html")
    assert (result.code, "name two traces, A and B" in result.err) == (2, True)


def test_ab_of_all_runs_in_shards(suite: Project, tmp_path: Path) -> None:
    commit(suite.root)
    (suite.root / "three.py").write_text(
        (suite.root / "three.py").read_text().replace("range(3)", "range(2)")
    )
    (suite.root / "one.py").write_text("raise SystemExit('boom')")
    codes = []
    for index in (1, 2):
        out = tmp_path / f"ab-{index}"
        result = suite.golden("ab", "--base", "HEAD", "--shard", f"{index}/2", "-o", out)
        codes.append(result.code)
        assert "the working tree has 2 uncommitted changes;" in result.err
    assert max(codes) == 3
    page = tmp_path / "page.html"
    code, said = merge(suite, str(tmp_path / "ab-1"), str(tmp_path / "ab-2"), files=[page])
    assert code == 3
    assert "one: failed" not in said
    assert "run one: exit status 1 before the first optimizer step: boom" in said
    assert "three: different: event 2 (step) is missing in head" in said
    assert "1 different, 1 failed, 1 identical of 3 runs" in page.read_text()
    result = suite.golden("ab")
    assert (result.code, "name a run, or compare all of them" in result.err) == (2, True)


def test_another_device(suite: Project) -> None:
    result = suite.golden("verify", "one", "--device", "cuda")
    assert (result.code, "run one can't go to cuda: its command has no {device}" in result.err) == (2, True)
    suite.run_file(PLAIN_RUN.replace('train.py", "{out}"', 'two.py", "{out}", "{device}"'), "two")
    result = suite.golden("verify", "two", "--device", "quantum")
    assert (result.code, "no device quantum: say cpu, cuda, cuda:N, simulated" in result.err) == (2, True)
    result = suite.golden("verify", "--device", "cuda:99")
    assert "left out, since their command has no {device}: one, three" in result.err
    assert result.code == 4
    assert "run two needs the CUDA device cuda:99" in result.out
