"""What counts as a worse verdict."""

from __future__ import annotations

import pytest

from benchmarks.real.compare import differences


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["helper a.py f.g: lifted"], ["helper a.py f.g: refused value-use"]),
        (["helper a.py f.g: refused value-use"], []),
        (["loop a.py f: lifted"], ["loop a.py f: no row"]),
        (["plan a.py: carried out"], ["plan a.py: error: f is in none"]),
        (["review moved: left 0 (0 statements)"], ["review moved: left 2 (2 statements)"]),
        (["place a.py f HP001 step: 2"], ["places all: crash TypeError"]),
        ([], ["file a.py: crash KeyError"]),
    ],
)
def test_a_verdict_gets_worse(before: list[str], after: list[str]) -> None:
    assert any(difference.step < 0 for difference in differences(before, after))
    assert not any(difference.step < 0 for difference in differences(before, before))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["helper a.py f.g: refused value-use"], ["helper a.py f.g: lifted"]),
        (["helper a.py f.g: refused value-use"], ["helper a.py f.g: refused decorated"]),
        ([], ["helper a.py f.g: refused value-use"]),
        (["place a.py f HP001 step: 2"], ["place a.py f HP001 step: 3"]),
        (["place a.py f HP001 step: 2"], []),
        (["places all: crash TypeError"], ["place a.py f HP001 step: 2"]),
        (["file a.py: crash KeyError"], ["helper a.py f.g: refused value-use"]),
        (["review moved: left 2 (2 statements)"], ["review moved: left 0 (0 statements)"]),
    ],
)
def test_a_verdict_is_no_worse(before: list[str], after: list[str]) -> None:
    assert differences(before, after)
    assert all(difference.step >= 0 for difference in differences(before, after))
