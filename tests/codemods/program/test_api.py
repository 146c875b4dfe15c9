"""The facts that other programs may ask for."""

from __future__ import annotations

from pathlib import Path

from codemods.api import seams_of


def test_seams_tell_who_replaces_a_name_and_who_reads_it(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("import time\ndef f():\n    return time.time()\n")
    (tmp_path / "tests").mkdir()
    test = "import m\ndef test_it(monkeypatch):\n    monkeypatch.setattr(m, 'time', None)\n"
    (tmp_path / "tests" / "test_m.py").write_text(test)
    [seam] = seams_of(tmp_path / "m.py", tests=[tmp_path / "tests"], root=tmp_path)
    assert (seam.name, seam.readers, seam.lost) == ("time", ("f",), False)
