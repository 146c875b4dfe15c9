"""Lifts by hand that are wrong: each program does something else after it, and none is proven."""

from collections.abc import Callable

import pytest

from tests.codemods.hazards.corpus import load
from tests.codemods.hazards.run import observe
from tests.codemods.review.cases import read
from tests.codemods.review.conftest import Files, Reviewed

CASES = read("wrong_lifts.md")
# Wrong by an annotation that an import hook evaluates; annotations are not compared, and the review says so.
BY_ANNOTATION = {"N1", "N5"}
# A warning comes from the module that a helper moved to: docs/soundness.md says so under "What differs".
BY_ORIGIN = {"D28"}
NAIVE = {case.id: case.programs for case in load() if "naive" in case.programs}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_it_does_something_else(case: str) -> None:
    before, after = map(observe, CASES[case])
    assert before.exit_status == after.exit_status == 0
    assert before.stdout != after.stdout


@pytest.mark.parametrize("case", CASES)
def test_it_is_left_to_read(case: str, compare: Callable[[Files, Files], Reviewed]) -> None:
    reviewed = compare(*CASES[case])
    assert reviewed.status == 1, reviewed.document


@pytest.mark.slow
@pytest.mark.parametrize("case", NAIVE)
def test_a_naive_lift_is_left_to_read(case: str, compare: Callable[[Files, Files], Reviewed]) -> None:
    programs = NAIVE[case]
    reviewed = compare(programs["orig"], programs["naive"])
    assert reviewed.status == (case not in BY_ANNOTATION | BY_ORIGIN), reviewed.document
