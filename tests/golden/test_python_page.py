"""The example of the Python page runs."""

import re
from pathlib import Path

from tests.golden.project import Project

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "python.md"


def test_the_example_of_golden(project: Project, tmp_path: Path) -> None:
    project.plain()
    (example,) = re.findall(r"## `golden`.*?```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(example, names)
    same = names["same"]
    assert callable(same)
    assert same(project.root, tmp_path / "out")
