"""Plans that move module-level functions, classes and constants."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.codemods.conftest import Command, Execute

SOURCE = '''\
"""A module."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

LIMIT = 3
OTHER: int = 4


# What one env has seen.
@dataclass
class State:
    """State of one env."""

    index: int
    seen: list[str] = field(default_factory=list)


@lru_cache(maxsize=None)
def _ceil(value: float) -> int:
    return math.ceil(value)


def _describe(state: State) -> str:
    """Say it."""
    state.seen.append("described")
    return f"{state.index}: {_ceil(state.index / 2)} of {LIMIT}"


def run(count: int) -> list[str]:
    """Run."""
    states = [State(index) for index in range(count)]

    def say(state: State) -> str:
        return _describe(state) + str(OTHER)

    return [say(state) for state in states]
'''

PLAN = """\
version = 1
source = "pkg/source.py"
root = "pkg"
function = "run"

[[move]]
to = "state.py"
docstring = "State."
names = ["State"]

[[move]]
to = "describe.py"
names = ["LIMIT", "_ceil", "_describe"]
rename = { _describe = "describe" }
"""

USER = """\
import pkg.source as source
from pkg.source import State, _describe, run

print(_describe(State(5)), run(2), source.State(1).index, source._ceil(1.5))
"""

PATCH = """\
from unittest import mock

with mock.patch("pkg.source._describe", lambda state: "patched"):
    print(run(1))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A package, a script that uses it, and a plan."""
    package = tmp_path / "pkg"
    package.mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    (package / "__init__.py").write_text("")
    (package / "source.py").write_text(SOURCE)
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def test_definitions_move_and_everything_follows(project: Path, extract: Command, execute: Execute) -> None:
    before = execute(project, "user.py")
    ran = extract("--plan", project / "plan.toml", "--write")
    assert ran.code == 0, ran.err + ran.out
    assert execute(project, "user.py") == before
    user = (project / "user.py").read_text()
    assert "from pkg.describe import describe" in user
    assert "from pkg.state import State" in user
    source = (project / "pkg" / "source.py").read_text()
    assert "class State" not in source
    assert "return _describe(state) + str(OTHER)" in source
    assert "# What one env has seen." in (project / "pkg" / "state.py").read_text()
    for module in ("state", "describe", "source"):
        execute(project, "-c", f"import pkg.{module}")


def test_a_name_that_a_file_replaces_is_taken_from_the_source_as_before(
    project: Path, extract: Command, execute: Execute
) -> None:
    user = project / "user.py"
    user.write_text(USER + PATCH)
    before = execute(project, "user.py")
    ran = extract("--plan", project / "plan.toml", "--write")
    assert ran.code == 0, ran.err + ran.out
    assert execute(project, "user.py") == before
    assert "from pkg.source import _describe, run" in user.read_text()
    assert PATCH in user.read_text()
    assert (
        "from pkg.describe import _ceil, describe as _describe" in (project / "pkg" / "source.py").read_text()
    )


def test_names_that_nothing_needs_leave_the_source_unless_reexported(project: Path, extract: Command) -> None:
    (project / "user.py").unlink()
    extract("--plan", project / "plan.toml", "--write")
    assert "LIMIT" not in (project / "pkg" / "source.py").read_text()
    (project / "pkg" / "source.py").write_text(SOURCE)
    for name in ("state", "describe"):
        (project / "pkg" / f"{name}.py").unlink()
    (project / "plan.toml").write_text(PLAN + "reexport = true\n")
    assert extract("--plan", project / "plan.toml", "--write").code == 0
    assert "import LIMIT, _ceil, describe" in (project / "pkg" / "source.py").read_text()


@pytest.mark.parametrize(
    ("loads", "found"),
    [
        ("torch.load('memory.pt')", "Replay"),
        ("Replay()", ""),
    ],
)
def test_a_class_is_still_found_where_checkpoints_name_it(
    tmp_path: Path, extract: Command, execute: Execute, loads: str, found: str
) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "memory.py").write_text("class Replay:\n    pass\n\n\ndef helper():\n    pass\n")
    main = f"import torch\nfrom memory import Replay, helper\n\n\ndef main():\n    return {loads}\n"
    (tmp_path / "main.py").write_text(main)
    (tmp_path / "plan.toml").write_text(
        'version = 1\nsource = "memory.py"\nmove = [{ to = "parts.py", names = ["Replay", "helper"] }]\n'
    )
    assert extract("--plan", tmp_path / "plan.toml", "--write").code == 0
    names = "print(*(name for name in ('Replay', 'helper') if hasattr(memory, name)))"
    assert execute(tmp_path, "-c", f"import memory; {names}").strip() == found


def test_a_class_that_checkpoints_are_allowed_to_name_stays_unless_accepted(
    tmp_path: Path, extract: Command
) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "memory.py").write_text("class Replay:\n    pass\n\n\ndef helper():\n    pass\n")
    main = "import torch\nfrom memory import Replay, helper\n\n"
    (tmp_path / "main.py").write_text(main + "torch.serialization.add_safe_globals([Replay])\n")
    plan = 'version = 1\nsource = "memory.py"\nmove = [{ to = "parts.py", names = ["Replay", "helper"] }]\n'
    (tmp_path / "plan.toml").write_text(plan)
    ran = extract("--plan", tmp_path / "plan.toml")
    assert ran.code == 1
    assert "introspection: Replay: main.py allows classes in checkpoints by their modules" in ran.out
    assert "introspection: helper" not in ran.out
    (tmp_path / "plan.toml").write_text(
        plan + 'accept = [{ code = "introspection", reason = "all are new" }]\n'
    )
    assert extract("--plan", tmp_path / "plan.toml").code == 0


def test_a_later_plan_starts_from_what_an_earlier_one_makes(
    project: Path, extract: Command, execute: Execute
) -> None:
    before = execute(project, "-c", "from pkg.source import run; print(run(3))")
    later = project / "later.toml"
    later.write_text(
        'version = 1\nsource = "pkg/source.py"\nroot = "pkg"\nfunction = "run"\nafter = ["plan.toml"]\n'
        '[[move]]\nto = "say.py"\nnames = ["*"]\n'
    )
    ran = extract("--plan", later, "--write")
    assert ran.code == 0, ran.err + ran.out
    assert "from pkg.describe import describe" in (project / "pkg" / "say.py").read_text()
    assert execute(project, "-c", "from pkg.source import run; print(run(3))") == before


def test_a_file_with_other_things_in_it_is_not_overwritten(project: Path, extract: Command) -> None:
    (project / "user.py").unlink()
    (project / "pkg" / "source.py").rename(project / "frozen.py")
    (project / "pkg" / "state.py").write_text("def mine():\n    return 1\n")
    (project / "plan.toml").write_text(PLAN.replace('"pkg/source.py"', '"frozen.py"\nrest = "source.py"'))
    ran = extract("--plan", project / "plan.toml", "--write")
    assert ran.code == 2
    assert "state.py exists already and holds mine" in ran.err
    assert "def mine" in (project / "pkg" / "state.py").read_text()


def test_imports_follow_and_attributes_find_the_old_name(
    project: Path, extract: Command, execute: Execute
) -> None:
    plan, user = project / "plan.toml", project / "user.py"
    plan.write_text(PLAN.replace('_describe = "describe"', '_describe = "describe", LIMIT = "MOST"'))
    shared = "from pkg.source import State as S, run as r, LIMIT\nprint(S(1), r(1), LIMIT)"
    user.write_text(f"{USER}{shared}\nLIMIT += 1\nprint(source._describe(State(6)), LIMIT)\n")
    before = execute(project, "user.py")
    ran = extract("--plan", plan, "--write")
    assert ran.code == 0, ran.err + ran.out
    assert execute(project, "user.py") == before
    text = user.read_text()
    assert "source._describe(State(6))" in text
    assert "from pkg.source import run as r\nfrom pkg.state import State as S\n" in text
    assert "MOST = 3" in (project / "pkg" / "describe.py").read_text()


def test_imports_do_not_follow_where_the_source_is_in_a_circle(
    tmp_path: Path, extract: Command, execute: Execute
) -> None:
    """Loaded first, the new file would find a module that is not loaded to its end."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").touch()
    (tmp_path / "pkg" / "source.py").write_text(
        "from pkg.other import double\n\n\ndef scale(x):\n    return x * 3\n\n\n"
        "def both(x):\n    return double(scale(x))\n"
    )
    (tmp_path / "pkg" / "other.py").write_text("from . import source\n\n\ndef double(x):\n    return x * 2\n")
    (tmp_path / "user.py").write_text("from pkg.source import scale\n\nprint(scale(2))\n")
    (tmp_path / "plan.toml").write_text(
        'version = 1\nsource = "pkg/source.py"\n\n[[move]]\nto = "pkg/parts.py"\nnames = ["scale", "both"]\n'
    )
    before = execute(tmp_path, "user.py")
    ran = extract("--plan", tmp_path / "plan.toml", "--root", tmp_path, "--write")
    assert ran.code == 0, ran.err + ran.out
    assert execute(tmp_path, "user.py") == before


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('names = ["LIMIT", ', "names = [", "needs-source"),
        ('names = ["LIMIT", ', 'names = ["LIMIT", "OTHER", ', None),
        ('["State"]', '["run"]', "needs-source"),
        ('["State"]', '["State", "SHARED"]', None),
        ('["State"]', '["State", "LOADED"]', "definition-evaluated"),
    ],
)
def test_a_definition_that_can_not_move_stops_the_plan(
    old: str, new: str, code: str | None, project: Path, extract: Command
) -> None:
    plan, source = project / "plan.toml", project / "pkg" / "source.py"
    plan.write_text(PLAN.replace(old, new))
    before = source.read_text() + "\n\nSHARED = []\nLOADED = print()\nFIRST = 1; SECOND = 2\n"
    source.write_text(before)
    ran = extract("--plan", plan, "--output-format", "json", "--write")
    assert ran.code == (1 if code else 0), ran.err
    if code:
        assert code in {helper["code"] for helper in ran.json["helpers"]}
        assert source.read_text() == before


def test_code_that_moves_must_not_read_a_seam(project: Path, extract: Command) -> None:
    tests = project / "tests"
    tests.mkdir()
    (tests / "test_it.py").write_text(
        textwrap.dedent("""
            import pkg.source
            def test(monkeypatch):
                monkeypatch.setattr(pkg.source, "_ceil", lambda value: 0)
        """)
    )
    (project / "plan.toml").write_text(PLAN + '[seams]\ntests = ["tests"]\n')
    ran = extract("--plan", project / "plan.toml", "--output-format", "json")
    assert ran.code == 1
    assert ran.helpers["_describe"]["code"] == "moved-seam"


@pytest.mark.parametrize("depth", ["folders/", "folders/last/"])
def test_a_folder_of_a_package_that_is_none_itself_is_imported_as_others_do(
    tmp_path: Path, extract: Command, execute: Execute, depth: str
) -> None:
    module = f"pkg.{depth.replace('/', '.')}source"
    folder = tmp_path / "pkg" / depth
    folder.mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "pkg" / "__init__.py").write_text(f"from {module} import outer\n")
    if depth.count("/") > 1:
        (folder / "__init__.py").touch()
    (folder / "source.py").write_text("def outer(n):\n    def h(x):\n        return x + n\n    return h(1)\n")
    ran = extract(folder / "source.py", "--to", folder / "parts.py", "--write")
    assert ran.code == 0, ran.err
    assert execute(tmp_path, "-c", "import pkg; print(pkg.outer(2))") == "3\n"


@pytest.mark.parametrize("own", [True, False], ids=["it imports by the name", "it is imported by the name"])
@pytest.mark.parametrize("script", [True, False], ids=["script", "module"])
def test_a_folder_that_is_no_package_is_named_as_the_project_names_it(
    tmp_path: Path, extract: Command, execute: Execute, own: bool, script: bool
) -> None:
    folder = tmp_path / "lib" / "train"
    folder.mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "lib" / "rates.py").write_text("RATE = 2\n")
    (tmp_path / "run.py").write_text("from lib.train.source import outer\nprint(outer(2))\n")
    source = "from lib.rates import RATE\n" if own else "RATE = 2\n"
    source += "def outer(n):\n    def h(x):\n        return x + n\n    return h(RATE)\n"
    source += "if __name__ == '__main__':\n    print(outer(1))\n" if script else ""
    (folder / "source.py").write_text(source)
    ran = extract(folder / "source.py", "--to", folder / "parts.py", "--write")
    assert execute(tmp_path, "run.py") == "4\n"
    if script and not own:
        assert ran.code == 1
        assert "loaded-otherwise" in ran.out
    else:
        assert ran.code == 0, ran.err
        assert "from lib.train.parts import" in (folder / "source.py").read_text()


def test_a_script_in_a_package_imports_as_it_does_already(
    tmp_path: Path, extract: Command, execute: Execute
) -> None:
    folder = tmp_path / "pkg" / "scripts"
    folder.mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "pkg" / "__init__.py").touch()
    (folder / "beside.py").write_text("N = 2\n")
    (folder / "other.py").write_text("import pkg.scripts.beside\n")
    (folder / "run.py").write_text(
        "from beside import N\ndef outer(n):\n    def h(x):\n        return x + n\n    return h(1)\n"
        "print(outer(N))\n"
    )
    assert extract(folder / "run.py", "--to", folder / "parts.py", "--write").code == 0
    assert execute(folder, "run.py") == "3\n"
