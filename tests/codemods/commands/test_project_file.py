"""A `pyproject.toml` that is not TOML ends each command with one line that says where it is wrong."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from codemods.audit.cli import main as audit
from codemods.extract import main as extract
from codemods.hotpath.cli import main as hotpath
from codemods.review.cli import main as review

Main = Callable[[Sequence[str]], int]
PROGRAM = "def outer(n):\n    def inner(x):\n        return x + n\n\n    return inner(1)\n"


@pytest.mark.parametrize(
    ("main", "arguments"),
    [
        (audit, ["train.py"]),
        (extract, ["train.py"]),
        (hotpath, ["."]),
        (review, ["--base", ".", "--head", "."]),
    ],
)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[tool.x]\ny = = 1\n", "pyproject.toml:2:5: not valid TOML: Invalid value"),
        (b"[tool.x]\ny = '\xff'\n", "pyproject.toml:2: not valid TOML: not UTF-8"),
        (b"tool = 3\n", "pyproject.toml:1: `tool` must be a table"),
    ],
)
def test_it_is_an_error_with_its_place(
    main: Main,
    arguments: list[str],
    text: bytes,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "pyproject.toml").write_bytes(text)
    assert main(arguments) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("codemods ")
    assert line.endswith(message)
