"""The map of the code names files and folders that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["CONTRIBUTING.md", "AGENTS.md", "docs/contributing/architecture.md", "docs/contributing/changes.md"]
# Paths that begin in one of our folders; examples of other people's projects begin elsewhere.
OURS = re.compile(
    r"`((?:codemods|golden|ci|esper_harness|src/esper|tests|benchmarks|examples|docs)/[\w./*-]*|Makefile)`"
)


@pytest.mark.parametrize("page", [page for page in PAGES if (ROOT / page).exists()])
def test_named_files_exist(page: str) -> None:
    named = OURS.findall((ROOT / page).read_text(encoding="utf-8"))
    assert named
    assert [path for path in named if not list(ROOT.glob(path))] == []


def test_relative_links_of_pages_lead_somewhere() -> None:
    code = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
    link = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "AGENTS.md", *ROOT.glob("docs/**/*.md")]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in link.findall(code.sub("", page.read_text(encoding="utf-8")))
        if not (page.parent / target).exists()
    ]
    assert broken == []
