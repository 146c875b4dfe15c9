"""What the report says about each helper and its function, beside what the renderings show."""

from collections.abc import Callable
from pathlib import Path

import pytest

from codemods.audit.build import build_report
from codemods.audit.report import FunctionReport
from codemods.program.source import SourceError

Tree = Callable[[dict[str, str]], Path]


def one(make_tree: Tree, text: str) -> FunctionReport:
    """The report of the first function of a file of its own."""
    return build_report(make_tree({"m.py": text}) / "m.py").functions[0]


def test_what_was_not_searched_is_not_empty(specimen: Path) -> None:
    report = build_report(specimen / "src/pkg/loop.py")
    (train,) = report.functions
    assert (report.module, report.path) == ("pkg.loop", "src/pkg/loop.py")
    assert (train.seams, report.other_seams) == (None, None)


def test_lines_of_a_function_without_its_helpers(make_tree: Tree) -> None:
    function = one(
        make_tree,
        """
        def outer():
            @staticmethod
            def h():
                def deeper():
                    pass
            return 1
        """,
    )
    assert function.own_lines == 2
    assert [h.qualname for h in function.helpers] == ["outer.h", "outer.h.deeper"]


def test_methods_and_nested_functions_by_name(make_tree: Tree) -> None:
    path = make_tree(
        {
            "m.py": """
                class A:
                    def run(self):
                        def h():
                            def k():
                                return self
                            return k()
                        return h()
                """
        }
    )
    assert build_report(path / "m.py").functions[0].qualname == "A.run"
    (h,) = build_report(path / "m.py", function="A.run.<locals>.h").functions
    assert [k.name for k in h.helpers] == ["k"]
    assert h.helpers[0].captures[0].owner == "A.run"


def test_a_function_without_helpers_can_be_asked_for(make_tree: Tree) -> None:
    path = make_tree({"m.py": "def f(x):\n    return x.item()\n"}) / "m.py"
    (f,) = build_report(path, function="f").functions
    assert f.helpers == ()
    assert build_report(path).functions == ()


def test_an_unknown_function_is_answered_with_those_there_are(make_tree: Tree) -> None:
    path = make_tree(
        {"m.py": "def f():\n    def h(): ...\n\nclass A:\n    def g(self):\n        def h(): ...\n"}
    )
    with pytest.raises(SourceError, match=r"m\.py: has no function nope; functions with helpers: f, A\.g$"):
        build_report(path / "m.py", function="nope")
