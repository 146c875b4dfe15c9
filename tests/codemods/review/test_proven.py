"""Changes that change nothing: proven, exit status 0."""

from collections.abc import Callable

import pytest

from tests.codemods.review.cases import read
from tests.codemods.review.conftest import Files, Reviewed

CASES = read("proven.md")


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_left_to_read(case: str, compare: Callable[[Files, Files], Reviewed]) -> None:
    reviewed = compare(*CASES[case])
    assert reviewed.status == 0, reviewed.document
    assert set(reviewed.classes().values()) <= {"same", "renamed"}


def test_a_new_name_is_shown(compare: Callable[[Files, Files], Reviewed]) -> None:
    assert compare(*CASES["renamed with its uses"]).classes() == {
        "LIMIT": "same",
        "smoothed": "renamed",
        "run": "same",
    }


def test_trees_that_are_alike_have_nothing_to_compare(compare: Callable[[Files, Files], Reviewed]) -> None:
    reviewed = compare({"a.py": "x = 1\n"}, {"a.py": "x = 1\n"})
    assert (reviewed.status, reviewed.document["files"]) == (0, 0)
