"""The corpus of stalls and look-alikes: what is seen, what is missed, and the document that says so."""

import pytest

from tests.codemods.hotpath.corpus import Outcome, outcomes


@pytest.mark.parametrize("outcome", outcomes(), ids=lambda outcome: f"{outcome.way}: {outcome.name}")
def test_snippet(outcome: Outcome) -> None:
    assert outcome.found == (frozenset() if outcome.missed else outcome.stalls)


def test_corpus_is_large_and_has_both_sides() -> None:
    assert sum(bool(outcome.stalls) for outcome in outcomes()) >= 80
    assert sum(not outcome.stalls for outcome in outcomes()) >= 40
