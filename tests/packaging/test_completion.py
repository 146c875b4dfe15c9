"""Shells complete words of the three programs, as the documentation tells."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "install.md"
LINES = re.findall(r'"\$\((_\w+)=bash_source ([\w-]+)\)"', DOCUMENT.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("program", "words", "expected"),
    [
        ("codemods", "codemods ex", "plain,extract"),
        ("codemods", "codemods hotpath --update", "plain,--update-baseline"),
        ("golden", "golden ver", "plain,verify"),
        ("golden-gate", "golden-gate run --ou", "plain,--output"),
    ],
)
def test_words_are_completed(program: str, words: str, expected: str) -> None:
    (variable,) = (name for name, of in LINES if of == program)
    environment = {**os.environ, variable: "bash_complete", "COMP_WORDS": words}
    environment["COMP_CWORD"] = str(len(words.split()) - 1)
    done = subprocess.run(
        [Path(sys.executable).with_name(program)], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [expected]
