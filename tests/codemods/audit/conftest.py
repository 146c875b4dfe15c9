"""Small repositories, written file by file."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from tests import trees

Tree = Callable[[dict[str, str]], Path]


@pytest.fixture
def make_tree(tmp_path: Path) -> Tree:
    """Write files (path to text) below a fresh root, and give the root."""

    def write(files: dict[str, str]) -> Path:
        return trees.write(tmp_path, {name: dedent(text) for name, text in files.items()})

    return write


@pytest.fixture
def specimen(make_tree: Tree) -> Path:
    """A repository with one file that has something of everything; gives its root."""
    return make_tree(
        {
            "pyproject.toml": "",
            "src/pkg/__init__.py": "",
            "src/pkg/hub.py": "def get_hub(): ...\n",
            "src/pkg/model.py": "from pkg.parts import part\ndef create(): ...\n",
            "src/pkg/parts.py": "import pkg.loop\npart = 1\n",
            "src/pkg/loop.py": '''
                """A loop."""
                from __future__ import annotations

                import functools
                import torch.amp as amp
                from pkg.hub import get_hub

                LIMIT = 3


                @functools.lru_cache
                def train(n: int, *envs: str, device="cpu", **options) -> list[float]:
                    from pkg.model import create

                    rate: float = 0.1
                    scores: list[float] = []
                    if device == "cuda":
                        stream = object()

                    def make(x: int, /, y=LIMIT, *, z: int = 1) -> int | None:
                        nonlocal rate
                        rate = x
                        return create(x) + len(envs)

                    def note(value):
                        get_hub().emit(value)
                        scores.append(value)
                        scores[0] = value

                    def fence():
                        with amp.autocast(device):
                            stream.synchronize()

                    @functools.wraps(make)
                    def later():
                        yield n

                    def report(sink):
                        note(sum(scores) + n)
                        sink.total = options

                    for step in range(n):
                        scores.append(make(step).item())
                        fence()
                        n = n + 1
                    map(later, scores)
                    report(scores)
                    note(n)
                    return scores
                '''.lstrip("\n"),
            "app.py": "from pkg.loop import train\n\ndef main():\n    return train(3)\n",
            "tests/test_loop.py": """
                from unittest import mock
                import pkg.loop as loop

                @mock.patch("pkg.loop.get_hub")
                def test_hub(hub): ...

                def test_more(monkeypatch):
                    monkeypatch.setattr(loop.amp, "autocast", None)
                    monkeypatch.setattr(loop, "train", None)
                """.lstrip("\n"),
        }
    )
