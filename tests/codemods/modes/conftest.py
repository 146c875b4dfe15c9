"""Programs before and after a rewrite, compared by running them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.codemods.extract.conftest import Command, Ran, execute, extract

__all__ = ["execute", "extract"]

Rewrite = Callable[..., Ran]


@pytest.fixture
def same(tmp_path: Path, extract: Command, execute: Callable[..., str]) -> Rewrite:
    """Rewrite a program, check that it prints what it printed; what the command gave."""

    def run(program: str, *options: str) -> Ran:
        (tmp_path / "pyproject.toml").write_text("")
        path = tmp_path / "program.py"
        path.write_text(program)
        before = execute(tmp_path, "program.py")
        assert before
        ran = extract(path, *options, "--output-format", "json", "--write")
        assert ran.code == 0, ran.err + ran.out
        assert path.read_text() != program
        assert execute(tmp_path, "program.py") == before
        return ran

    return run


@pytest.fixture
def refused(tmp_path: Path, extract: Command) -> Callable[..., str]:
    """Try to rewrite a program; the code with which its one helper asked for is refused."""

    def run(program: str, *options: str) -> str:
        path = tmp_path / "program.py"
        path.write_text(program)
        ran = extract(path, *options, "--output-format", "json", "--write")
        assert ran.code == 1, ran.err + ran.out
        assert path.read_text() == program
        codes = [helper["code"] for helper in ran.json["helpers"] if helper["status"] == "refused"]
        reasons = [helper["reason"] for helper in ran.json["helpers"] if helper["status"] == "refused"]
        assert len(codes) == 1
        assert reasons[0].startswith("line ")
        return str(codes[0])

    return run
