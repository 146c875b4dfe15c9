"""What was read is ticked off in a file, and stays so where it moves; told to a person and to a forge."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from codemods.review.cli import main
from tests.codemods.review.conftest import Files, Reviewed

BEFORE = """
def step(model, batch, rate):
    loss = model(batch)
    model.zero_grad()
    loss.backward()
    model.step(rate)
    return loss
"""
AFTER = BEFORE.replace("    model.step(rate)", "    clip(model)\n    model.step(rate)").replace(
    "loss\n", "loss.item()\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "before", {"a.py": BEFORE})
    write(tmp_path / "after", {"a.py": AFTER})
    return tmp_path


def write(folder: Path, files: Files) -> None:
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for name, text in files.items():
        (folder / name).write_text(text)


def run(folder: Path, *options: str) -> int:
    return main(["--base", str(folder / "before"), "--head", str(folder / "after"), *options])


def ticked(folder: Path, reason: str = "read by two of us") -> list[str]:
    """Accept everything that is left; the options that say so."""
    file = folder / "accepted.toml"
    run(folder, "--output-format", "accept", "--output", str(file))
    file.write_text(file.read_text().replace('reason = ""', f'reason = "{reason}"'))
    return ["--accepted", str(file)]


def test_what_was_read_is_settled(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder) == 1
    options = ticked(folder)
    assert run(folder, *options) == 0
    assert "3 places were read and accepted" in capsys.readouterr().out


MOVED = {
    "to another file": {"b.py": AFTER},
    "below other lines": {"a.py": "# more\n" * 9 + AFTER},
    "reformatted": {"a.py": AFTER.replace("(model)", "(\n        model\n    )")},
}


@pytest.mark.parametrize("case", MOVED)
def test_it_stays_settled_where_it_moves(case: str, folder: Path) -> None:
    options = ticked(folder)
    write(folder / "after", MOVED[case])
    assert run(folder, *options) == 0


OTHER = {
    "to another place": AFTER.replace("    clip(model)\n", "").replace(
        "    loss.b", "    clip(model)\n    loss.b"
    ),
    "twice": AFTER.replace("    clip(model)\n", "    clip(model)\n    clip(model)\n"),
    "in another function": AFTER.replace("def step", "def other"),
    "and another line": AFTER.replace("zero_grad()", "zero_grad(True)"),
    "not any more": BEFORE,
}


@pytest.mark.parametrize("case", OTHER)
def test_another_change_is_not_settled_by_it(case: str, folder: Path) -> None:
    options = ticked(folder)
    write(folder / "after", {"a.py": OTHER[case]})
    assert run(folder, *options) == 1


def test_a_file_that_is_not_judged_is_settled_as_it_is(folder: Path) -> None:
    write(folder / "before", {"a.py": BEFORE, "s.py": "x = 1\n"})
    write(folder / "after", {"a.py": BEFORE, "s.py": "x =\n"})
    options = ticked(folder)
    assert run(folder, *options) == 0
    (folder / "after" / "s.py").write_text("x = =\n")
    assert run(folder, *options) == 1


def test_entries_that_match_nothing_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ticked(folder)
    write(folder / "after", {"a.py": BEFORE})
    capsys.readouterr()
    assert run(folder, *options) == 1
    assert (
        len(re.findall(r"^stale +[0-9a-f]{12} is accepted, and is not there$", capsys.readouterr().out, re.M))
        == 3
    )


WRONG = {
    "version = 2\n": "version must be 1",
    "nonsense\n": "not valid TOML",
    "version = 1\nother = 1\n": "unknown key other",
    "version = 1\naccepted = 1\n": "accepted must be tables",
    'version = 1\n[[accepted]]\nid = "1"\n': "1 has no reason",
    'version = 1\n[[accepted]]\nid = "1"\nreason = " "\n': "1 has no reason",
    'version = 1\n[[accepted]]\nid = "1"\nreason = "x"\nby = "y"\n': "unknown key by",
    'version = 1\n[[accepted]]\nreason = "x"\n': "needs an id",
    'version = 1\n[[accepted]]\nid = 1\nreason = "x"\n': "needs an id, and texts alone",
    'version = 1\n[[accepted]]\nid = "1"\nreason = "x"\n' + '[[accepted]]\nid = "1"\nreason = "x"\n': "twice",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_file_that_is_not_as_it_must_be(
    text: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "accepted.toml").write_text(text)
    assert run(folder, "--accepted", str(folder / "accepted.toml")) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert WRONG[text] in line


def test_a_file_that_is_not_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "--accepted", str(folder / "nothing.toml")) == 2
    assert "nothing.toml: no such file; --format accept writes" in capsys.readouterr().err


def test_a_pull_request_is_shown_what_is_left(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "after", {"a.py": AFTER.replace("clip(model)", "clip('```')"), "s.toml": "x = 1\n"})
    assert run(folder, "--output-format", "markdown") == 1
    text = capsys.readouterr().out
    assert text.startswith("### 1 Python files differ: 0 of 1 definitions proven equal")
    assert "**step** in `a.py`\n\n```diff\n-     7  return loss\n+     6  clip('```')\n" in text
    assert "- not compared: `s.toml` is not Python" in text
    assert sum(line.startswith("```") for line in text.splitlines()) == 2


def test_moved_code_is_shown_as_it_was_and_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    many = "".join(f"def f{i}(x):\n    y = x + {i}\n    return y * 3\n\n\n" for i in range(150))
    write(folder / "before", {"a.py": many})
    (folder / "after" / "a.py").unlink()
    write(folder / "after", {"b.py": many.replace("return y * 3", "return y * 4")})
    assert run(folder, "--output-format", "markdown") == 1
    text = capsys.readouterr().out
    for number in range(150):
        title = f"**f{number}** in `b.py`, before **f{number}** in `a.py`"
        line = 3 + 5 * number
        assert f"{title}\n\n```diff\n- {line:>5}  return y * 3\n+ {line:>5}  return y * 4\n```" in text


def test_code_scanning_is_told_what_is_left(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "--output-format", "sarif") == 1
    [scan] = json.loads(capsys.readouterr().out)["runs"]
    assert [result["ruleId"] for result in scan["results"]] == ["gone", "new", "new"]
    for result in scan["results"]:
        assert scan["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    names = [result["partialFingerprints"]["review/v1"] for result in scan["results"]]
    assert len(set(names)) == 3
    run(folder, *ticked(folder), "--output-format", "sarif")
    assert json.loads(capsys.readouterr().out)["runs"][0]["results"] == []


def test_what_is_told_beside_statements_can_be_settled(
    folder: Path, compare: Callable[[Files, Files], Reviewed]
) -> None:
    write(folder / "before", {"a.py": "import os\nx = f()\ny = g()\n", "u.py": "from a import x\n# 1\n"})
    write(folder / "after", {"a.py": "import os\nimport w\ny = g()\nx = f()\n", "u.py": "from a import x\n"})
    assert run(folder) == 1
    assert run(folder, *ticked(folder)) == 0


def test_a_statement_that_binds_many_names_is_told_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder / "before", {"a.py": "low, high, rest = limits(1)\n"})
    write(folder / "after", {"a.py": "low, high, rest = limits(2)\n"})
    for style in ("sarif", "markdown", "accept"):
        assert run(folder, "--output-format", style) == 1
        assert capsys.readouterr().out.count("limits(2)") == 1
    assert run(folder, *ticked(folder)) == 0
    assert "2 places were read and accepted" in capsys.readouterr().out
    # Entries of each of its names, as they were listed once, hold too.
    file = folder / "accepted.toml"
    assert run(folder, "--output-format", "json") == 1
    names = set(re.findall(r'"id": "(\w+)"', capsys.readouterr().out))
    assert len(names) == 6
    entries = (f'[[accepted]]\nid = "{name}"\nreason = "read"\n' for name in names)
    file.write_text("version = 1\n" + "".join(entries))
    assert run(folder, "--accepted", str(file)) == 0
