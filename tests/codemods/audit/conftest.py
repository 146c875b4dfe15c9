"""Small repositories, written file by file."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

Tree = Callable[[dict[str, str]], Path]


@pytest.fixture
def make_tree(tmp_path: Path) -> Tree:
    """Write files (path to text) below a fresh root, and give the root."""

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text))
        return tmp_path

    return write
