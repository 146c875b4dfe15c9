"""The command line: its errors, its exit statuses, and files whose bytes are unusual."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from codemods.__main__ import main as codemods
from tests.codemods.conftest import Command

PROGRAM = """\
def outer(n):
    def h(x):
        return x + n

    def g():
        return h

    return h(1), g
"""
LIFTABLE = """\
def outer(n):
    def h(x):
        return x + n

    return h(1)
"""


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (None, [], "program.py: no such file"),
        ("def f(:\n", [], "program.py:1: not valid Python"),
        ("x = 1\n", ["--function", "nobody"], "there is no function nobody"),
        (PROGRAM, ["--helper", "k"], "there is no helper k; there are h, g"),
        (LIFTABLE, ["--to", "program.py"], "program.py: exists already; name a new file"),
        ("# coding: no-such-codec\n", [], "not valid Python: unknown encoding"),
        (LIFTABLE, ["--to", "there.py"], "there.py: exists already; name a new file"),
        (LIFTABLE, ["--to", "new.txt"], "new.txt: is no Python file; name one that ends in .py"),
    ],
)
def test_unusable_input_is_one_line_and_status_2(
    text: str | None,
    arguments: list[str],
    message: str,
    tmp_path: Path,
    extract: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("program.py").write_text(text)
    Path("there.py").write_text("x = 1\n")
    ran = extract("program.py", *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert ran.out == ""


@pytest.mark.parametrize("arguments", [[], ["x.py", "--write", "--check"], ["x.py", "--plan", "p"]])
def test_wrong_usage_is_status_2(arguments: list[str], extract: Command) -> None:
    ran = extract(*arguments)
    assert ran.code == 2
    assert ran.err


def test_a_refusal_is_status_1_and_the_others_are_lifted(tmp_path: Path, extract: Command) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM + LIFTABLE.replace("outer", "second"))
    ran = extract(path, "--write", "--output-format", "json")
    assert ran.code == 1
    statuses = [(h["qualname"], h["status"], h["code"]) for h in ran.json["helpers"]]
    assert statuses == [
        ("outer.h", "refused", "value-use"),
        ("outer.g", "refused", "value-use"),
        ("second.h", "lifted", None),
    ]
    assert "line 6" in ran.json["helpers"][0]["reason"]
    assert "wrapper" in ran.json["helpers"][0]["reason"]
    assert "def _h(x, *, n):" in path.read_text()


def test_quiet(tmp_path: Path, extract: Command) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    ran = extract(path, "--quiet")
    assert (ran.code, ran.out, ran.err) == (1, "", "")


def test_a_named_helper_leaves_the_others_alone(tmp_path: Path, extract: Command) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        LIFTABLE.replace("    return h(1)", "    def k():\n        return n\n\n    return h(1), k()")
    )
    ran = extract(path, "--helper", "k", "--output-format", "json", "--write")
    assert {name: helper["status"] for name, helper in ran.helpers.items()} == {"h": "kept", "k": "lifted"}


def test_a_star_import_of_another_project_brings_no_private_name(tmp_path: Path, extract: Command) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"from math import *\n\n\n{LIFTABLE}")
    assert extract(program, "--write").code == 0
    assert "def _h(x, *, n):" in program.read_text()


def test_check_tells_whether_anything_would_change(tmp_path: Path, extract: Command) -> None:
    path = tmp_path / "program.py"
    path.write_text(LIFTABLE)
    assert extract(path, "--check").code == 1
    assert path.read_text() == LIFTABLE
    assert extract(path, "--write").code == 0
    written = path.read_bytes()
    assert extract(path, "--check").code == 0
    assert extract(path, "--write").code == 0
    assert path.read_bytes() == written


def test_the_report_can_go_to_a_file(tmp_path: Path, extract: Command) -> None:
    path, report = tmp_path / "program.py", tmp_path / "report.json"
    path.write_text(LIFTABLE)
    ran = extract(path, "--output-format", "json", "--output", report)
    assert ran.out == ""
    assert '"lifted"' in report.read_text()
    ran = extract(path, "--output", tmp_path / "none" / "report.json")
    assert (ran.code, "can't be written" in ran.err) == (2, True)


@pytest.mark.parametrize(("newline", "encoding"), [("\r\n", "utf-8-sig"), ("\n", "latin-1")])
def test_line_ends_and_encodings_survive(
    newline: str, encoding: str, tmp_path: Path, extract: Command
) -> None:
    cookie = "# coding: latin-1" if encoding == "latin-1" else "# é"
    body = "\n\tx = 'é'  # ü\n\tdef h(y):\n\t\treturn y + n, 'ö', x\n\treturn h(1)\n"
    text = f"{cookie}\ndef outer(n):{body}print(ascii(outer(2)))\n"
    path = tmp_path / "program.py"
    path.write_bytes(text.replace("\n", newline).encode(encoding))
    before = subprocess.run([sys.executable, path], capture_output=True, check=True).stdout
    assert extract(path, "--write").code == 0
    written = path.read_bytes()
    assert written.startswith(b"\xef\xbb\xbf") == (encoding == "utf-8-sig")
    assert written.decode(encoding).replace(newline, "").count("\n") == 0 or newline == "\n"
    assert b"_h" in written
    assert subprocess.run([sys.executable, path], capture_output=True, check=True).stdout == before


def test_bytes_outside_the_touched_statements_stay(tmp_path: Path, extract: Command) -> None:
    head = "import os\r\n\n\x0c\nX = [1,\n     2 ]   # odd   \n"
    tail = "\n\nclass   K( object ) :\n\tdef m ( self ):  return  1\r\n"
    path = tmp_path / "program.py"
    path.write_bytes((head + LIFTABLE + tail).encode())
    assert extract(path, "--write").code == 0
    written = path.read_bytes().decode()
    assert written.startswith(head)
    assert written.endswith(tail)


def test_statements_beside_the_touched_ones_stay(tmp_path: Path, extract: Command) -> None:
    """In the outer function itself, whatever their shape."""
    above = "    odd = [ n,\n  2 ]   # odd\n\n    if odd :\n        odd .pop( )\n      # less deep\n"
    chain = (
        "    if n :  pass\n    elif  odd:  # why\n     odd = ( n ) ; n -= 1\n    else :\n\n      odd=h( 2 )\n"
    )
    below = "    @ print\n    # between\n    class  K :  'k'\n    'no docstring'\n        # deeper\n    odd"
    path = tmp_path / "program.py"
    path.write_text(f"def outer(m):\n    n = m\n    def h(x):\n        return x + m\n{above}{chain}{below}\n")
    ran = extract(path, "--helper", "h", "--write", "--output-format", "json")
    assert ran.helpers["h"]["status"] == "lifted", ran.out
    kept = above + chain.replace("h( 2 )", "_h( 2,  m=m)") + below
    assert path.read_text().endswith(f"def outer(m):\n    n = m\n{kept}\n")


def test_deep_nesting_is_analysed_and_deeper_nesting_is_one_line(tmp_path: Path) -> None:
    deep = tmp_path / "deep.py"
    deep.write_text(
        "def outer(n):\n    def h():\n        return n\n    return h()\n\n\nx = " + "+".join(["1"] * 900)
    )
    assert codemods(["extract", str(deep), "--quiet"]) == 0
    deeper = tmp_path / "deeper.py"
    deeper.write_text("x = " + "+".join(["1"] * 2500))
    done = subprocess.run(
        [sys.executable, "-m", "codemods.extract", str(deeper), "--quiet"], capture_output=True, text=True
    )
    assert done.returncode in (0, 2)
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == (done.returncode == 2)


def test_a_text_that_is_almost_python_warns_of_nothing(
    tmp_path: Path, extract: Command, recwarn: pytest.WarningsRecorder
) -> None:
    file = tmp_path / "program.py"
    file.write_text(LIFTABLE + "\nshown = '4if odd else even'\n")
    (tmp_path / "other.py").write_text("import program\nshown = '1or less', '8is big'\n")

    assert extract(file, "--to", tmp_path / "lifted.py").code == 0
    assert not list(recwarn)
