"""The demonstration as a user runs it: its verdicts, its exit status."""

import re
from pathlib import Path

import pytest

from ci.demo import main

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_extraction_changes_nothing_and_the_swap_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    before = (REPOSITORY / "examples/monolith/vectorized.py").read_bytes()
    assert main() == 0
    printed = capsys.readouterr().out
    identical, _, different = printed.partition("after a swap")
    assert "identical: the monolith and the extracted trainer" in identical
    assert "different: the monolith and the trainer with the bug" in different
    assert "first divergence: step" in different
    assert "gradient slots." in different
    assert re.search(r"\b[1-9]\d* helpers lifted", printed)
    assert (REPOSITORY / "examples/monolith/vectorized.py").read_bytes() == before
