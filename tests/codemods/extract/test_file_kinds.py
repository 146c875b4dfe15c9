"""What is no file that can be read gets one clear line from every command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codemods.__main__ import main


@pytest.mark.parametrize("command", ["extract", "audit", "hotpath"])
def test_a_file_that_can_not_be_read_is_one_line(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dangling.py").symlink_to("nowhere.py")
    os.mkfifo("pipe.py")
    Path("one.py").symlink_to("other.py")
    Path("other.py").symlink_to("one.py")
    Path("notes.ipynb").write_text('{"cells": []}')
    told = {
        "dangling.py": ("is not there", "no such file"),
        "pipe.py": ("is not a regular file",),
        "one.py": ("Symlink loop", "Too many levels of symbolic links", "no such file"),
        "notes.ipynb": ("is a notebook", "is none", "nothing was checked"),
    }
    for name, ways in told.items():
        assert main([command, name]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert any(way in line for way in ways), line
