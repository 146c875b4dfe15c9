"""Files that a run writes into its tree and elsewhere: compared, or named with the line to add."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.project import Project
from tests.trees import commit

SCRIPT = """
import json, os, sys, time
from pathlib import Path
base = os.environ.get("SIDE") == "base"
score = 0.9 if base else 0.1
# WRITE
print("done")
"""
RUN = """
command = ["python", "train.py", "{out}"]
budget = 1
environment = { SIDE = "head" }
[observe]
steps = false
[variants.base]
environment = { SIDE = "base" }
"""
METRICS = "os.makedirs('runs/a', exist_ok=True); Path('runs/a/metrics.json').write_text(json.dumps(score))"


def prepared(project: Project, code: str, outputs: str = "") -> Project:
    project.script(SCRIPT)
    project.edit("WRITE", code)
    project.run_file(RUN + (f"[outputs]\n{outputs}\n" if outputs else ""))
    return project


@pytest.mark.parametrize("pattern", ["runs/**", "runs", "runs/**/*.json", "runs/**.json"])
def test_a_pattern_names_all_files_below(project: Project, pattern: str) -> None:
    result = prepared(project, METRICS, f'files = ["{pattern}"]').golden("ab", "train")
    assert result.code == 1, result
    assert "first divergence: file runs/a/metrics.json: field value: 0.9 -> 0.1" in result.out
    assert "written outside" not in result.out


@pytest.mark.parametrize("command", ["ab", "doctor"])
def test_a_pattern_that_matches_nothing_is_an_error(project: Project, command: str) -> None:
    result = prepared(project, METRICS, 'files = ["run/metric*.json"]').golden(command, "train")
    assert result.code == 2, result
    assert "[outputs] files: run/metric*.json matches no file that the run wrote" in result.err
    assert "it wrote runs/a/metrics.json" in result.err


def test_an_absolute_pattern_is_an_error(project: Project) -> None:
    result = prepared(project, METRICS, 'files = ["/tmp/*.json"]').golden("doctor", "train")
    assert (result.code, "/tmp/*.json is absolute; [outputs] files are relative" in result.err) == (2, True)


def test_a_file_that_one_side_alone_writes_is_a_difference(project: Project) -> None:
    code = "base and Path('scores.json').write_text('1')"
    result = prepared(project, code, 'files = ["scores.json"]').golden("ab", "train")
    assert (result.code, "file scores.json is missing in head" in result.out) == (1, True), result


def test_files_that_nothing_compares_are_named(project: Project, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere.txt"
    code = (
        f"{METRICS}; Path('runs/b').write_text('x'); Path('top.txt').write_text('y')"
        f"; open({str(other)!r}, 'w'); Path('part').write_text('z'); os.replace('part', 'whole.txt')"
        "; os.close(os.open('raw', os.O_CREAT | 1)); open(sys.argv[1] + '/own', 'w'); open('train.py').read()"
    )
    result = prepared(project, code).golden("doctor", "train")
    assert result.code == 0, result
    named = [
        line for line in result.out.splitlines() if line.startswith("not compared, written outside {out}: ")
    ]
    said = "\n".join(named)
    assert 'runs/** (2 files); to compare, add to [outputs]: files = ["runs/**"]' in said
    for name in ("top.txt", "whole.txt", "raw"):
        assert f'{name}; to compare, add to [outputs]: files = ["{name}"]' in said
    assert f"{other}; to compare, let the program write to {{out}}" in said
    assert len(named) == 5
    prepared(project, code, 'files = ["runs/**", "*.txt", "raw"]\nignore = ["*elsewhere.txt"]')
    result = project.golden("doctor", "train")
    assert (result.code, "written outside" in result.out) == (0, False), result


def test_a_golden_names_them_too(project: Project) -> None:
    prepared(project, METRICS)
    assert project.golden("record", "train", "--update").code == 0
    result = project.golden("verify", "train")
    assert (result.code, 'files = ["runs/a/metrics.json"]' in result.out) == (0, True), result


@pytest.mark.parametrize(
    "code",
    [
        # Another process, as an editor is one.
        "import subprocess; subprocess.run(['touch', '-d', '2001-01-01', 'train.py'], check=True)",
        "import subprocess; subprocess.run(['touch', 'new.py'], check=True)",
    ],
)
def test_a_tree_that_changes_meanwhile_is_an_error(project: Project, code: str) -> None:
    result = prepared(project, code).golden("ab", "train")
    assert result.code == 2, result
    assert ".py changed while it ran" in result.err


def test_what_the_program_writes_itself_is_no_edit(project: Project) -> None:
    result = prepared(project, "Path('made.py').write_text(str(time.time()))").golden("ab", "train")
    assert (result.code, 'files = ["made.py"]' in result.out) == (0, True), result


def test_a_link_to_a_folder_in_which_it_writes_is_no_edit(project: Project) -> None:
    (project.root / "real").mkdir()
    (project.root / "runs").symlink_to("real", target_is_directory=True)
    prepared(project, "Path('real/scores.txt').write_text('1')")
    commit(project.root)
    result = project.golden("ab", "train")
    assert (result.code, "real/scores.txt" in result.out) == (0, True), result
