"""Planted changes: all still apply to the trainer, and a few are really run."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.golden.mutations import corpus
from tests.golden.mutations.__main__ import command
from tests.golden.mutations.corpus import Mutation, load_corpus

pytestmark = pytest.mark.slow

CORPUS = load_corpus()


@pytest.mark.parametrize("mutation", CORPUS, ids=lambda mutation: mutation.name)
def test_planted_change_still_applies(mutation: Mutation) -> None:
    """If this fails, the line that the change is about has changed: give the corpus its new text."""
    path = mutation.place(corpus.REPOSITORY)
    text = path.read_text(encoding="utf-8")
    assert mutation.applied(text) != text


def test_size_and_kinds_of_the_corpus() -> None:
    assert len(CORPUS) >= 80
    assert len({mutation.area for mutation in CORPUS}) == 7
    for mutation in CORPUS:
        assert mutation.step or mutation.event or mutation.crash or mutation.missed, mutation.name


def test_few_changes_for_real(tmp_path: Path) -> None:
    """One of the steps, one of the events, one of a single env: each run takes seconds, so no more."""
    names = ["weight-decay-lost", "data-order-shared", "stages-swapped"]
    only = [part for name in names for part in ("--only", name)]
    result = CliRunner().invoke(command, [*only, "--keep", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "weight-decay-lost: different in ppo_properties, located: step 0 of env 0" in result.output
    assert "data-order-shared: different in ppo_properties, located: torch generator made at" in result.output
    assert "3 changes, 0 not as the corpus says" in result.output
    again = CliRunner().invoke(command, [*only, "--keep", str(tmp_path), "--kept"])
    assert again.output == result.output
