"""The facts that other programs may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from codemods.program import SourceError, captures_of, seams_of

PROGRAM = """
def train(rows):
    total, log = 0, []
    scale = 2

    def step(row):
        log.append(row)
        return row * scale

    for row in rows:
        total += step(row)
    later = step
    return total, later
"""


def test_captures_tell_where_variables_are_bound_and_read() -> None:
    [step] = captures_of(PROGRAM)
    assert step.qualname == "train.step"
    assert [c.name for c in step.captures] == ["log", "scale"]
    assert [c.bound for c in step.captures] == [(3,), (4,)]
    assert [c.read for c in step.captures] == [(7,), (8,)]
    assert (step.calls, step.values) == ((11,), (12,))
    assert captures_of(PROGRAM, function="other") == ()


def test_seams_tell_who_replaces_a_name_and_who_reads_it(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("import time\ndef f():\n    return time.time()\n")
    (tmp_path / "tests").mkdir()
    test = "import m\ndef test_it(monkeypatch):\n    monkeypatch.setattr(m, 'time', None)\n"
    (tmp_path / "tests" / "test_m.py").write_text(test)
    [seam] = seams_of(tmp_path / "m.py", tests=[tmp_path / "tests"], root=tmp_path)
    assert (seam.name, seam.readers, seam.lost) == ("time", ("f",), False)


def test_a_text_that_is_not_python_is_told() -> None:
    with pytest.raises(SourceError, match=r"m\.py:1: not valid Python"):
        captures_of("def", "m.py")
