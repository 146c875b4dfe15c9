"""The suite under pytest: run files as tests, shards."""

from __future__ import annotations

import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden.check.results import parse_shard, shard
from golden.record import Run
from golden.trace.errors import UnusableInput
from tests.golden.project import PLAIN_RUN, Project

pytest_plugins = ["pytester"]


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=30), st.integers(1, 6))
def test_every_run_is_in_exactly_one_shard(budgets: list[float], count: int) -> None:
    runs = [Run(name=f"r{i}", command=("python",), budget=budget) for i, budget in enumerate(budgets)]
    shards = [shard(runs, index, count) for index in range(1, count + 1)]
    assert sorted(run.name for part in shards for run in part) == sorted(run.name for run in runs)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


@pytest.mark.parametrize("text", ["0/2", "3/2", "x", "1/", "1"])
def test_shard_that_makes_no_sense(text: str) -> None:
    with pytest.raises(UnusableInput, match="give I/N"):
        parse_shard(text)


def suite(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-p", "golden.plugin", "-p", "no:cacheprovider", "golden", *options)


def test_run_files_as_tests(project: Project, pytester: pytest.Pytester) -> None:
    shutil.copytree(project.root, pytester.path, dirs_exist_ok=True)
    project.root = pytester.path
    project.plain()
    project.run_file(PLAIN_RUN.replace("train.py", "crash.py"), "crash")
    project.script("raise SystemExit('boom')", "crash.py")
    project.run_file("nonsense = 1\n", "wrong")
    result = suite(pytester)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*wrong.toml: unknown key nonsense*"])
    (pytester.path / "golden" / "runs" / "wrong.toml").unlink()

    result = suite(pytester)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*no golden for this machine*"])

    folder = pytester.path / "golden" / "fixtures"
    (folder / "gone").mkdir(parents=True)
    (folder / "gone" / "exact-cpu-0123.json").write_text("{}")
    assert project.golden("record", "train", "--update", "--root", pytester.path).code == 0
    result = suite(pytester)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*exit status 1 before the first optimizer step: boom"])
    assert (folder / "gone" / "exact-cpu-0123.json").exists()
    assert len(list((folder / "train").glob("*.json"))) == 2
    assert not (folder / "crash").exists()

    result = suite(pytester, "-k", "train")
    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.fnmatch_lines(["*= golden =*", "1 runs: 1 s planned, * s spent"])

    project.plain("log.write('{}')")
    result = suite(pytester, "-k", "train")
    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines(["*not a JSON object*"])

    project.plain("step += 1")
    result = suite(pytester, "-k", "train")
    result.assert_outcomes(passed=1, deselected=1)


TOLERANT = (
    PLAIN_RUN
    + """
[[tolerance]]
field = "loss"
ulps = 2
reason = "summed in any order"
"""
)


def test_tolerance_under_pytest(project: Project, pytester: pytest.Pytester) -> None:
    shutil.copytree(project.root, pytester.path, dirs_exist_ok=True)
    project.root = pytester.path
    line = 'log.write(json.dumps({"type": "loss", "loss": 0.1 + 2**-56 * ULPS}) + chr(10))'
    project.plain(line.replace("ULPS", "0"), run=TOLERANT)
    assert project.golden("record", "train", "--update", "--root", pytester.path).code == 0
    project.plain(line.replace("ULPS", "2"), run=TOLERANT)
    result = suite(pytester)
    result.assert_outcomes(passed=1)
    said = (
        "train: equal within 2 ulps: event field loss (3 values differ by up to 2 ulps): summed in any order"
    )
    result.stdout.fnmatch_lines([said, "1 runs: 1 s planned, * s spent"])
    project.plain(line.replace("ULPS", "3"), run=TOLERANT)
    result = suite(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*first divergence: event * field loss: *"])


def test_strict_markers_without_xdist(project: Project, pytester: pytest.Pytester) -> None:
    shutil.copytree(project.root, pytester.path, dirs_exist_ok=True)
    options = ("-p", "golden.plugin", "-p", "no:xdist", "--strict-markers", "--collect-only", "golden")
    result = pytester.runpytest_subprocess(*options)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*train*", "*1 test collected*"])
