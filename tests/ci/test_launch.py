"""No module of a repository stands in for a tool that the gate runs, and no test run ends early unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from ci.gate import main
from tests.trees import write

PROJECT = """\
[tool.gate]
contracts = true

[[tool.gate.imports]]
module = "app"
without = ["sqlite3"]

[tool.gate.tests]
command = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]

[tool.importlinter]
root_packages = ["app", "lib"]

[[tool.importlinter.contracts]]
name = "apart"
type = "forbidden"
source_modules = ["app"]
forbidden_modules = ["lib"]
"""
FAKE = 'import os\nprint("Contracts: 1 kept, 0 broken.\\n1 passed", flush=True)\nos._exit(0)\n'
FILES = {
    "pyproject.toml": PROJECT,
    "app/__init__.py": "import lib\nimport sqlite3\n",
    "lib/__init__.py": "",
    "tests/test_app.py": "def test_app():\n    import app\n    assert not app.__name__\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return write(tmp_path, FILES)


def test_a_module_of_the_repository_stands_in_for_none_of_a_tool(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packages = ("_pytest/__init__.py", "importlinter/__init__.py")
    modules = ("pytest.py", *packages, "click.py", "json.py", "sitecustomize.py")
    write(repository, dict.fromkeys(modules, FAKE))
    assert main(["--root", str(repository)]) == 1
    printed = capsys.readouterr().out
    assert "apart BROKEN" in printed
    assert "app -> sqlite3" in printed
    assert "gate failed: 3 failed" in printed


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("tests/conftest.py", "import os\nos._exit(0)\n", "the process ended before pytest did"),
        ("tests/conftest.py", 'import pytest\npytest.exit("enough", returncode=0)\n', "Exit: enough"),
        (
            "tests/test_app.py",
            'import pytest\n\ndef test_it():\n    pytest.exit("enough", returncode=0)\n',
            "pytest was stopped (enough)",
        ),
        (
            "tests/test_app.py",
            "import pytest\n\n@pytest.mark.skip\ndef test_it():\n    assert 0\n",
            "no test passed: 1 skipped",
        ),
    ],
)
def test_tests_that_did_not_run_to_their_end_do_not_pass(
    file: str, text: str, why: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / file).write_text(text)
    assert main(["--root", str(repository), "--only", "tests"]) == 1
    assert why in " ".join(capsys.readouterr().out.split())


def test_tests_find_the_repository_s_modules_and_start_others_that_do(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "tests/test_app.py").write_text(
        "import subprocess, sys\nimport lib\n\n"
        "def test_it():\n    subprocess.run([sys.executable, '-P', '-c', 'import lib'], check=True)\n"
    )
    assert main(["--root", str(repository), "--only", "tests"]) == 0
    assert "1 passed" in capsys.readouterr().out
