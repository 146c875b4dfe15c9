"""Words in a file, and what other files ask of values of their own, forbid nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codemods.conftest import Command, Execute, Ran

STEPS = '''\
"""Helpers of a module that trains."""
from __future__ import annotations
import logging
from shapes import Shape

log = logging.getLogger(__name__)


class Options:
    shape: Shape


def train(count):
    def report(value):
        log.info("value %s of %s", value, count)

    def kind(value):
        class Row:
            shape: Shape | None = None

        return Row, value + count

    for step in range(count):
        report(step)
    return kind(count)[1]
'''

PLAN = """\
version = 1
source = "steps.py"

[[move]]
to = "options.py"
names = ["Options"]
"""

WORDS = (
    "module, pathname, funcName",
    "signature of get_type_hints, doctest, pydantic and tyro",
    "__module__ or __qualname__, pickle.load(file)",
)

LOOKS = {
    "annotations": """\
import inspect
from steps import log
class Mine:
    n: int = 2
print(inspect.get_annotations(Mine), log)
""",
    "classes": """\
from steps import log
for value in (log, 2):
    print(type(value).__module__, value.__class__.__qualname__)
""",
    "format": "from steps import log\nlog.root.handlers[0].setFormatter('%(module)s %(funcName)s')\n",
}

OTHERS = [*(f'"""About {word}."""\n# {word}\n' for word in WORDS), *LOOKS.values()]


def project(folder: Path, other: str) -> Path:
    """A project of a source, what it imports, and one file more."""
    (folder / "pyproject.toml").write_text("")
    (folder / "steps.py").write_text(STEPS)
    (folder / "shapes.py").write_text("class Shape:\n    pass\n")
    (folder / "other.py").write_text(other)
    (folder / "plan.toml").write_text(PLAN)
    return folder / "steps.py"


def outcome(ran: Ran) -> dict[str, str]:
    """The code or the status of each helper and definition."""
    return {name: row["code"] or row["status"] for name, row in ran.helpers.items()}


@pytest.mark.parametrize("other", OTHERS)
def test_helpers_are_lifted(other: str, tmp_path: Path, extract: Command) -> None:
    source = project(tmp_path, other)
    ran = extract(source, "--to", tmp_path / "helpers.py", "--output-format", "json")
    assert outcome(ran) == {"report": "lifted", "kind": "lifted"}


@pytest.mark.parametrize("other", OTHERS)
def test_a_class_moves(other: str, tmp_path: Path, extract: Command) -> None:
    project(tmp_path, other)
    ran = extract("--plan", tmp_path / "plan.toml", "--output-format", "json")
    assert outcome(ran) == {"Options": "moved"}


@pytest.mark.parametrize(
    "asked", ["import steps\nprint(steps.Options", "from steps import Options\nprint(Options"]
)
def test_a_class_that_another_file_asks_for_its_module_stays(
    asked: str, tmp_path: Path, extract: Command
) -> None:
    project(tmp_path, f"{asked}.__module__)\n")
    ran = extract("--plan", tmp_path / "plan.toml", "--output-format", "json")
    assert outcome(ran) == {"Options": "introspection"}


def test_annotations_that_another_file_evaluates_find_their_names(
    tmp_path: Path, extract: Command, execute: Execute
) -> None:
    project(tmp_path, "import typing\nfrom steps import Options\nprint(typing.get_type_hints(Options))\n")
    before = execute(tmp_path, "other.py")
    assert extract("--plan", tmp_path / "plan.toml", "--write").code == 0
    assert "class Options" in (tmp_path / "options.py").read_text()
    assert execute(tmp_path, "other.py") == before
