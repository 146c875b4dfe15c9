"""Statements in programs like other people's: what the checker reports, and how often it says they run."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from codemods.hotpath.config import Config
from codemods.hotpath.engine import analyse
from codemods.hotpath.results import HEATS
from codemods.hotpath.trees import name_file

HERE = Path(__file__).parent
GROUPS = tomllib.loads((HERE / "snippets.toml").read_text("utf-8"))["group"]
ROWS = [
    pytest.param({**group, **row}, id=f"{group['name']}-{n}")
    for group in GROUPS
    for n, row in enumerate(group["rows"])
]
_HOLE = re.compile(r"^( *)(.*?)\{(code|head|end|other|inside|outside|test|guard|log|said)\}", re.MULTILINE)


def sites(texts: dict[str, str]) -> Iterator[dict[str, str]]:
    """Give code, heat and text of each finding in modules, but of those that run once."""
    files = [
        name_file(f"{name}.py", text.encode(), lambda folder: False) for name, text in sorted(texts.items())
    ]
    for finding in analyse(files, Config(heat=tuple(HEATS))).findings:
        if finding.heat != "once":
            yield {"code": finding.code, "heat": str(finding.heat), "text": finding.text}


def program(name: str, row: dict[str, Any]) -> str:
    """A program of `programs/` with the statements of a row at their places, indented as these are."""

    def filled(match: re.Match[str]) -> str:
        text = row.get(match[3], "").strip("\n")
        return match[1] + match[2] + indent(text, match[1]).removeprefix(match[1])

    return _HOLE.sub(filled, (HERE / "programs" / f"{name}.txt").read_text("utf-8"))


@pytest.mark.parametrize("row", ROWS)
def test_snippet(row: dict[str, Any]) -> None:
    texts = {name: program(name, row) for name in row.get("beside", ())}
    texts["train"] = program(row["program"], row)
    shown = [site for site in sites(texts) if row.get("heat", site["heat"]) == site["heat"]]
    found = {" ".join(site[name] for name in row["shows"].split()) for site in shown}
    assert found == set(row["found"])
