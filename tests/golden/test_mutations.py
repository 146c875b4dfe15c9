"""Planted changes: all still apply to the trainer, and a few are really run."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.golden.mutations import corpus
from tests.golden.mutations.__main__ import command
from tests.golden.mutations.corpus import CorpusError, Mutation, load_corpus
from tests.golden.mutations.table import render, unexpected
from tests.golden.mutations.trial import Trial

pytestmark = pytest.mark.slow

CORPUS = load_corpus()
LOCATED = Trial("x", "different", "ppo_small", "", "step 3 of env 1: gradient a", "event 2 (END): field b")


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


def test_unknown_name() -> None:
    result = CliRunner().invoke(command, ["--only", "nonsense"])
    assert (result.exit_code, "no planted change is called nonsense" in result.output) == (2, True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"before": "no such text"}, "has the text to change 0 times, not once"),
        ({"before": "import"}, "times, not once"),
        ({"file": "src/esper/nowhere.py"}, "no src/esper/nowhere.py"),
        ({"after": "def ("}, "does not compile with the change"),
    ],
)
def test_change_that_can_not_be_made(changes: dict[str, str], message: str) -> None:
    mutation = dataclasses.replace(CORPUS[0], **changes)
    with pytest.raises(CorpusError, match=message):
        mutation.mutant(corpus.REPOSITORY)


@pytest.mark.parametrize(
    ("step", "event", "expected"),
    [
        ("env 1: gradient", "END.*field b", False),
        ("env 2", "END", True),
        ("env 1", None, True),
        (None, "END", True),
    ],
)
def test_located_means_both_places(step: str | None, event: str | None, expected: bool) -> None:
    mutation = dataclasses.replace(CORPUS[0], step=step, event=event, crash=None, missed=None)
    assert unexpected(mutation, LOCATED) is expected


def test_page() -> None:
    missed = dataclasses.replace(CORPUS[0], name="out-of-reach", missed="Nothing reads it.")
    found = dataclasses.replace(CORPUS[0], step="env 1", event="END", missed=None)
    page = render([(missed, Trial("out-of-reach", "", "ppo_small")), (found, LOCATED)])
    assert "**2 changes: 1 caught, 1 of them located; 1 missed.**" in page
    assert "| ppo_small | step 3 of env 1: gradient a<br>event 2 (END): field b |" in page
    assert "- **out-of-reach**" in page
    assert "Nothing reads it." in page
    assert "not tried" not in page
    assert "3 more are in the corpus and were not tried" in render([(found, LOCATED)], 3)
