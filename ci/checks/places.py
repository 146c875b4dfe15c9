"""Where a golden run that failed is shown: a line of the program, else its run file."""

from __future__ import annotations

import re
from pathlib import Path

from ci.verdicts import Place
from golden.check.localize import Localized
from golden.record.files import RUNS_FOLDER

# As `golden ab --localize` names the line of an operation, in base, then in head if it is another one.
_LINE = re.compile(r"(?: at |head: )(?P<file>.+?):(?P<line>\d+)")


def folder_of(name: str) -> str:
    """Return the name for files of a golden run's check."""
    return f"golden-{name}"


def command_place(root: Path, name: str, message: str) -> Place:
    """The line of the run file that says what is run."""
    file = RUNS_FOLDER / f"{name.partition('.')[0]}.toml"
    try:
        lines = (root / file).read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    starts = (number for number, line in enumerate(lines, 1) if line.startswith(("command", "entry")))
    return Place(message, file.as_posix(), next(starts, 1))


def program_place(root: Path, found: Localized, message: str) -> Place | None:
    """The line of the program whose operation is the first that differs, if it is a line of the tree."""
    for _, told in found.operations:
        for match in reversed([*_LINE.finditer(told)]):
            if (root / match["file"]).is_file():
                return Place(message, Path(match["file"]).as_posix(), int(match["line"]))
    return None
