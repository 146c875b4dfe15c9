"""Fixtures: a small project to change and record, and the trace of the unchanged one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from golden.cli import main
from golden.record import Closely, find_run, record_run
from tests.golden.project import RUN, TRAIN, Project


@pytest.fixture
def project(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in the current folder."""
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    return Project(root, capsys)


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """The trace of the unchanged script, recorded once."""
    folder = tmp_path_factory.mktemp("reference")
    trace = folder / "out" / "train"

    def get() -> Path:
        if not trace.exists():
            (folder / "golden" / "runs").mkdir(parents=True)
            (folder / "train.py").write_text(TRAIN)
            (folder / "golden" / "runs" / "train.toml").write_text(RUN)
            closely = Closely(dense=range(100))
            record_run(find_run("train", folder), root=folder, out=trace, closely=closely, label="train")
        return trace

    return get


@pytest.fixture(scope="session")
def _golden_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("golden") / "project"
    (root / "golden" / "runs").mkdir(parents=True)
    (root / "train.py").write_text(TRAIN)
    (root / "golden" / "runs" / "train.toml").write_text(RUN)
    assert main(["record", "train", "--update", "--root", str(root)]) == 0
    return root / "golden" / "fixtures"


@pytest.fixture
def goldens(project: Project, _golden_template: Path) -> Path:
    """The folder of the goldens of the unchanged script, in the project."""
    folder = project.root / "golden" / "fixtures"
    shutil.copytree(_golden_template, folder)
    return folder / "train"
