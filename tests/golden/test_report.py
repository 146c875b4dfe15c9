"""Reports: one page that needs nothing else, a Markdown summary, JUnit."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.golden.project import Project


@pytest.fixture
def changed(reference: Callable[[], Path], tmp_path: Path) -> Path:
    """The reference trace with one gradient of step 7 replaced, and an event gone."""
    copy = tmp_path / "changed"
    shutil.copytree(reference(), copy)
    steps = copy / "rank-0" / "steps.jsonl"
    lines = []
    for line in steps.read_text().splitlines():
        record = json.loads(line)
        if record.get("step") == 7:
            record["grads"] = "0" * 32 + record["grads"][32:]
        lines.append(json.dumps(record, separators=(",", ":")))
    steps.write_text("\n".join(lines) + "\n")
    events = copy / "events.jsonl"
    events.write_text("\n".join(events.read_text().splitlines()[:-1]) + "\n")
    return copy


def test_page_of_a_difference(project: Project, reference: Callable[[], Path], changed: Path) -> None:
    files = [project.root / name for name in ("page.html", "summary.md", "junit.xml")]
    html, markdown, junit = files
    result = project.golden(
        "report", reference(), changed, "--html", html, "--markdown", markdown, "--junit", junit
    )
    assert result.code == 1
    page = html.read_text()
    for expected in (
        "env 1 diverges at step 2",
        "first at step 2 of 6",
        "all 6 steps equal",
        "gradient: 1 of 6 differ",
        "<svg",
        "missing",
        "host reads, train.py:",
    ):
        assert expected in page
    assert not re.search(r"(src|href)=[\"']?http|@import|<link|<script", page)
    assert "step 2 of env 1" in markdown.read_text()
    suite = ElementTree.fromstring(junit.read_text())
    assert (suite.get("failures"), suite.get("tests")) == ("1", "1")


def test_page_of_equals(project: Project, reference: Callable[[], Path]) -> None:
    html = project.root / "page.html"
    assert project.golden("report", reference(), reference(), "--html", html).code == 0
    page = html.read_text()
    assert "<strong>identical</strong>" in page
    assert "First divergence" not in page


def test_report_that_cannot_be_written(project: Project, reference: Callable[[], Path]) -> None:
    result = project.golden("report", reference(), reference())
    assert (result.code, "name at least one of" in result.err) == (2, True)
    taken = project.root / "train.py"
    result = project.golden("report", reference(), reference(), "--html", taken / "page.html")
    assert (result.code, "can't write" in result.err) == (2, True)
