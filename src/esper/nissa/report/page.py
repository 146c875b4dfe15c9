"""The page: one HTML document with everything in it."""

from __future__ import annotations

import math
import statistics
from importlib.resources import files
from typing import Any

import jinja2

from esper.nissa.report import plots
from esper.nissa.report.run import Episode, Round, RunData

SHOWN_ENVS = 8
SHOWN_NOTES = 40


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
    last, hosts = _last_round(run)
    return environment.get_template("page.html.jinja").render(
        run=run,
        state=_state(run),
        figures=_figures(run, finished),
        overview=plots.overview(finished),
        last=last,
        lives=[plots.env_life(run, last, env, episode) for env, episode in hosts[:SHOWN_ENVS]],
        hidden_envs=max(0, len(hosts) - SHOWN_ENVS),
        diagnostics=plots.diagnostics(finished),
        fates=[
            (name, fate, statistics.fmean(fate.gains) if fate.gains else None)
            for name, fate in run.fates().items()
        ],
        notes=run.notes[-SHOWN_NOTES:],
        hidden_notes=max(0, len(run.notes) - SHOWN_NOTES),
    )


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


def _last_round(run: RunData) -> tuple[int, list[tuple[int, Episode]]]:
    """The last round of which single epochs are known, and its envs."""
    for index, found in sorted(run.rounds.items(), reverse=True):
        if hosts := [(env, episode) for env, episode in sorted(found.episodes.items()) if episode.epochs]:
            return index, hosts
    return 0, []
