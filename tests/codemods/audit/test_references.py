"""Uses of a function are found through every way in which Python code can get at it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from codemods.audit.references import Usage, find_usage
from codemods.program.repository import module_name

Tree = Callable[[dict[str, str]], Path]

PACKAGE = {
    "src/pkg/__init__.py": "from pkg.sub.loop import train as fit\n",
    "src/pkg/sub/__init__.py": "from .loop import *\n",
    "src/pkg/sub/loop.py": "LIMIT = 3\ndef train(n):\n    return n\n\ndef again():\n    return train(1)\n",
}

USES = {
    "from": ("from pkg.sub.loop import train\ntrain(1)", ["import 1", "call 2"]),
    "from, renamed": ("from pkg.sub.loop import train as t\nt(1)", ["import 1", "call 2"]),
    "module": ("import pkg.sub.loop\npkg.sub.loop.train(1)", ["call 2"]),
    "module, renamed": ("import pkg.sub.loop as m\nm.train(1)", ["call 2"]),
    "module from package": ("from pkg.sub import loop\nloop.train(1)", ["call 2"]),
    "re-export under another name": ("from pkg import fit\nfit(1)", ["import 1", "call 2"]),
    "re-export, star": ("from pkg.sub import train\ntrain(1)", ["import 1", "call 2"]),
    "re-export, attribute": ("import pkg\npkg.fit(1)", ["call 2"]),
    "star": ("from pkg.sub.loop import *\ntrain(1)", ["call 2"]),
    "inside a function": ("def f():\n    from pkg import fit\n    return fit(1)", ["import 2", "call 3"]),
    "alias": ("from pkg import fit\ngo = fit\ngo(1)", ["import 1", "value 2", "call 3"]),
    "as a value": ("from pkg import fit\nmap(fit, [1])", ["import 1", "value 2"]),
    "its source": ("import inspect\nfrom pkg import fit\ninspect.getsource(fit)", ["import 2", "source 3"]),
    "its code": ("from pkg import fit\nfit.__code__.co_consts", ["import 1", "source 2"]),
    "same name, elsewhere": ("from other import train\ntrain(1)", []),
    "shadowed": ("from pkg.sub.loop import train\ndef f(train):\n    train(1)", ["import 1"]),
}


def usage(root: Path) -> Usage:
    return find_usage(root, module_name(root / "src/pkg/sub/loop.py", root), ["train"])


@pytest.mark.parametrize("case", USES)
def test_uses(case: str, make_tree: Tree) -> None:
    text, expected = USES[case]
    root = make_tree(PACKAGE | {"app.py": text + "\n"})
    found = [use for use in usage(root).references["train"] if use.path == "app.py"]
    assert [f"{use.kind} {use.line}" for use in found] == expected


def test_uses_in_the_own_file_have_their_function(make_tree: Tree) -> None:
    root = make_tree(PACKAGE)
    (use,) = [u for u in usage(root).references["train"] if u.path == "src/pkg/sub/loop.py"]
    assert (use.function, use.kind, use.line) == ("again", "call", 6)


def test_calls_of_a_method_may_be_anybodys(make_tree: Tree) -> None:
    root = make_tree(
        {
            "m.py": "class Trainer:\n    def train(self): ...\n",
            "app.py": "from m import Trainer\nTrainer().train()\n",
        }
    )
    found = find_usage(root, module_name(root / "m.py", root), ["Trainer.train"]).references["Trainer.train"]
    assert [(use.path, use.line, use.kind) for use in found] == [("app.py", 2, "method")]


def test_names_taken_from_the_module(make_tree: Tree) -> None:
    root = make_tree(
        PACKAGE | {"app.py": "from pkg.sub import loop\nloop.LIMIT\ngetattr(loop, 'train')\nloop.LIMIT = 4\n"}
    )
    taken = [(item.name, item.path, item.line) for item in usage(root).taken]
    assert taken == [
        ("*", "src/pkg/sub/__init__.py", 1),
        ("LIMIT", "app.py", 2),
        ("train", "app.py", 3),
        ("train", "src/pkg/__init__.py", 1),
    ]


def test_environments_and_hidden_folders_are_not_searched(make_tree: Tree) -> None:
    text = "from pkg import fit\nfit(1)\n"
    root = make_tree(
        PACKAGE
        | {
            "env/pyvenv.cfg": "",
            "env/lib/x.py": text,
            ".tox/x.py": text,
            "build/x.py": text,
            "broken.py": "fit((",
        }
    )
    assert {use.path for use in usage(root).references["train"]} == {
        "src/pkg/__init__.py",
        "src/pkg/sub/loop.py",
    }


def test_files_that_cannot_be_parsed_are_told(make_tree: Tree) -> None:
    root = make_tree(PACKAGE | {"app.py": "from pkg import fit as train\ntrain((", "other.py": "nothing(("})
    assert usage(root).unread == ("app.py",)
