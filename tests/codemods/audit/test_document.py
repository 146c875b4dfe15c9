"""The committed report on the monolith is what the tool prints today."""

from pathlib import Path

import pytest

from codemods.audit import main

ROOT = Path(__file__).resolve().parents[3]
DOCUMENT = "docs/audit-monolith.md"


def test_the_report_on_the_monolith_is_current(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    arguments = ["golden/monolith/vectorized.py", "--function", "train_ppo_vectorized", "--root", "."]
    arguments += ["--tests", "tests", "--output-format", "markdown"]
    status = main([*arguments, "--output", str(tmp_path / "out.md")])
    assert status in (0, 1), capsys.readouterr().err
    current = (tmp_path / "out.md").read_text()
    committed = (ROOT / DOCUMENT).read_text()
    command = f"python -m codemods.audit {' '.join(arguments)} --output {DOCUMENT}"
    assert committed == current, f"make it again: {command}"
