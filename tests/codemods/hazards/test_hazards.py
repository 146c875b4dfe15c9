"""Every hazard is lifted soundly or refused with a reason, and never lifted wrongly."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from pathlib import Path

import pytest

from codemods.extract import main
from tests.codemods.hazards.corpus import Case, load
from tests.codemods.hazards.run import observe, problem

CASES = load()
HAZARDS = {"A": 30, "B": 29, "C": 13, "D": 42}


def runnable(cases: list[Case]) -> list[object]:
    """Return the cases as parameters, those for a later Python marked as skipped."""
    return [
        pytest.param(
            case,
            id=case.id,
            marks=pytest.mark.skipif(sys.version_info < case.python, reason=f"needs Python {case.python}"),
        )
        for case in cases
    ]


def test_the_corpus_holds_every_hazard() -> None:
    wanted = {f"{group}{number}" for group, last in HAZARDS.items() for number in range(1, last + 1)}
    assert wanted <= {case.hazard for case in CASES}


@pytest.mark.slow
@pytest.mark.parametrize("case", runnable([case for case in CASES if "naive" in case.programs]))
def test_a_naive_lift_is_noticed(case: Case) -> None:
    assert observe(case.programs["naive"]) != observe(case.programs["orig"])


@pytest.mark.slow
@pytest.mark.parametrize("case", runnable([case for case in CASES if "sound" in case.programs]))
def test_the_sound_rewrite_behaves_like_the_original(case: Case) -> None:
    assert observe(case.programs["sound"]) == observe(case.programs["orig"])


@pytest.mark.parametrize("case", runnable(list(CASES)))
def test_the_tool_is_right(case: Case) -> None:
    found = problem(case, main)
    assert found is None, found


def test_every_code_of_the_corpus_is_explained() -> None:
    for code in sorted({code for case in CASES for expected in case.expectations for code in expected.codes}):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            assert main(["--explain", code]) == 0, code
        assert out.getvalue().strip(), code


def test_the_command_line_is_the_same_program(tmp_path: Path) -> None:
    source = "def outer(n):\n    def h(x): return x + n\n    return h(1)\nprint(outer(2))\n"
    (tmp_path / "main.py").write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "codemods.extract", "main.py", "--write"]
    environment = {"PYTHONPATH": str(Path(__file__).parents[3]), "PATH": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "main.py").read_text(encoding="utf-8") != source
    assert observe({"main.py": (tmp_path / "main.py").read_text(encoding="utf-8")}).stdout == "3\n"
