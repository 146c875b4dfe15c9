"""Import cycles and what an import pulls in, from the text of a repository."""

import ast
from collections.abc import Callable
from pathlib import Path

from codemods.audit.import_graph import ImportGraph, lazy_imports, pulled_in, source_folders

Tree = Callable[[dict[str, str]], Path]


def graph(root: Path, module: str) -> ImportGraph:
    path = root / "src" / Path(*module.split(".")).with_suffix(".py")
    return ImportGraph(source_folders(path, module, root))


def test_a_lazy_import_is_explained_by_the_cycle_that_it_avoids(make_tree: Tree) -> None:
    root = make_tree(
        {
            "src/pkg/__init__.py": "",
            "src/pkg/loop.py": """
                def train():
                    from pkg.model import create
                    from pkg import leaf
                    import pkg.plain
                    import json
                """,
            "src/pkg/model.py": "from pkg.parts import part\n",
            "src/pkg/parts.py": "from . import loop\n",
            "src/pkg/leaf.py": "import math\n",
            "src/pkg/plain.py": "def f():\n    import pkg.loop\n",
        }
    )
    tree = ast.parse((root / "src/pkg/loop.py").read_text())
    found = lazy_imports(tree.body[0], "pkg.loop", "pkg", graph(root, "pkg.loop"))
    assert [(lazy.name, lazy.target, lazy.cycle) for lazy in found] == [
        ("create", "pkg.model", ("pkg.model", "pkg.parts", "pkg.loop")),
        ("leaf", "pkg.leaf", ()),
        ("pkg", "pkg.plain", ()),
        ("json", "json", ()),
    ]
    assert [lazy.deferred for lazy in found] == [True, True, True, True]


def test_without_a_graph_nothing_is_said_about_cycles() -> None:
    (lazy,) = lazy_imports(ast.parse("def f():\n    import a.b as c\n"), "m", "", None)
    assert (lazy.name, lazy.target, lazy.cycle, lazy.deferred) == ("c", "a.b", None, None)


def test_what_an_import_pulls_in(make_tree: Tree) -> None:
    root = make_tree(
        {
            "src/pkg/__init__.py": "import click\n",
            "src/pkg/loop.py": """
                from typing import TYPE_CHECKING
                from . import near
                try:
                    from .far import deep
                except ImportError:
                    pass
                if TYPE_CHECKING:
                    import pandas
                def f():
                    import transformers
                if __name__ == "__main__":
                    import scipy
                """,
            "src/pkg/near.py": "import torch.nn as nn\nimport json\n",
            "src/pkg/far/__init__.py": "",
            "src/pkg/far/deep.py": "import numpy as np, torch\n",
        }
    )
    pulled = pulled_in("pkg.loop", graph(root, "pkg.loop"))
    assert pulled.modules == ("pkg", "pkg.far", "pkg.far.deep", "pkg.near")
    assert pulled.heavy == (
        ("pkg.loop", "pkg.far.deep", "numpy"),
        ("pkg.loop", "pkg.near", "torch"),
    )
    assert pulled.third_party == ("click",)


def test_a_file_that_cannot_be_parsed_ends_the_search(make_tree: Tree) -> None:
    root = make_tree(
        {"src/pkg/__init__.py": "", "src/pkg/loop.py": "import pkg.bad\n", "src/pkg/bad.py": "x = ("}
    )
    assert pulled_in("pkg.loop", graph(root, "pkg.loop")).modules == ("pkg", "pkg.bad")
