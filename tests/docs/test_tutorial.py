"""Every command of the tutorials is run, in order, and prints what the tutorial says that it prints."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?:<!-- append: (?P<file>\S+) -->\n)?```(?P<kind>\w+)\n(?P<body>.*?)```\n", re.DOTALL)


def steps(text: str) -> Iterator[tuple[str, str, str]]:
    """What a reader does: ("run", command, expected output) or ("append", file, text)."""
    for block in BLOCK.finditer(text):
        if block["file"]:
            yield "append", block["file"], block["body"]
        elif block["kind"] == "console":
            for part in re.split(r"^\$ ", block["body"], flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                yield "run", command, output


def pattern(expected: str) -> str:
    """Expected output as a regular expression: ``...`` stands for any lines, within a line for anything."""
    lines = []
    for line in expected.splitlines():
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
        else:
            parts = [re.escape(part) for part in line.rstrip().split("...")]
            lines.append(".*".join(parts) + r"[ ]*\n")
    return "".join(lines)


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("page", "example", "work", "least"),
    [
        ("start.md", "small_monolith", ".", 10),
        ("tutorial.md", "small_monolith", ".", 10),
        ("refactor-by-hand.md", "by_hand/before", "../work", 8),
    ],
)
def test_the_tutorial_does_what_it_says(
    tmp_path: Path, page: str, example: str, work: str, least: int
) -> None:
    left_out = shutil.ignore_patterns("__pycache__", ".pytest_cache", "out")
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=left_out)
    folder = (tmp_path / "examples" / example / work).resolve()
    if not folder.exists():
        shutil.copytree(tmp_path / "examples" / example, folder)
    environment = {
        **{name: value for name, value in os.environ.items() if name not in ("CI", "GOLDEN_DATA")},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ["PYTHONPATH"]]),
        "COLUMNS": "110",
        "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"),
    }
    (tmp_path / "gitconfig").write_text("[user]\nname = a\nemail = a@b.c\n[init]\ndefaultBranch = main\n")
    ran = 0
    for kind, what, text in steps((ROOT / "docs" / page).read_text(encoding="utf-8")):
        if kind == "append":
            with (folder / what).open("a", encoding="utf-8") as file:
                file.write(text)
            continue
        done = subprocess.run(
            ["bash", "-c", what],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"$ {what}\n{done.stdout}"
        # How far a run is, where the machine is busy.
        printed = re.sub(r"^.*: \d+ s of about .*\n", "", done.stdout, flags=re.MULTILINE)
        if text.strip():
            assert re.fullmatch(pattern(text), printed), f"$ {what}\n{done.stdout}"
        ran += 1
    assert ran > least
