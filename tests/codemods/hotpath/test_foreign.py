"""Small repositories like other people's, without configuration: what is found is what comments say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codemods.hotpath import check
from codemods.hotpath.config import Config
from codemods.hotpath.results import HEATS
from tests.trees import write

HERE = Path(__file__).parent
REPOSITORIES = sorted(path.name for path in (HERE / "foreign").iterdir())
_PARTS = re.split(r"^=== (.*)\n", (HERE / "whole.txt").read_text("utf-8"), flags=re.MULTILINE)[1:]
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


def found(root: Path, config: Config | None = None) -> set[Site]:
    """The file, line, code and heat of each finding."""
    report = check([root], config or Config(), root=root)
    return {(Path(f.place.path).name, f.place.line, f.code, str(f.heat)) for f in report.findings}


@pytest.mark.parametrize("name", REPOSITORIES)
def test_every_read_in_a_hot_loop_is_found_and_colder_ones_when_asked_for(name: str) -> None:
    sites = marked(HERE / "foreign" / name)
    hot = {site for site in sites if site[3] in ("env", "step")}
    assert hot
    assert hot < sites
    assert found(HERE / "foreign" / name) == hot
    shown = found(HERE / "foreign" / name, Config(heat=tuple(HEATS)))
    assert sites <= {site for site in shown if site[3] != "once"}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_programs(name: str, tmp_path: Path) -> None:
    parts = re.split(r"^--- (.*)\n", WHOLE[name], flags=re.MULTILINE)[1:]
    write(tmp_path, dict(zip(parts[::2], parts[1::2], strict=True)))
    assert {site for site in found(tmp_path, Config(heat=tuple(HEATS))) if site[3] != "once"} == marked(
        tmp_path
    )


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
    assert marked(tmp_path) <= found(tmp_path)
