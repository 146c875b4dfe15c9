"""An exception that is only logged is not kept: captures may be let go after it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codemods.extract import main

PROGRAM = """
import logging

logger = logging.getLogger(__name__)
kept = []


def outer(size):
    batch = list(range(size))

    def use(n):
        return n / len(batch)

    try:
        found = use(1)
    except ZeroDivisionError as error:
        {handled}
        found = 0
    batch = None
    return found
"""


@pytest.mark.parametrize(
    ("handled", "code"),
    [
        ('logger.debug("no batch: %s", error)', None),
        ('logging.warning("no batch", exc_info=error)', None),
        ("kept.append(error)", "lifetimes"),
    ],
)
def test_a_logged_exception_refuses_no_lift(
    handled: str, code: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(handled=handled))
    main([str(path), "--output-format", "json"])
    (helper,) = json.loads(capsys.readouterr().out)["helpers"]
    assert helper["code"] == code
