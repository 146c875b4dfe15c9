"""Verdicts in words."""

from __future__ import annotations

from collections.abc import Sequence

from ci.verdicts import CouldNotRun, Failed, Outcome, Passed

WORDS = {Passed: "passed", Failed: "failed", CouldNotRun: "could not run"}


def word(outcome: Outcome) -> str:
    """The verdict in a word or three."""
    return WORDS[type(outcome.verdict)]


def headline(outcomes: Sequence[Outcome]) -> str:
    """How the gate ended, in a line."""
    counts = [(sum(isinstance(o.verdict, kind) for o in outcomes), text) for kind, text in WORDS.items()]
    said = ", ".join(f"{count} {text}" for count, text in counts if count)
    passed = all(isinstance(outcome.verdict, Passed) for outcome in outcomes)
    return f"gate {'passed' if passed else 'failed'}: {said}"
