"""Other versions of a repository: submodules, a dirty tree, a disk without room for a golden."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.golden.project import Project
from tests.trees import commit, git, read, write

IDENTICAL = "identical: train, base (HEAD) and head (working tree)"


@pytest.fixture
def versions(project: Project) -> Project:
    """A repository with one commit, whose run needs no torch."""
    project.plain()
    commit(project.root)
    return project


def test_a_dirty_tree_is_compared_as_it_is_and_said(versions: Project) -> None:
    common = ("ab", "train", "--base", "HEAD")
    result = versions.golden(*common)
    assert (result.code, "uncommitted" in result.err) == (0, False)
    versions.plain("step += 1")
    result = versions.golden(*common)
    assert "the working tree has 1 uncommitted change;" in result.err
    assert result.code == 0
    result = versions.golden(*common, "--head", "HEAD")
    assert (result.code, "uncommitted" in result.err) == (0, False)


def test_a_program_that_tells_its_tree_and_finds_what_it_left_there(versions: Project) -> None:
    run = (versions.root / "golden" / "runs" / "train.toml").read_text()
    tells = "import pathlib; print(pathlib.Path('left').resolve())"
    leaves = f"{tells}; left = pathlib.Path('left'); left.exists() and print('left already'); left.touch()"
    for line in (tells, leaves):
        versions.plain(line, run)
        git(versions.root, "commit", "-qam", "a line")
        result = versions.golden("ab", "train", "--base", "HEAD")
        assert result.code == (0 if line is tells else 4), result.out
    assert "what differs first: stdout, line " in result.out
    assert "left already" in result.out
    assert "or leave it out by [outputs] mask" in result.out
    versions.run_file(run + '\n[outputs]\nmask = ["left already"]\n')
    result = versions.golden("ab", "train", "--base", "HEAD")
    assert result.code == 0, result.out


def test_a_commit_that_a_shallow_clone_lacks(versions: Project, tmp_path: Path) -> None:
    git(versions.root, "commit", "-q", "--allow-empty", "-m", "after")
    git(tmp_path, "clone", "-q", "--depth", "1", versions.root.as_uri(), "shallow")
    for root, hint in ((tmp_path / "shallow", True), (versions.root, False)):
        result = versions.golden("ab", "train", "--base", "HEAD~7", "--root", root)
        assert (result.code, "get more of it with `git fetch --unshallow`" in result.err) == (2, hint), result


def test_submodules_are_checked_out_or_refused_in_one_line(
    versions: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "library"
    commit(write(library, {"values.py": "STEPS = 3\n"}))
    git(versions.root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "library")
    text = (versions.root / "train.py").read_text()
    versions.script(text.replace("range(3)", "range(__import__('library.values').values.STEPS)"))
    git(versions.root, "commit", "-qam", "with a submodule")

    common = ("ab", "train", "--base", "HEAD")
    result = versions.golden(*common)
    assert result.code == 2
    assert "can't check out the submodules of HEAD: " in result.err
    assert len([line for line in result.err.splitlines() if line.startswith("golden: ")]) == 1

    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "protocol.file.allow")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "always")
    result = versions.golden(*common)
    assert (result.code, result.out.splitlines()[0]) == (0, IDENTICAL), result


def test_a_submodule_that_was_never_checked_out_is_not_asked_for(versions: Project, tmp_path: Path) -> None:
    library = tmp_path / "library"
    commit(write(library, {"values.py": "STEPS = 3\n"}))
    git(versions.root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "library")
    git(versions.root, "commit", "-qam", "with a submodule")
    git(versions.root, "submodule", "deinit", "-q", "library")
    result = versions.golden("ab", "train", "--base", "HEAD")
    assert (result.code, result.out.splitlines()[0]) == (0, IDENTICAL), result


def test_disk_full_while_a_golden_is_written(versions: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    update = ("record", "train", "--update")
    assert versions.golden(*update).code == 0
    folder = versions.root / "golden" / "fixtures"
    before = read(folder)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    versions.plain("step += 1; log.write('{}\\n')")
    with monkeypatch.context() as disk:
        disk.setattr("golden.check.fixtures.os.fsync", full)
        result = versions.golden(*update)
    assert result.code == 2
    assert result.err.splitlines()[-1].startswith("golden: can't write ")
    assert result.err.splitlines()[-1].endswith(": No space left on device")
    assert read(folder) == before
