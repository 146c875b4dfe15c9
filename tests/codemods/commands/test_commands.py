"""The rewrites as libcst commands: what a user of ``libcst.tool`` sees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import libcst as cst
import pytest
from libcst.codemod import (
    CodemodContext,
    SkipReason,
    TransformFailure,
    TransformResult,
    TransformSkip,
    TransformSuccess,
    transform_module,
)

from codemods.commands import LiftHelpers
from codemods.extract import main as extract
from tests.codemods.hazards.corpus import Case, load

PROGRAM = '''\
def train(rows, limit=3):
    seen = []

    def keep(row):
        """Whether a row passes."""
        seen.append(row)
        return row > limit

    def count(row):
        nonlocal limit
        limit += 1

    return [row for row in rows if keep(row)], count, seen


def other(rows):
    def last():
        return rows[-1]

    return last()
'''
ROOT = Path(__file__).parents[3]


def tool(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``libcst.tool codemod`` in a folder."""
    command = [sys.executable, "-m", "libcst.tool", "codemod", *arguments, "--hide-progress", "-j", "1"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_tree_of_files(tmp_path: Path) -> None:
    (tmp_path / ".libcst.codemod.yaml").write_text("modules: [codemods]\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "program.py").write_text(PROGRAM)
    (tmp_path / "src" / "plain.py").write_text("x = 1\n")
    ran = tool(tmp_path, "commands.LiftHelpers", "--no-format", "--function", "other", "src")
    assert ran.returncode == 0, ran.stderr
    assert "Transformed 1 files successfully" in ran.stderr
    assert "Skipped 1 files" in ran.stderr
    made = (tmp_path / "src" / "program.py").read_text()
    assert "return _last(rows=rows)" in made
    assert "    def keep(row):" in made


def test_a_command_by_its_full_name(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    ran = tool(tmp_path, "-x", "codemods.commands.LiftHelpers", "--no-format", "program.py")
    assert ran.returncode == 0, ran.stderr
    assert ": train.count is refused: nonlocal-write: " in ran.stderr
    assert "Way out: " in ran.stderr


def run(text: str, filename: Path | None = None, **options: Any) -> TransformResult:
    """Run the command on a text."""
    context = CodemodContext(filename=str(filename) if filename else None)
    return transform_module(LiftHelpers(context, **options), text)


def test_refusals_are_warnings_and_the_rest_is_lifted() -> None:
    result = run(PROGRAM)
    assert isinstance(result, TransformSuccess)
    assert any(": train.count is refused: nonlocal-write: " in text for text in result.warning_messages)
    assert all("Way out: " in text for text in result.warning_messages)
    assert "_last(rows=rows)" in result.code


def test_only_refusals_change_nothing() -> None:
    result = run(PROGRAM, helper=["count"])
    assert isinstance(result, TransformSuccess)
    assert result.code == PROGRAM
    assert len(result.warning_messages) == 1


@pytest.mark.parametrize("options", [{"helper": ["gone"]}, {"function": "gone"}])
def test_nothing_to_do_is_a_skip(options: dict[str, object]) -> None:
    result = run(PROGRAM, **options)
    assert isinstance(result, TransformSkip)
    assert result.skip_reason is SkipReason.OTHER
    assert isinstance(run("x = 1\n"), TransformSkip)


def test_what_is_lifted_already_is_a_skip() -> None:
    once = run(PROGRAM, function="other")
    assert isinstance(once, TransformSuccess)
    assert isinstance(run(once.code, function="other"), TransformSkip)


@pytest.mark.parametrize(
    "data",
    [
        PROGRAM.replace("\n", "\r\n").encode(),
        b"# -*- coding: latin-1 -*-\n#\n# \xe9\xfc\xdf\n" + PROGRAM.encode(),
        PROGRAM.rstrip("\n").encode(),
    ],
    ids=["crlf", "latin-1", "no last line end"],
)
def test_bytes_are_those_of_extract(tmp_path: Path, data: bytes) -> None:
    ours, theirs = tmp_path / "ours.py", tmp_path / "theirs.py"
    ours.write_bytes(data)
    theirs.write_bytes(data)
    assert extract([str(ours), "--function", "other", "--write", "--quiet"]) == 0
    command = LiftHelpers(CodemodContext(filename=str(theirs)), function="other")
    assert command.transform_module(cst.parse_module(data)).bytes == ours.read_bytes() != data


FORM_FEED = PROGRAM.replace("\ndef other", "\n\x0cdef train2(): pass\n\ndef other")


@pytest.mark.parametrize(("file", "given"), [(PROGRAM, PROGRAM + "x = 1\n"), (FORM_FEED, FORM_FEED)])
def test_a_tree_that_is_not_the_file_is_a_skip(file: str, given: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(file)
    result = run(given, path)
    assert isinstance(result, TransformSkip)
    assert "another command changed it" in result.skip_description


ONE_FILE = [case for case in load() if case.arguments == ("main.py",) and sys.version_info >= case.python]


@pytest.mark.slow
@pytest.mark.parametrize("case", ONE_FILE, ids=lambda case: case.id)
def test_every_hazard_comes_out_as_from_extract_or_not_at_all(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = case.programs["orig"]["main.py"]
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "main.py"
    path.write_text(text)
    status = extract([str(path), "--write", "--quiet"])
    result = run(text)
    assert not isinstance(result, TransformFailure) or status == 2, result
    assert not isinstance(result, TransformSuccess) or result.code in (path.read_text(), text)
