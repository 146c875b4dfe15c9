"""Dotted names of files, under every layout that occurs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from codemods.program.repository import module_name, project_root

Tree = Callable[[dict[str, str]], Path]

LAYOUTS = {
    "plain file": (["m.py"], ".", "m.py", "m", []),
    "package": (["pkg/__init__.py"], ".", "pkg/m.py", "pkg.m", []),
    "src": (["src/pkg/__init__.py"], ".", "src/pkg/m.py", "pkg.m", ["src.pkg.m"]),
    "init": (["src/pkg/__init__.py"], ".", "src/pkg/__init__.py", "pkg", ["src.pkg"]),
    "folder without init": (["pkg/__init__.py"], ".", "pkg/sub/m.py", "pkg.sub.m", []),
    "scripts": ([], ".", "scripts/m.py", "m", ["scripts.m"]),
    "root is a package": (["pkg/__init__.py"], "pkg", "pkg/m.py", "pkg.m", []),
    "root inside a package": (
        ["pkg/__init__.py", "pkg/sub/__init__.py"],
        "pkg/sub",
        "pkg/sub/m.py",
        "pkg.sub.m",
        [],
    ),
    "outside the root": (["pkg/__init__.py", "other/x.py"], "other", "pkg/m.py", "pkg.m", []),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_module_names(layout: str, make_tree: Tree) -> None:
    files, root, path, name, aliases = LAYOUTS[layout]
    base = make_tree(dict.fromkeys([*files, path], ""))
    found = module_name(base / path, base / root)
    assert (found.name, list(found.aliases)) == (name, aliases)


def test_the_root_of_a_project_is_where_its_configuration_is(make_tree: Tree) -> None:
    base = make_tree({"pyproject.toml": "", "src/pkg/m.py": ""})
    assert project_root(base / "src/pkg/m.py") == base.resolve()
