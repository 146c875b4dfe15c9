"""The check of how much the golden runs would notice of a change."""

from pathlib import Path

import pytest

from ci.gate import main
from tests.trees import commit, write

pytestmark = pytest.mark.slow

BEFORE = """\
import json
import sys


def fit(n):
    rate = 2
    if n > 100:
        return 0
    return n + rate


with open(sys.argv[1] + "/log.jsonl", "w") as log:
    log.write(json.dumps({"type": "end", "result": fit(3)}) + "\\n")
"""
RUN = """\
command = ["python", "main.py", "{out}"]
budget = 2.0

[observe]
steps = false

[events]
files = "log.jsonl"
"""
CONFIG = '[tool.gate.power]\nruns = ["fit"]\nat_least = 0.9\n'


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files = {"golden/runs/fit.toml": RUN, "main.py": BEFORE, "pyproject.toml": CONFIG}
    root = write(tmp_path / "repository", files)
    commit(root)
    return root


@pytest.mark.parametrize(
    ("old", "new", "code", "told"),
    [
        ("return n + rate", "return rate + n", 0, "100 % (1 of 1 mutants killed)"),
        (
            "if n > 100",
            "if 100 < n",
            1,
            "0 % (0 of 2 mutants killed); at least 90% are wanted",
        ),
        (
            "return 0",
            "return int(0)",
            1,
            "no mutant can be made of changed lines of Python that these runs",
        ),
        ("def fit", "# why\ndef fit", 0, "no line of Python that can run was changed since"),
        ("n + rate", "n + rate + id(n)", 1, "fit differs from itself on a second run"),
    ],
)
def test_change(
    repository: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, code: int, told: str
) -> None:
    (repository / "main.py").write_text(BEFORE.replace(old, new))
    out = repository.parent / "out"
    assert main(["--root", str(repository), "--base", "HEAD", "--only", "power", "-o", str(out)]) == code
    assert told in " ".join(capsys.readouterr().out.split())
    if "wanted" in told:
        assert "+ if 101 < n:" in (out / "power.txt").read_text()
