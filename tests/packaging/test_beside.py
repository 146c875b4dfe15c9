"""The action installs the gate beside an environment and replaces nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, Environment, bare, metadata, needed, show

BESIDE = ROOT / "ci" / "beside.py"
# No index is asked, and the wheel is built with what is there.
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}


@pytest.fixture
def theirs(wheel: Path, tmp_path: Path) -> Environment:
    """An environment that has all the gate needs, but not the gate."""
    environment = bare(tmp_path / "theirs", metadata(wheel), "all")
    show(needed(["hatchling"]), environment.site)
    return environment


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.name: b"link" if path.is_symlink() else path.read_bytes()
        for path in folder.iterdir()
        if path.is_symlink() or path.is_file()
    }


@pytest.mark.slow
def test_what_is_there_is_kept_and_seen(theirs: Environment, tmp_path: Path) -> None:
    before = files(theirs.site)
    done = theirs.run("python", BESIDE, "install", tmp_path / "gate", cwd=tmp_path, **OFFLINE)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert files(theirs.site) == before
    gate = Environment(tmp_path / "gate")
    own = {path.name.partition("-")[0] for path in gate.site.glob("*.dist-info")}
    assert own == {"esper_harness", "pip"}
    assert gate.run("golden-gate", "--version", cwd=tmp_path).stdout == "golden-gate 0.1.0\n"
    program = "import sys, importlib.util as u; print(u.find_spec('torch').origin)"
    assert gate.run("python", "-c", program, cwd=tmp_path).stdout.startswith(str(theirs.site))


@pytest.mark.slow
def test_what_would_have_to_be_replaced_is_refused(theirs: Environment, tmp_path: Path) -> None:
    for path in theirs.site.glob("click-*.dist-info"):
        path.unlink()
    about = theirs.site / "click-7.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: click\nVersion: 7.0\n")
    first = theirs.run("python", BESIDE, "key", cwd=tmp_path).stdout
    assert len(first.strip()) == 32
    done = theirs.run("python", BESIDE, "install", tmp_path / "gate", cwd=tmp_path, **OFFLINE)
    assert done.returncode == 2
    assert "click" in done.stderr
    assert "without replacing one of them" in done.stderr
    assert "Traceback" not in done.stderr
    for path in theirs.site.glob("torch-*.dist-info"):
        path.unlink()
    assert theirs.run("python", BESIDE, "key", cwd=tmp_path).stdout != first
    done = theirs.run("python", BESIDE, "install", tmp_path / "gate", cwd=tmp_path, **OFFLINE)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no torch in this Python" in done.stderr
