"""Every way in which a test can replace a module's name is found; what only looks alike is not."""

from collections.abc import Callable
from pathlib import Path
from textwrap import indent

import pytest

from codemods.program.patches import find_seams
from codemods.program.repository import module_name
from codemods.program.source import SourceError

Tree = Callable[[dict[str, str]], Path]

PACKAGE = {
    "src/pkg/__init__.py": "",
    "src/pkg/sub/__init__.py": "",
    "src/pkg/sub/loop.py": "from pkg.hub import get_hub\nimport torch.amp as amp\ndef train(): ...\n",
}


def names(root: Path) -> list[str]:
    """Names of all seams found in the tests folder."""
    module = module_name(root / "src/pkg/sub/loop.py", root)
    return [seam.name for seam in find_seams([root / "tests"], module, root)]


SEAMS = {
    "string": ('monkeypatch.setattr("pkg.sub.loop.get_hub", fake)', ["get_hub"]),
    "string, attribute": ('monkeypatch.setattr("pkg.sub.loop.amp.autocast", fake)', ["amp.autocast"]),
    "module by from": ('from pkg.sub import loop\nmonkeypatch.setattr(loop, "get_hub", fake)', ["get_hub"]),
    "module by import": ('import pkg.sub.loop\nmonkeypatch.setattr(pkg.sub.loop, "get_hub", 1)', ["get_hub"]),
    "module alias": ('import pkg.sub.loop as m\nmonkeypatch.setattr(m, "get_hub", 1)', ["get_hub"]),
    "variable": ('import pkg.sub.loop\nm = pkg.sub.loop\nmonkeypatch.setattr(m, "get_hub", 1)', ["get_hub"]),
    "importlib": (
        'import importlib\nm = importlib.import_module("pkg.sub.loop")\nmonkeypatch.setattr(m, "get_hub", 1)',
        ["get_hub"],
    ),
    "sys.modules": (
        'import sys\nmonkeypatch.setattr(sys.modules["pkg.sub.loop"], "get_hub", 1)',
        ["get_hub"],
    ),
    "class of the module": (
        'from pkg.sub.loop import Agent\nmonkeypatch.setattr(Agent, "load", 1)',
        ["Agent.load"],
    ),
    "attribute of the module": (
        'from pkg.sub import loop\nmonkeypatch.setattr(loop.amp, "autocast", 1)',
        ["amp.autocast"],
    ),
    "delattr": ('from pkg.sub import loop\nmonkeypatch.delattr(loop, "get_hub")', ["get_hub"]),
    "patch": ('from unittest.mock import patch\nwith patch("pkg.sub.loop.get_hub"):\n    pass', ["get_hub"]),
    "patch under another name": (
        'from unittest.mock import patch as p\np("pkg.sub.loop.get_hub")',
        ["get_hub"],
    ),
    "mock.patch": ('from unittest import mock\nmock.patch("pkg.sub.loop.get_hub").start()', ["get_hub"]),
    "patch target by keyword": ('from unittest import mock\nmock.patch(target="pkg.sub.loop.x")', ["x"]),
    "patch.object": (
        'from unittest import mock\nfrom pkg.sub import loop\nmock.patch.object(loop, "get_hub")',
        ["get_hub"],
    ),
    "patch.multiple": (
        'from unittest import mock\nmock.patch.multiple("pkg.sub.loop", get_hub=1, x=2)',
        ["*"],
    ),
    "mocker": ('mocker.patch("pkg.sub.loop.get_hub")', ["get_hub"]),
    "mocker.patch.object": ('from pkg.sub import loop\nmocker.patch.object(loop, "get_hub")', ["get_hub"]),
    "mocker.spy": ('from pkg.sub import loop\nmocker.spy(loop, "get_hub")', ["get_hub"]),
    "setattr": ('from pkg.sub import loop\nsetattr(loop, "get_hub", fake)', ["get_hub"]),
    "assignment": ("from pkg.sub import loop\nloop.get_hub = fake", ["get_hub"]),
    "del": ("from pkg.sub import loop\ndel loop.get_hub", ["get_hub"]),
    "namespace": ('from pkg.sub import loop\nmonkeypatch.setitem(loop.__dict__, "get_hub", 1)', ["*"]),
    "vars": ('from pkg.sub import loop\nvars(loop)["get_hub"] = 1', ["get_hub"]),
    "constant prefix": ('M = "pkg.sub.loop"\nmonkeypatch.setattr(f"{M}.get_hub", 1)', ["get_hub"]),
    "concatenation": ('M = "pkg.sub.loop."\nmonkeypatch.setattr(M + "get_hub", 1)', ["get_hub"]),
    "__name__": ('from pkg.sub import loop\nmocker.patch(f"{loop.__name__}.get_hub")', ["get_hub"]),
    "loop over names": (
        'from pkg.sub import loop\nfor n in ("a", "b"):\n    monkeypatch.setattr(loop, n, 1)',
        ["*"],
    ),
    "loop over strings": ('for n in ("a", "b"):\n    mocker.patch(f"pkg.sub.loop.{n}")', ["*"]),
    "the namespace is changed": ("from pkg.sub import loop\nvars(loop).update(x=1)", ["*"]),
    "somebody's own helper": ('swap("pkg.sub.loop.get_hub", to=fake)', ["get_hub"]),
    "somebody's own helper, object": ('from pkg.sub import loop\nswap(loop, "get_hub", fake)', ["get_hub"]),
    "a sentence": ('print("see pkg.sub.loop.get_hub")\nlog("pkg.sub.loop.get_hub is gone")', []),
    "unknown name": ("from pkg.sub import loop\nmonkeypatch.setattr(loop, which(), 1)", ["*"]),
    "another module": ('monkeypatch.setattr("pkg.sub.other.get_hub", 1)  # not loop', []),
    "longer name": ('monkeypatch.setattr("pkg.sub.loops.get_hub", 1)', []),
    "import or else": ('from pkg.sub import loop\nif old:\n    loop = old\nsetattr(loop, "x", 1)', ["x"]),
    "shadowed": ('from pkg.sub import loop\n(lambda loop: setattr(loop, "x", 1))(3)', []),
    "reading": ('from pkg.sub import loop\ngetattr(loop, "get_hub")', []),
    "a dict": ('from unittest import mock\nmock.patch.dict("pkg.sub.loop.REGISTRY", {})', []),
}


@pytest.mark.parametrize("case", SEAMS)
def test_inside_a_test(case: str, make_tree: Tree) -> None:
    text, expected = SEAMS[case]
    body = "def test_it(monkeypatch, mocker):\n" + indent(text, "    ")
    root = make_tree(PACKAGE | {"tests/test_loop.py": body})
    assert names(root) == expected


def test_the_place_is_told(make_tree: Tree) -> None:
    root = make_tree(
        PACKAGE
        | {
            "tests/unit/test_loop.py": """
                from unittest import mock

                class TestHub:
                    @mock.patch("pkg.sub.loop.get_hub")
                    def test_emits(self, hub): ...
                """
        }
    )
    module = module_name(root / "src/pkg/sub/loop.py", root)
    (seam,) = find_seams([root / "tests"], module, root)
    assert (seam.name, seam.path, seam.line) == ("get_hub", "tests/unit/test_loop.py", 5)
    assert (seam.test, seam.how) == ("TestHub.test_emits", "patch")
    assert seam.rebinds


def test_relative_imports_and_folders_without_init(make_tree: Tree) -> None:
    root = make_tree(
        {
            "top/__init__.py": "",
            "top/specimen/loop.py": "",
            "top/specimen/test_loop.py": """
                from . import loop
                def test_it(monkeypatch):
                    monkeypatch.setattr(loop, "near", 1)
                    monkeypatch.setattr("top.specimen.loop.far", 1)
                """,
        }
    )
    module = module_name(root / "top/specimen/loop.py", root)
    assert [seam.name for seam in find_seams([root], module, root)] == ["far", "near"]


def test_a_file_that_is_run_is_no_seam(make_tree: Tree) -> None:
    """Unless the text says that a name ``py`` of it is replaced."""
    text = "import runpy\n\ndef test_it(monkeypatch):\n    runpy.run_path('trainer.py')\n"
    root = make_tree({"trainer.py": "import py\n", "tests/test_it.py": text})
    module = module_name(root / "trainer.py", root)
    assert find_seams([root / "tests"], module, root) == ()
    root = make_tree({"tests/test_it.py": f"{text}    monkeypatch.setattr('trainer.py', 1)\n"})
    assert [seam.name for seam in find_seams([root / "tests"], module, root)] == ["py"]


def test_a_seam_could_hide_in_a_file_that_cannot_be_parsed(make_tree: Tree) -> None:
    root = make_tree(
        PACKAGE | {"tests/test_loop.py": "\nimport pkg.sub.loop as (\n", "tests/other.py": "x = ("}
    )
    with pytest.raises(SourceError, match=r"^tests/test_loop\.py:2: not valid Python"):
        names(root)
