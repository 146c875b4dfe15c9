"""Running the command in process, and the programs that it rewrote in a fresh interpreter."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from codemods.extract import main


@dataclass(frozen=True)
class Ran:
    """What a run of the command gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The report, where JSON was asked for."""
        document: dict[str, Any] = json.loads(self.out)
        return document

    @property
    def helpers(self) -> dict[str, dict[str, Any]]:
        """The report's helpers by name."""
        return {helper["name"]: helper for helper in self.json["helpers"]}


Command = Callable[..., Ran]
Execute = Callable[..., str]


@pytest.fixture
def extract() -> Command:
    """Run ``codemods extract`` with some arguments."""

    def run(*arguments: object) -> Ran:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(argument) for argument in arguments])
        return Ran(code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def execute() -> Execute:
    """Run a script in a fresh interpreter; what it printed."""

    def run(folder: Path, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
