"""The rewrites as libcst commands: what a user of ``libcst.tool`` sees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import libcst as cst
import pytest
from libcst.codemod import (
    CodemodContext,
    SkipFile,
    SkipReason,
    TransformFailure,
    TransformResult,
    TransformSkip,
    TransformSuccess,
    transform_module,
)

from codemods.commands import BoxVariables, CollectCaptures, LiftHelpers, SplitResidual
from codemods.commands.command import HelperCommand
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


def run(command: type[HelperCommand], text: str, **options: object) -> TransformResult:
    """Run a command on a text."""
    return transform_module(command(CodemodContext(), **options), text)  # type: ignore[arg-type]


def test_refusals_are_warnings_and_the_rest_is_lifted() -> None:
    result = run(LiftHelpers, PROGRAM)
    assert isinstance(result, TransformSuccess)
    assert any(": train.count is refused: nonlocal-write: " in text for text in result.warning_messages)
    assert all("Way out: " in text for text in result.warning_messages)
    assert "_last(rows=rows)" in result.code


def test_only_refusals_change_nothing() -> None:
    result = run(LiftHelpers, PROGRAM, helper=["count"])
    assert isinstance(result, TransformSuccess)
    assert result.code == PROGRAM
    assert len(result.warning_messages) == 1


@pytest.mark.parametrize("options", [{"helper": ["gone"]}, {"function": "gone"}])
def test_nothing_to_do_is_a_skip(options: dict[str, object]) -> None:
    result = run(LiftHelpers, PROGRAM, **options)
    assert isinstance(result, TransformSkip)
    assert result.skip_reason is SkipReason.OTHER
    assert isinstance(run(LiftHelpers, "x = 1\n"), TransformSkip)


def test_what_is_lifted_already_is_a_skip() -> None:
    once = run(LiftHelpers, PROGRAM, function="other")
    assert isinstance(once, TransformSuccess)
    assert isinstance(run(LiftHelpers, once.code, function="other"), TransformSkip)


def test_the_other_rewrites() -> None:
    split = run(SplitResidual, PROGRAM, helper=["last"])
    boxed = run(BoxVariables, PROGRAM, function="train", helper=["count"])
    collected = run(CollectCaptures, PROGRAM, function="other")
    assert isinstance(split, TransformSuccess)
    assert isinstance(boxed, TransformSuccess)
    assert isinstance(collected, TransformSuccess)
    assert "return _last(rows=rows)" in split.code
    assert "    def last():" in split.code
    assert "context.rows[-1]" in collected.code


def lifted_and_not(folder: Path, data: bytes) -> tuple[Path, Path]:
    """Two files that held the same, of which `extract` lifted the helpers of one."""
    ours, theirs = folder / "ours.py", folder / "theirs.py"
    ours.write_bytes(data)
    theirs.write_bytes(data)
    assert extract([str(ours), "--function", "other", "--write", "--quiet"]) == 0
    return ours, theirs


@pytest.mark.parametrize(
    "data",
    [
        PROGRAM.replace("\n", "\r\n").encode(),
        b"# -*- coding: latin-1 -*-\n#\n# \xe9\xfc\xdf\n" + PROGRAM.encode(),
        PROGRAM.replace("    ", "\t").encode(),
        PROGRAM.rstrip("\n").encode(),
        b"\xef\xbb\xbf" + PROGRAM.encode(),
    ],
    ids=["crlf", "latin-1", "tabs", "no last line end", "byte order mark"],
)
def test_bytes_are_those_of_extract(tmp_path: Path, data: bytes) -> None:
    ours, theirs = lifted_and_not(tmp_path, data)
    ran = tool(
        tmp_path, "-x", "codemods.commands.LiftHelpers", "--no-format", "--function", "other", "theirs.py"
    )
    assert ran.returncode == 0, ran.stderr
    assert theirs.read_bytes() == ours.read_bytes() != data


def written(command: type[HelperCommand], path: Path, **options: object) -> bytes:
    """What the tool would write for a file."""
    made = command(CodemodContext(filename=str(path)), **options)  # type: ignore[arg-type]
    return made.transform_module(cst.parse_module(path.read_bytes())).bytes


ELIFS = "".join(f"    elif n == {number}:\n        return last({number})\n" for number in range(450))
DEEP = f"def other(n, rows):\n    def last(x):\n        return rows[x]\n    if not n:\n        pass\n{ELIFS}"


@pytest.mark.parametrize(
    "data",
    [
        PROGRAM.encode() + b"\r",
        PROGRAM.encode().replace(b"\ndef other", b"\n\x0cdef train2(): pass\n\ndef other"),
        PROGRAM.encode() + b"\n   \n\t",
        DEEP.encode(),
    ],
    ids=["a return at the end", "a form feed", "blanks at the end", "450 branches"],
)
def test_what_libcst_would_write_differently_comes_out_as_from_extract(tmp_path: Path, data: bytes) -> None:
    ours, theirs = lifted_and_not(tmp_path, data)
    assert written(LiftHelpers, theirs, function="other") == ours.read_bytes() != data
    if b"count" in data:
        assert written(LiftHelpers, theirs, helper=["count"]) == data


def test_a_closure_that_only_forwards_is_not_split_again(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    path.write_bytes(written(SplitResidual, path, helper=["other.<locals>.last"]))
    assert b"_last(rows=rows)" in path.read_bytes()
    with pytest.raises(SkipFile, match="no helper to rewrite"):
        written(SplitResidual, path, function="other")


def test_a_text_that_says_another_encoding_than_it_has_is_a_skip() -> None:
    text = "# coding: latin-1\nname = '\xe9'\n" + PROGRAM
    result = run(LiftHelpers, text)
    assert isinstance(result, TransformSkip)
    assert "name another encoding" in result.skip_description


def test_a_tree_that_another_command_changed_is_a_skip(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    command = LiftHelpers(CodemodContext(filename=str(path)))
    with pytest.raises(SkipFile, match="is not what the file holds"):
        command.transform_module(cst.parse_module(PROGRAM + "x = 1\n"))


ONE_FILE = [case for case in load() if case.arguments == ("main.py",) and sys.version_info >= case.python]


@pytest.mark.slow
@pytest.mark.parametrize("case", ONE_FILE, ids=lambda case: case.id)
def test_every_hazard_comes_out_as_from_extract(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = case.programs["orig"]["main.py"]
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "main.py"
    path.write_text(text)
    status = extract([str(path), "--write", "--quiet"])
    result = run(LiftHelpers, text)
    assert not isinstance(result, TransformFailure) or status == 2, result
    assert (result.code if isinstance(result, TransformSuccess) else text) == path.read_text()
