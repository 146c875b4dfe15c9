"""Input that can't be used is refused in one line; what can't be judged is named; neither is ever clean."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from codemods.review.cli import main
from tests.codemods.review.conftest import BEFORE, Files, Reviewed
from tests.trees import commit, git

GOOD = "def step(x):\n    return x + 1\n"
# A file on each side, and why it is not judged; None: nothing to complain of.
FILES: dict[str, tuple[bytes | None, bytes | None, str | None]] = {
    "a syntax error after": (b"x = 1\n", b"x = = 1\n", "head: line 1"),
    "a syntax error before": (b"x = = 1\n", b"x = 1\n", "base: line 1"),
    "a syntax error on both sides": (b"x = = 1\n", b"x = = 2\n", "base: line 1"),
    "a conflict that is not resolved": (b"x = 1\n", b"<<<<<<< ours\nx = 1\n", "head: line 1"),
    "binary content": (b"x = 1\n", b"x = 1\0\n", "head: "),
    "bytes that are no text": (b"x = 1\n", b"x = '\xff'\n", "head: "),
    "an encoding that is not known": (b"x = 1\n", b"# coding: nothing\nx = 1\n", "head: "),
    "what only the compiler refuses": (b"x = 1\n", b"return 1\n", "head: line 1"),
    "a future import that others stand before": (
        b"from __future__ import annotations\nx = 1\n",
        b"x = 1\nfrom __future__ import annotations\n",
        "head: line 2",
    ),
    "a global behind its use": (b"x = 1\n", b"x = 1\nglobal x\n", "head: line 2"),
    "a statement that only other future imports allow": (
        b"def f():\n    def g(x: (yield)): pass\n",
        b"from __future__ import annotations\ndef f():\n    def g(x: (yield)): pass\n",
        "head: line 3",
    ),
    "Python 2": (b"x = 1\n", b"print 'x'\n", "head: line 1"),
    "a tower of brackets": (b"x = 1\n", b"x = " + b"(" * 300 + b")" * 300 + b"\n", "head: "),
    "a number of thousands of digits": (b"x = 1\n", b"x = 0x" + b"f" * 9000 + b"\n", "head: a number"),
    "an expression as deep as a well": (b"x = 1\n", b"x = " + b"-" * 100_000 + b"1\n", "head: "),
    # Some versions of Python read them, and they are too deep for us; others don't.
    "a chain of thousands of attributes after": (b"x = 1\n", b"x = a" + b".b" * 3000 + b"\n", "head: "),
    "thousands of branches before": (
        b"x = 1\nif x == 1: x = 2\n" + b"elif x == 3: x = 4\n" * 3000,
        b"x = 1\n",
        "base: ",
    ),
    "thousands of operators on both sides": (
        b"x = " + b"-" * 3000 + b"1\n",
        b"x = " + b"-" * 3002 + b"1\n",
        "base: ",
    ),
    "another encoding that is known": (b"x = '\xc3\xa4'\n", b"# coding: latin-1\nx = '\xe4'\n", None),
    "a byte order mark and other line ends": (
        b"def f():\n    pass\n",
        b"\xef\xbb\xbfdef f():\r\n    pass\r\n",
        None,
    ),
    "an empty file that is new": (None, b"", None),
    "an empty file that is gone": (b"", None, None),
}
OTHERS = [
    "settings.toml",
    "data.json",
    "notebook.ipynb",
    "kernel.pyx",
    "image.png",
    "Makefile",
    "a folder/x y.yaml",
]


@pytest.mark.parametrize("case", FILES)
def test_a_python_file_that_is_not_judged_is_named(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after, why = FILES[case]
    for side, data in (("before", before), ("after", after)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "good.py").write_text(GOOD)
        if data is not None:
            (tmp_path / side / "a.py").write_bytes(data)
    status = main(["--base", str(tmp_path / "before"), "--head", str(tmp_path / "after")])
    out, err = capsys.readouterr()
    assert not err
    assert status == (why is not None)
    assert (f"not judged  a.py: {why}" in out) if why else ("not judged" not in out)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_python_is_named(name: str, compare: Callable[[Files, Files], Reviewed]) -> None:
    for sides in (({name: "1\n"}, {name: "2\n"}), ({}, {name: "2\n"}), ({name: "1\n"}, {})):
        reviewed = compare(*({"good.py": GOOD} | side for side in sides))
        assert reviewed.status == 0
        assert reviewed.document["not_python"] == [name]
        for side in ("base", "head"):
            (reviewed.folder / side / name).unlink(missing_ok=True)


def test_a_file_that_is_gone_and_one_under_a_new_name(compare: Callable[[Files, Files], Reviewed]) -> None:
    reviewed = compare({"a.py": GOOD, "b.py": "y = f()\n"}, {"c.py": GOOD})
    assert reviewed.classes() == {"step": "same", "y": "gone"}
    assert reviewed.status == 1


def test_a_file_that_became_a_package(compare: Callable[[Files, Files], Reviewed]) -> None:
    assert compare({"a.py": GOOD}, {"a/__init__.py": GOOD}).status == 0


def test_a_name_that_is_no_text_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for side in ("before", "after"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "a.py").write_text(GOOD)
    (tmp_path / "after" / os.fsdecode(b"\xff.py")).write_text(GOOD)
    status = main(["--base", str(tmp_path / "before"), "--head", str(tmp_path / "after")])
    assert status == 1
    assert "not judged  \\udcff.py: its name is not UTF-8" in capsys.readouterr().out


def test_an_untold_kind_of_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for side in ("before", "after"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "a.py").write_text(GOOD)
    os.mkfifo(tmp_path / "after" / "pipe.py")
    assert main(["--base", str(tmp_path / "before"), "--head", str(tmp_path / "after")]) == 1
    assert "not judged  pipe.py: not a regular file" in capsys.readouterr().out


def test_a_submodule_is_named(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},library")
    git(repository, "commit", "-qm", "a submodule")
    assert main(["--base", "HEAD~1", "--head", "HEAD"]) == 1
    assert "not judged  library: a submodule" in capsys.readouterr().out


def test_a_path_that_is_nowhere_is_refused(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "train.py").write_text(BEFORE.replace("1", "2"))
    assert main(["--base", "HEAD", "trian.py"]) == 2
    assert capsys.readouterr().err == "codemods review: trian.py: neither side has such a file or folder\n"
    assert main(["--base", "HEAD", "./train.py"]) == 1
    assert main(["--base", "HEAD", str(repository / "train.py")]) == 1


def test_an_empty_repository_has_no_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q")
    assert main(["--base", "HEAD"]) == 2
    assert capsys.readouterr().err == "codemods review: HEAD: no such commit or folder\n"


def test_a_bare_repository_has_two_commits_and_no_working_tree(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "train.py").write_text(BEFORE.replace("1", "2"))
    commit(repository)
    git(repository, "clone", "-q", "--bare", ".", "bare")
    monkeypatch.chdir(repository / "bare")
    assert main(["--base", "HEAD~1"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"codemods review: {repository / 'bare'}: there is no working tree here; give")
    assert len(told.splitlines()) == 1
    assert main(["--base", "HEAD~1", "--head", "HEAD"]) == 1
    assert "changed  train.py:1 step" in capsys.readouterr().out


def test_a_file_for_a_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text(GOOD)
    assert main(["--base", str(tmp_path / "a.py"), "--head", str(tmp_path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
