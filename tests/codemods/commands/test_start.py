"""Commands start at once: what loads slowly is loaded by those that need it, once they do."""

import subprocess
import sys
from pathlib import Path

import pytest

SLOW = {"torch", "libcst", "rich", "pydantic", "numpy", "grimp"}


@pytest.mark.parametrize(
    "command", ["extract --help", "audit --help", "review --help", "hotpath . --allow-no-loops"]
)
def test_slow_libraries_are_not_loaded(command: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\n")
    program = (
        f"import sys; from codemods.__main__ import main; status = main({command.split()}); "
        f"print(status, sorted({SLOW} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "0 []", done.stderr
