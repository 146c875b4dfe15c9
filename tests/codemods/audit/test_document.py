"""The committed report on the monolith says what the tool prints today."""

import re
from pathlib import Path

import pytest

from codemods.audit import main

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = "docs/audit-monolith.md"
# Where a line of a test stands: it moves with every edit above it, and says nothing of the monolith.
TESTS_LINE = re.compile(r"(tests/[\w/]+\.py(?::|` \| ))\d+")


def _without_lines_of_tests(report: str) -> str:
    return TESTS_LINE.sub(r"\1N", report)


def test_the_report_on_the_monolith_is_current(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    arguments = ["golden/monolith/vectorized.py", "--function", "train_ppo_vectorized", "--root", "."]
    arguments += ["--tests", "tests", "--output-format", "markdown"]
    status = main([*arguments, "--output", str(tmp_path / "out.md")])
    assert status in (0, 1), capsys.readouterr().err
    current = _without_lines_of_tests((tmp_path / "out.md").read_text())
    committed = _without_lines_of_tests((ROOT / DOCUMENT).read_text())
    command = f"python -m codemods.audit {' '.join(arguments)} --output {DOCUMENT}"
    assert committed == current, f"make it again: {command}"
