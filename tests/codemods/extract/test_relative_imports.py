"""A file that imports from its package relatively goes on to do so, and so do the files made of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.codemods.conftest import Command, Execute

TRAIN = """\
from __future__ import annotations

import math

from {sibling} import LIMIT, Thing


def other(x: float) -> int:
    return math.floor(x)


def train(n: int) -> int:
    thing = Thing()

    def step(k: int) -> int:
        return k + thing.size + LIMIT + other(1.5)

    total = 0
    for i in range(n):
        total += step(i)
    return total
"""
PLAN = """\
version = 1
source = "pkg/train.py"
function = "train"
root = "pkg"
[[move]]
to = "steps.py"
names = ["step"]
[[move]]
to = "sub/other.py"
names = ["other"]
[loop]
class = "Trainer"
to = "trainer.py"
"""


def _levels(path: Path) -> set[int]:
    """How many dots the imports of a file's package have."""
    tree = ast.parse(path.read_text())
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {node.level for node in found if node.level or (node.module or "").startswith("pkg")}


@pytest.mark.parametrize(("sibling", "levels"), [(".util", {1}), ("pkg.util", {0})])
def test_files_follow_the_way_of_the_source(
    sibling: str, levels: set[int], tmp_path: Path, extract: Command, execute: Execute
) -> None:
    for folder in ("pkg", "pkg/sub"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "pkg/util.py").write_text("LIMIT = 4\n\n\nclass Thing:\n    size: int = 3\n")
    (tmp_path / "pkg/train.py").write_text(TRAIN.format(sibling=sibling))
    run = "-c", "import pkg.train; print(pkg.train.train(3))"
    before = execute(tmp_path, *run)
    ran = extract("--plan", tmp_path / "plan.toml", "--write")
    assert ran.code == 0, ran.err
    assert execute(tmp_path, *run) == before
    for name in ("train.py", "steps.py", "trainer.py"):
        assert _levels(tmp_path / "pkg" / name) == levels, name


def test_what_moves_out_of_a_file_outside_of_packages_keeps_its_dots(
    tmp_path: Path, extract: Command
) -> None:
    source = tmp_path / "m.py"
    source.write_text(
        "from ..settings import LIMIT\n\n\ndef outer(n):\n    def h(k):\n        return k + n + LIMIT\n\n"
        "    return h(1)\n"
    )
    ran = extract(source, "--to", tmp_path / "made.py", "--write")
    assert ran.code == 0, ran.err
    assert _levels(tmp_path / "made.py") == {2}


SCRIPT = """\
from utils import up


def train(n):
    def step(x):
        return up(x) + n

    return step(1)


if __name__ == "__main__":
    print(train(2))
"""


@pytest.mark.parametrize("module", ["utils", "utils.numbers"])
@pytest.mark.parametrize(
    ("beside", "helps"),
    [
        ({}, False),
        ({"utils.py": ""}, True),
        ({"pkg/paths.py": "import sys\n\nsys.path.append('pkg')\n"}, True),
    ],
    ids=["found beside it alone", "found from the root", "a file says where to look"],
)
def test_a_script_in_a_package_that_is_run_by_its_path_finds_no_package(
    module: str, beside: dict[str, str], helps: bool, tmp_path: Path, extract: Command
) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    for name, text in {
        "pyproject.toml": "",
        "pkg/__init__.py": "",
        f"pkg/{module.replace('.', '/')}.py": "up = abs\n",
        **beside,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (package / "train.py").write_text(SCRIPT.replace("from utils ", f"from {module} "))
    ran = extract(package / "train.py", "--function", "train", "--to", package / "steps.py")
    assert ran.code == (0 if helps else 2)
    assert ("pkg/train.py imports utils as a script does" in ran.err) is not helps
    assert extract(package / "train.py", "--function", "train").code == 0
