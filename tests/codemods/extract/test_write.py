"""Writing several files is all or nothing, whatever fails in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from codemods.plans.write import WriteError, write_all
from tests.trees import read


class Interrupted(BaseException):
    """Something like Ctrl-C."""


@pytest.mark.parametrize("failing", [0, 1, 2])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), Interrupted()])
def test_a_failure_between_two_writes_leaves_the_old_tree(
    failing: int, error: BaseException, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("old a")
    (tmp_path / "a.py").chmod(0o755)
    (tmp_path / "b.py").write_text("old b")
    before = read(tmp_path)
    count = 0

    def replace(source: Path, target: Path) -> None:
        nonlocal count
        if count == failing:
            raise error
        count += 1
        source.replace(target)

    files = {tmp_path / "a.py": b"new a", tmp_path / "new" / "c.py": b"new c", tmp_path / "b.py": b"new b"}
    with pytest.raises((WriteError, Interrupted)):
        write_all(files, replace=replace)
    assert read(tmp_path) == before
    assert not (tmp_path / "new").exists()
    write_all(files)
    assert read(tmp_path) == {"a.py": b"new a", "b.py": b"new b", "new/c.py": b"new c"}
    assert (tmp_path / "a.py").stat().st_mode & 0o777 == 0o755


def test_a_folder_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a file")
    with pytest.raises(WriteError, match="nothing was changed"):
        write_all({tmp_path / "x" / "y.py": b""})
    assert read(tmp_path) == {"x": b"a file"}
