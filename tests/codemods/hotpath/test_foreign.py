"""Three small repositories in the manner of other people's, without annotations and without configuration."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codemods.hotpath import check
from codemods.hotpath.config import Config
from codemods.hotpath.results import HEATS

ROOT = Path(__file__).with_name("foreign")
REPOSITORIES = sorted(path.name for path in ROOT.iterdir() if path.is_dir())
_MARK = re.compile(r"# stall: (HP\d+) ([a-z-]+)")
Site = tuple[str, int, str, str]


def marked(root: Path) -> set[Site]:
    """What is said in comments: file, line, code, heat."""
    return {
        (path.name, number, match[1], match[2])
        for path in root.glob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for match in _MARK.finditer(line)
    }


def found(root: Path, config: Config | None = None) -> set[Site]:
    """What is reported."""
    report = check([root], config or Config(), root=root)
    return {(f.place.path, f.place.line, f.code, str(f.heat)) for f in report.findings}


@pytest.mark.parametrize("name", REPOSITORIES)
def test_every_read_in_a_hot_loop_is_found_and_none_in_cold_code_is_shown(name: str) -> None:
    hot = {site for site in marked(ROOT / name) if site[3] in ("env", "step")}
    assert hot
    assert found(ROOT / name) == hot


@pytest.mark.parametrize("name", REPOSITORIES)
def test_colder_ones_are_shown_when_asked_for(name: str) -> None:
    colder = {site for site in marked(ROOT / name) if site[3] in ("every-n", "epoch")}
    shown = found(ROOT / name, Config(heat=tuple(HEATS)))
    assert colder
    assert colder <= {site for site in shown if site[3] != "once"}
