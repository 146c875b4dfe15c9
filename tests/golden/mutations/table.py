"""The table of planted changes as text."""

from __future__ import annotations

from collections.abc import Sequence

from tests.golden.mutations.corpus import Mutation
from tests.golden.mutations.trial import Trial, is_located

Pairs = Sequence[tuple[Mutation, Trial]]

_AREAS = {
    "model": "The growable model",
    "rewards": "Rewards",
    "policy": "Features, masks and the policy",
    "update": "The policy's update",
    "loop": "The training loop, the governor, the data",
    "telemetry": "Telemetry",
    "resume": "Checkpoints",
}

_HEAD = (
    "Each row is one line of the trainer changed in a copy of the tree, run through the golden runs and",
    "compared with the unchanged trainer. *Caught* means different, or that the run did not end. *Located*",
    "means that the first optimizer step and the first event that are named differ where the corpus",
    "(`tests/golden/mutations/corpus/`) says that the change is first to be seen: by step, env, tensor and",
    "field; where it says nothing, no step, or no event, may differ. Made by",
    "`python -m tests.golden.mutations`.",
)


def unexpected(mutation: Mutation, trial: Trial) -> bool:
    """Whether a trial came out otherwise than the corpus says."""
    return bool(trial.caught) == bool(mutation.missed) or (
        bool(trial.caught) and not is_located(mutation, trial)
    )


def line(mutation: Mutation, trial: Trial) -> str:
    """One trial for the terminal."""
    if not trial.caught:
        return f"{mutation.name}: missed: {mutation.missed or 'unexplained'}"
    mark = "located" if is_located(mutation, trial) else "NOT LOCATED"
    places = [place for place in (trial.step, trial.event) if place] or [trial.first]
    return f"{mutation.name}: {trial.caught} in {trial.run}, {mark}: {' | '.join(places)}"


def render(pairs: Pairs, untried: int = 0) -> str:
    """The page: what was found, then a table per area, then the misses; `untried` changes are not in it."""
    caught = [(m, t) for m, t in pairs if t.caught]
    located = [(m, t) for m, t in caught if is_located(m, t)]
    missed = [(m, t) for m, t in pairs if not t.caught]
    lines = ["# Planted changes", "", *_HEAD, ""]
    lines += [
        f"**{len(pairs)} changes: {len(caught)} caught, {len(located)} of them located; "
        f"{len(missed)} missed.**",
        "",
    ]
    if untried:
        lines += [f"{untried} more are in the corpus and were not tried on this version of the trainer.", ""]
    for area, title in _AREAS.items():
        rows = [(m, t) for m, t in pairs if m.area == area]
        if rows:
            lines += [f"## {title}", "", "| change | imitates | caught by | located at |"]
            lines += ["|---|---|---|---|", *(_row(m, t) for m, t in rows), ""]
    lines += ["## Why some are missed", ""]
    lines += [f"- **{m.name}** ({m.imitates}): {m.missed or 'unexplained'}" for m, _ in missed]
    return "\n".join(lines) + "\n"


def _row(mutation: Mutation, trial: Trial) -> str:
    if not trial.caught:
        return f"| {mutation.name} | {_cell(mutation.imitates)} | no run | |"
    places = [place for place in (trial.step, trial.event) if place] or [trial.first]
    mark = "" if is_located(mutation, trial) else "**elsewhere:** "
    how = trial.run if trial.caught == "different" else f"{trial.run}, which did not end"
    return (
        f"| {mutation.name} | {_cell(mutation.imitates)} | {how} | {mark}{'<br>'.join(map(_cell, places))} |"
    )


def _cell(text: str) -> str:
    short = text if len(text) <= 160 else f"{text[:157]}…"
    return short.replace("|", "\\|").replace("<", "&lt;")
