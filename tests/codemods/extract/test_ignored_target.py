"""A lifted helper goes to no file that git ignores: it would be missing where the program runs."""

import subprocess
from pathlib import Path

from tests.codemods.conftest import Command

PROGRAM = """\
def train(n):
    def step(x):
        return x + n
    return step(1)
print(train(2))
"""


def test_a_target_that_git_ignores_is_refused(tmp_path: Path, extract: Command) -> None:
    source = tmp_path / "train.py"
    source.write_text(PROGRAM)
    (tmp_path / ".gitignore").write_text("generated.py\n")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    ran = extract(source, "--function", "train", "--to", tmp_path / "generated.py", "--write")
    assert ran.code == 1
    assert "loaded-otherwise" in ran.out
    assert source.read_text() == PROGRAM
    ran = extract(source, "--function", "train", "--to", tmp_path / "steps.py", "--write")
    assert ran.code == 0, ran.err + ran.out
    assert (tmp_path / "steps.py").exists()
