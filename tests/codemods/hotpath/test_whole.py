"""Small repositories like other people's, without configuration: what is found is what comments say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codemods.hotpath import check
from codemods.hotpath.config import Config
from codemods.hotpath.results import HEATS
from tests.trees import write

_TEXT = Path(__file__).with_name("whole.txt").read_text("utf-8")
_PARTS = re.split(r"^=== (.*)\n", _TEXT, flags=re.MULTILINE)[1:]
WHOLE = dict(zip(_PARTS[::2], _PARTS[1::2], strict=True))
_MARK = re.compile(r"# stall: (HP\d+) ([a-z-]+)")
Site = tuple[str, int, str, str]


def marked(root: Path) -> set[Site]:
    """The file, line, code and heat that comments say."""
    return {
        (path.name, number, match[1], match[2])
        for path in root.rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for match in _MARK.finditer(line)
    }


def found(root: Path) -> set[Site]:
    """The file, line, code and heat of each finding, but of those that run once."""
    findings = [f for f in check([root], Config(heat=tuple(HEATS)), root=root).findings if f.heat != "once"]
    return {(Path(f.place.path).name, f.place.line, f.code, str(f.heat)) for f in findings}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_programs(name: str, tmp_path: Path) -> None:
    parts = re.split(r"^--- (.*)\n", WHOLE[name], flags=re.MULTILINE)[1:]
    write(tmp_path, dict(zip(parts[::2], parts[1::2], strict=True)))
    assert found(tmp_path) == marked(tmp_path)


def test_a_helper_that_many_callers_give_different_things(tmp_path: Path) -> None:
    loop = (
        "import torch\nfrom move import move\n\ndef train(model, loader, optimizer):\n"
        "    for batch in {loader}:\n        loss = model(batch)\n        loss.backward()\n"
        "        optimizer.step()\n        move({given})\n"
    )
    (tmp_path / "move.py").write_text(
        "def move(batch, more):\n    for k, value in batch.items():\n"
        "        batch[k] = value.to('cuda')  # stall: HP015 step\n"
    )
    for number in range(10):
        given = f"{{}}, {'[' * number}1{']' * number}"
        (tmp_path / f"train{number}.py").write_text(loop.format(loader="loader", given=given))
    given = "batch, None"
    (tmp_path / "train_last.py").write_text(
        loop.format(loader="torch.utils.data.DataLoader(loader)", given=given)
    )
    assert found(tmp_path) == marked(tmp_path)
