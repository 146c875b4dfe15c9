"""The command: formats, exit statuses, and one clear line for every input that can't be used."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from codemods.audit import main

Tree = Callable[[dict[str, str]], Path]

GOOD = "def outer(n):\n    def h(x):\n        return x + n\n    return h(1)\n"
BAD = "def outer(n):\n    def h(x):\n        return x + n\n    return map(h, [1])\n"


@pytest.fixture
def good(make_tree: Tree) -> str:
    return str(make_tree({"good.py": GOOD}) / "good.py")


@pytest.fixture
def bad(make_tree: Tree) -> str:
    return str(make_tree({"bad.py": BAD}) / "bad.py")


def test_everything_liftable_is_0(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([good]) == 0
    assert "lift, passing: n" in capsys.readouterr().out


def test_a_refusal_is_1_and_exit_zero_makes_it_0(bad: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([bad]) == 1
    assert "refused: value-use, line 4: h is used as a value here" in capsys.readouterr().out
    assert main([bad, "--exit-zero"]) == 0


def test_output_to_a_file(good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([good, "--output-format", "json", "--output", str(tmp_path / "out.json")]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads((tmp_path / "out.json").read_text())["path"] == "good.py"


def test_a_file_without_helpers_is_fine(make_tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(make_tree({"m.py": "x = 1\n"}) / "m.py")]) == 0
    assert "no function with helpers" in capsys.readouterr().out


UNUSABLE = {
    "no file": (["nope.py"], {}, "nope.py: no such file"),
    "a folder": (["d"], {"d/m.py": ""}, "d: is a folder, not a Python file"),
    "syntax": (["m.py"], {"m.py": "x = 1\ndef f(:\n"}, "m.py:2: not valid Python: "),
    "encoding": (["m.py"], {"m.py": "# coding: nope\n"}, "m.py:1: not valid Python: unknown encoding: nope"),
    "function": (
        ["m.py", "--function", "f"],
        {"m.py": GOOD},
        "m.py: has no function f; functions with helpers: outer",
    ),
    "no functions": (
        ["m.py", "--function", "f"],
        {"m.py": ""},
        "has no function f; no function in it has helpers",
    ),
    "tests": (["m.py", "--tests", "nope"], {"m.py": GOOD}, "--tests nope: no such folder"),
    "format": (
        ["m.py", "--output-format", "xml"],
        {"m.py": GOOD},
        "'xml' is not one of 'text', 'json'",
    ),
    "nothing": ([], {}, "Missing argument 'FILE'."),
    "output": (
        ["m.py", "--output", "no/where.md"],
        {"m.py": GOOD},
        "no/where.md: can't be written: there is no such folder",
    ),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_unusable_input_is_2_and_one_line(
    case: str, make_tree: Tree, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, files, message = UNUSABLE[case]
    monkeypatch.chdir(make_tree(files))
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"x = 1\ny = '\xff'\n", "m.py:2: not valid utf-8"),
        (b"# coding: rot13\n", "m.py:1: rot13 is no encoding of text"),
        (b"# coding: undefined\n", "m.py:1: undefined is no encoding of text"),
    ],
)
def test_what_is_no_text_is_2(
    data: bytes, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.py").write_bytes(data)
    assert main([str(tmp_path / "m.py")]) == 2
    assert told in capsys.readouterr().err


def test_nothing_of_the_subject_is_imported(make_tree: Tree) -> None:
    root = make_tree(
        {
            "pkg/__init__.py": "raise SystemExit('imported')\n",
            "pkg/m.py": "raise SystemExit('imported')\n" + GOOD,
            "tests/test_m.py": "raise SystemExit('imported')\nimport pkg.m\n",
        }
    )
    assert main([str(root / "pkg/m.py"), "--tests", str(root / "tests")]) == 0
