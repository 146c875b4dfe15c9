"""Every hazard is lifted soundly or refused with a reason, and never lifted wrongly."""

from __future__ import annotations

import contextlib
import io
import sys

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
