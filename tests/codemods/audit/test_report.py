"""What the report says about each helper and its function."""

from collections.abc import Callable
from pathlib import Path

import pytest

from codemods.audit.build import build_report
from codemods.audit.report import Answer, Capture, FunctionReport, HelperReport, Report
from codemods.program.source import SourceError

Tree = Callable[[dict[str, str]], Path]


@pytest.fixture
def report(specimen: Path) -> Report:
    return build_report(specimen / "src/pkg/loop.py", tests=[specimen / "tests"])


def helper(report: Report, name: str) -> HelperReport:
    return next(helper for helper in report.helpers if helper.name == name)


def capture(report: Report, helper_name: str, name: str) -> Capture:
    return next(item for item in helper(report, helper_name).captures if item.name == name)


def one(make_tree: Tree, text: str) -> FunctionReport:
    """The report of the first function of a file of its own."""
    return build_report(make_tree({"m.py": text}) / "m.py").functions[0]


def test_how_captures_are_bound(report: Report) -> None:
    assert capture(report, "make", "create").bound_as == "import"
    assert capture(report, "make", "envs").bound_as == "parameter"
    assert capture(report, "note", "scores").bound_as == "local"
    assert capture(report, "report", "note").bound_as == "helper"


def test_uses_of_helpers(report: Report) -> None:
    note = helper(report, "note")
    assert [place.function for place in note.calls] == ["train.report", "train"]
    assert len(helper(report, "later").values) == 1


def test_answers(report: Report) -> None:
    assert helper(report, "note").here == Answer("lifted", ("scores",))
    assert helper(report, "report").here == Answer("lifted", ("scores", "n", "options"))
    refusal = helper(report, "fence").here.refusal
    assert refusal is not None
    assert refusal.code == "maybe-unbound"


def test_a_seam_is_passed_when_its_reader_moves(report: Report) -> None:
    assert "get_hub" in helper(report, "note").elsewhere.passed


def test_seams_and_their_readers(report: Report) -> None:
    (train,) = report.functions
    assert train.seams is not None
    assert [(seam.name, seam.read_by) for seam in train.seams] == [
        ("amp.autocast", ("train.fence",)),
        ("get_hub", ("train.note",)),
    ]
    assert train.seams[1].places[0].test == "test_hub"
    assert report.other_seams is not None
    assert [seam.name for seam in report.other_seams] == ["train"]


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
