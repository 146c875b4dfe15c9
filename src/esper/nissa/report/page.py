"""The page: one HTML document with everything in it."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import jinja2

from esper.nissa.report import plots
from esper.nissa.report.plots import Plot
from esper.nissa.run import Round, RunData

SHOWN_ENVS = 8
SHOWN_NOTES = 40


@dataclass(frozen=True, slots=True)
class EnvSection:
    """One env of a shown round."""

    env: int
    life: Plot
    gains: Plot | None
    shapley: dict[str, float]


@dataclass(frozen=True, slots=True)
class RoundSection:
    """A round whose envs are shown one by one."""

    title: str
    envs: list[EnvSection]
    hidden: int


def render_page(run: RunData) -> str:
    """The whole document: no script, and nothing fetched from anywhere."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (files(__package__) / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    finished = run.finished
    return environment.get_template("page.html.jinja").render(
        run=run,
        state=_state(run),
        figures=_figures(run, finished),
        overview=_present(
            *((plots.accuracy_by_round(finished), plots.return_by_round(finished)) if finished else ()),
            plots.reward_parts(finished),
            plots.operations(finished),
        ),
        rounds=_shown_rounds(run),
        diagnostics=plots.diagnostics(finished),
        phases=plots.time_by_phase(finished),
        fates=[
            (name, fate, statistics.fmean(fate.gains) if fate.gains else None)
            for name, fate in run.fates().items()
        ],
        notes=run.notes[-SHOWN_NOTES:],
        hidden_notes=max(0, len(run.notes) - SHOWN_NOTES),
    )


def _present(*drawn: Plot | None) -> list[Plot]:
    return [plot for plot in drawn if plot is not None]


def _state(run: RunData) -> str:
    done = len(run.finished)
    if run.completed is not None:
        return f"complete, {_count(done, 'round')}"
    return f"stopped after {done} of {_count(run.started.rounds, 'round')}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _figures(run: RunData, finished: list[Round]) -> list[tuple[str, str]]:
    """The few numbers that sum a run up: what it is, and its value."""
    if not finished:
        return []
    done = [found.done for found in finished if found.done is not None]
    outcomes = [
        episode.outcome for found in finished for episode in found.episodes.values() if episode.outcome
    ]
    seconds = sum(found.throughput.duration_s for found in finished if found.throughput)
    steps = sum(row.env_steps for row in done)
    figures = [
        ("best host", f"{max((outcome.best_accuracy for outcome in outcomes), default=math.nan):.3f}"),
        ("mean accuracy, last round", f"{done[-1].mean_accuracy:.3f}"),
        ("env-steps", f"{steps:,}"),
        ("time", _duration(seconds)),
        ("env-steps a second", f"{steps / seconds:.1f}" if seconds else "-"),
        ("seeds grown, kept, pruned", _seeds(done)),
    ]
    quarter = len(done) // 4
    if quarter:
        first = statistics.fmean(row.mean_return for row in done[:quarter])
        last = statistics.fmean(row.mean_return for row in done[-quarter:])
        span = f"return, first to last {_count(quarter, 'round')}"
        figures.insert(2, (span, f"{first:+.2f} to {last:+.2f}"))
    return figures


def _seeds(done: list[Any]) -> str:
    grown = sum(row.seeds_germinated for row in done)
    kept = sum(row.seeds_fossilized for row in done)
    return f"{grown:,}, {kept:,}, {sum(row.seeds_pruned for row in done):,}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _shown_rounds(run: RunData) -> list[RoundSection]:
    """The last round, and before it the one with the best host, if that is another."""
    candidates = [found for _, found in sorted(run.rounds.items()) if _told(found)]
    if not candidates:
        return []
    best = max(
        candidates, key=lambda found: max(max(e.val_accuracy) for e in found.episodes.values() if e.epochs)
    )
    last = candidates[-1]
    shown = [(f"Round {last.index}, the last", last)]
    if best is not last:
        shown.append((f"Round {best.index}, with the best host", best))
    return [_round_section(run, title, found) for title, found in shown]


def _told(found: Round) -> bool:
    return any(episode.epochs for episode in found.episodes.values())


def _round_section(run: RunData, title: str, found: Round) -> RoundSection:
    envs = [(env, episode) for env, episode in sorted(found.episodes.items()) if episode.epochs]
    sections = [
        EnvSection(
            env,
            plots.env_life(run, found.index, env, episode),
            plots.contributions(run, found.index, env, episode),
            episode.shapley,
        )
        for env, episode in envs[:SHOWN_ENVS]
    ]
    return RoundSection(title, sections, max(0, len(envs) - SHOWN_ENVS))
