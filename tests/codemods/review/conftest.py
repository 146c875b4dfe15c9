"""Two small trees, and what the review says of them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from codemods.review.cli import main
from tests.trees import commit, write

Files = Mapping[str, str]
BEFORE = "def step(x):\n    return x + 1\n\n\ndef run(x):\n    return step(x)\n"


class Reviewed:
    """The exit status, and the classes of definitions by name."""

    def __init__(self, status: int, document: dict[str, Any], folder: Path) -> None:
        self.status = status
        self.folder = folder
        self.document = document

    def classes(self) -> dict[str, str]:
        return {
            (outcome.get("head") or outcome["base"])["qualname"]: outcome["class"]
            for outcome in self.document["definitions"]
        }

    def left(self, side: str) -> set[tuple[str, int]]:
        """Paths and lines that are left to read; `gone` lines are of the base, `new` ones of the head."""
        places = [
            place
            for outcome in self.document["definitions"]
            for place in outcome.get(side, ())
            or (outcome.get("left", ()) if outcome["class"] == side else ())
        ]
        return {
            (place["path"], line) for place in places for line in range(place["first"], place["last"] + 1)
        }


@pytest.fixture
def compare(tmp_path: Path) -> Callable[[Files, Files], Reviewed]:
    def compared(base: Files, head: Files) -> Reviewed:
        for side, files in (("base", base), ("head", head)):
            (tmp_path / side).mkdir(exist_ok=True)
            write(tmp_path / side, files)
        output = tmp_path / "review.json"
        sides = ["--base", str(tmp_path / "base"), "--head", str(tmp_path / "head")]
        status = main([*sides, "--output-format", "json", "--output", str(output)])
        return Reviewed(status, json.loads(output.read_text()), tmp_path)

    return compared


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a file of Python and one of settings, committed; it is the current folder."""
    monkeypatch.chdir(tmp_path)
    commit(write(tmp_path, {"train.py": BEFORE, "settings.toml": "rate = 1\n"}))
    return tmp_path
