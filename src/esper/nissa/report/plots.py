"""The plots of a run's page, as SVG in the page's colours."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from esper.leyline import SeedStage
from esper.nissa.run import Episode, Round, RunData

INK, FAINT, PAPER = "#010101", "#010102", "#010103"
SERIES = tuple(f"#0102{index:02x}" for index in range(8))
"""Stand-ins that matplotlib draws with; the style sheet gives `--series-N` a value for light and dark."""

STAGES = {stage.name: f"#0103{stage:02x}" for stage in SeedStage}

_VARIABLES = (
    {INK: "var(--ink)", FAINT: "var(--faint)", PAPER: "var(--paper)"}
    | {colour: f"var(--series-{index})" for index, colour in enumerate(SERIES)}
    | {colour: f"var(--stage-{name.lower()})" for name, colour in STAGES.items()}
)

_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "none",
    "lines.linewidth": 1.5,
    "axes.formatter.useoffset": False,
}

WIDTH, HEIGHT = 3.4, 2.0
"""Inches of one plot: four side by side on a screen, or one on a phone's, have text of the page's size."""

_DASHES = ("solid", "dashed", "dotted")


@dataclass(frozen=True, slots=True)
class Curve:
    """How a curve is drawn, and what the legend calls it. The first of a plot is widest and lies lowest."""

    label: str
    series: int
    dash: str
    width: float


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing and its legend, which the page writes in its own type; `note` says what is left out."""

    svg: str
    legend: tuple[Curve, ...] = ()
    note: str = ""


def curves(labels: Sequence[str]) -> tuple[Curve, ...]:
    """Looks for curves that may lie on each other: colours and dashes differ, and the upper is narrower."""
    last = max(1, len(labels) - 1)
    return tuple(
        Curve(label, index % len(SERIES), _DASHES[index // len(SERIES) % 3], 3.4 - 2.2 * index / last)
        if len(labels) > 1
        else Curve(label, 0, _DASHES[0], 1.5)
        for index, label in enumerate(labels)
    )


def trace(axes: Axes, look: Curve, x: Sequence[float], y: Sequence[float]) -> None:
    """Draw a curve as its legend shows it."""
    colour = SERIES[look.series]
    axes.plot(x, y, color=colour, linestyle=look.dash, linewidth=look.width, marker=".", markersize=3)


def draw(
    name: str, title: str, plot: Callable[[Figure], None], *, height: float = HEIGHT, width: float = WIDTH
) -> str:
    """An `<svg>` element of what `plot` puts on a figure. `name` must be unique on the page."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS | {"svg.hashsalt": name})
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        plot(figure)
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return _element(stream.getvalue(), name, title)


def lines(
    name: str, title: str, heading: str, xlabel: str, series: dict[str, tuple[list[float], list[float]]]
) -> Plot:
    """Curves with a legend, if there is more than one; those that are 0 throughout are named, not drawn."""
    still = [label for label, (_, y) in series.items() if not any(y)] if len(series) > 1 else []
    shown = {label: points for label, points in series.items() if label not in still} or series
    looks = curves(list(shown))

    def plot(figure: Figure) -> None:
        axes = figure.add_subplot()
        for look, (x, y) in zip(looks, shown.values(), strict=True):
            trace(axes, look, x, y)
        finish(axes, heading, xlabel)

    note = f"0 throughout: {', '.join(still)}" if still and shown is not series else ""
    return Plot(draw(name, title, plot), looks if len(looks) > 1 else (), note)


def finish(axes: Axes, title: str, xlabel: str) -> None:
    """Title, and whole numbers along x."""
    axes.set_title(title)
    axes.set_xlabel(xlabel)
    axes.xaxis.get_major_locator().set_params(integer=True)
    _show_single(axes)


def _show_single(axes: Axes) -> None:
    """Draw the points of a run of one round large, in the middle of an axis with its one number."""
    places = {float(x) for line in axes.lines for x in np.asarray(line.get_xdata())}
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    places |= {round(bar.get_x() + bar.get_width() / 2, 6) for bar in bars}
    if len(places) == 1:
        [place] = places
        axes.set_xlim(place - 1, place + 1)
        axes.set_xticks([place], [f"{place:g}"])
        for line in axes.lines:
            line.set_markersize(7)


def _element(text: str, name: str, title: str) -> str:
    """The document as an element: without its prolog and style, ids made unique, colours as variables."""
    svg = text[text.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"<style[^>]*>.*?</style>", "", svg, flags=re.S)
    svg = re.sub(r'\b(id)="([^"]+)"', rf'\1="{name}-\2"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r'(xlink:href)="#([^"]+)"', rf'href="#{name}-\2"', svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    return svg.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)


PHASES = ("train", "validate", "decide", "act", "update")
DIAGNOSTICS = {
    "policy_loss": "policy loss",
    "value_loss": "value loss",
    "entropy": "entropy (nats)",
    "approx_kl": "approximate KL divergence",
    "clip_fraction": "share of clipped ratios",
    "explained_variance": "explained variance of returns",
    "grad_norm": "gradient norm before clipping",
}


def accuracy_by_round(rounds: Sequence[Round]) -> Plot:
    """Final accuracies of all hosts, round by round."""

    def plot(figure: Figure) -> None:
        axes = figure.add_subplot()
        x = [found.index for found in rounds]
        accuracies = [found.done.env_accuracies for found in rounds if found.done]
        low, high = [min(row) for row in accuracies], [max(row) for row in accuracies]
        if len(x) > 1:
            axes.fill_between(x, low, high, color=SERIES[0], alpha=0.2)
        else:
            axes.vlines(x, low, high, color=SERIES[0], alpha=0.4, linewidth=6)
        axes.plot(x, [sum(row) / len(row) for row in accuracies], color=SERIES[0], marker=".", markersize=3)
        finish(axes, "final validation accuracy (mean, range)", "round")

    return Plot(draw("accuracy", "accuracy by round", plot))


def return_by_round(rounds: Sequence[Round]) -> Plot:
    """Mean return, round by round, with the mean of up to ten rounds."""
    looks = (Curve("round", 7, "solid", 1.5), Curve("mean of up to ten", 1, "solid", 2.5))

    def plot(figure: Figure) -> None:
        axes = figure.add_subplot()
        x = [found.index for found in rounds]
        y = [found.done.mean_return for found in rounds if found.done]
        trace(axes, looks[0], x, y)
        smooth = [sum(y[max(0, i - 9) : i + 1]) / len(y[max(0, i - 9) : i + 1]) for i in range(len(y))]
        trace(axes, looks[1], x, smooth)
        finish(axes, "return (sum of rewards, mean of envs)", "round")

    return Plot(draw("return", "return by round", plot), looks)


def reward_parts(rounds: Sequence[Round]) -> Plot | None:
    """Mean of each part of the reward, round by round."""
    known = [found for found in rounds if found.rewards]
    if not known:
        return None
    names = sorted({name for found in known if found.rewards for name in found.rewards.components})
    series = {
        name.replace("_", " "): (
            [float(found.index) for found in known],
            [found.rewards.components.get(name, 0.0) for found in known if found.rewards],
        )
        for name in names
    }
    return lines("parts", "parts of the reward", "parts of the reward, per env-step", "round", series)


def operations(rounds: Sequence[Round]) -> Plot | None:
    """Share of each operation among the decisions of a round."""
    known = [found for found in rounds if found.actions]
    if not known:
        return None
    series = {}
    for name in known[0].actions.counts if known[0].actions else ():
        shares = [
            found.actions.counts[name] / max(1, sum(found.actions.counts.values()))
            for found in known
            if found.actions
        ]
        series[name.lower().replace("_", " ")] = ([float(found.index) for found in known], shares)
    return lines("operations", "operations chosen", "share of each operation", "round", series)


def diagnostics(rounds: Sequence[Round]) -> list[Plot]:
    """One plot for each metric of the policy's updates."""
    drawn = []
    for metric, title in DIAGNOSTICS.items():
        points = [
            (float(found.index), found.update.metrics[metric])
            for found in rounds
            if found.update is not None and metric in found.update.metrics
        ]
        if points:
            x, y = (list(values) for values in zip(*points, strict=True))
            drawn.append(lines(f"ppo-{metric}", title, title, "round", {metric: (x, y)}))
    return drawn


def time_by_phase(rounds: Sequence[Round]) -> Plot | None:
    """Seconds of each round, by phase."""
    known = [found for found in rounds if found.throughput]
    if not known:
        return None
    looks = tuple(Curve(phase, index, "solid", 4.0) for index, phase in enumerate((*PHASES, "other")))

    def plot(figure: Figure) -> None:
        axes = figure.add_subplot()
        x = [found.index for found in known]
        bottom = [0.0] * len(known)
        for look in looks:
            seconds = [_seconds(found, look.label) for found in known]
            axes.bar(x, seconds, bottom=bottom, color=SERIES[look.series], width=0.85)
            bottom = [low + high for low, high in zip(bottom, seconds, strict=True)]
        finish(axes, "seconds by phase", "round")

    return Plot(draw("phases", "time by phase", plot), looks)


def _seconds(found: Round, phase: str) -> float:
    if found.throughput is None:
        return 0.0
    if phase == "other":
        return max(0.0, found.throughput.duration_s - sum(found.throughput.phase_s.values()))
    return found.throughput.phase_s.get(phase, 0.0)


def env_life(run: RunData, round_idx: int, env: int, episode: Episode) -> Plot:
    """Accuracy of one host, and below it the stages of its slots' seeds."""
    slots = run.started.slots
    lane = 0.24

    def plot(figure: Figure) -> None:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[1.9, lane * len(slots)])
        upper.plot(episode.epochs, episode.train_accuracy, color=SERIES[7], linewidth=0.9)
        upper.plot(episode.epochs, episode.val_accuracy, color=SERIES[0], linewidth=2)
        finish(upper, f"env {env}: accuracy (thin: training)", "")
        for mark in episode.marks:
            if mark.kind == "rolled back":
                upper.axvline(mark.epoch + 0.5, color=SERIES[3], linestyle=":", linewidth=1.2)
        for span in episode.spans:
            row = slots.index(span.slot)
            left, width = span.first - 0.5, span.last - span.first + 1
            lower.barh(row, width, left=left, height=0.8, color=STAGES[span.stage])
            if span.stage == "GERMINATED":
                lower.text(left + 0.3, row, span.blueprint, fontsize=7.5, va="center", clip_on=True)
        for mark in episode.marks:
            if mark.slot is not None:
                _mark(lower, mark.epoch + 0.5, slots.index(mark.slot), mark.kind)
        lower.set_yticks(range(len(slots)), slots, fontsize=8)
        lower.set_ylim(len(slots) - 0.4, -0.6)
        lower.grid(visible=False)
        lower.set_xlim(0.5, max(episode.epochs, default=1) + 0.9)
        lower.set_xlabel("epoch")
        lower.xaxis.get_major_locator().set_params(integer=True)

    height = HEIGHT + lane * len(slots)
    return Plot(draw(f"env-{round_idx}-{env}", f"env {env} in round {round_idx}", plot, height=height))


_MARKS = {"grown": "|", "kept": "*", "pruned": "x"}


def _mark(axes: Axes, epoch: float, row: int, kind: str) -> None:
    axes.plot([epoch], [row], marker=_MARKS[kind], color=INK, markersize=7, clip_on=False)


def contributions(run: RunData, round_idx: int, env: int, episode: Episode) -> Plot | None:
    """What each slot's seed added to an env's accuracy, epoch by epoch."""
    if not episode.contributions:
        return None
    slots = [slot for slot in run.started.slots if episode.contributions.get(slot)]
    looks = curves(slots)
    last = max(episode.epochs, default=1)

    def plot(figure: Figure) -> None:
        axes = figure.add_subplot()
        axes.axhline(0.0, color=INK, linewidth=0.8)
        for look in looks:
            x, y = zip(*episode.contributions[look.label], strict=True)
            trace(axes, look, x, y)
        axes.set_xlim(0.5, last + 0.9)
        finish(axes, f"env {env}: accuracy, with less without", "epoch")

    return Plot(draw(f"gain-{round_idx}-{env}", f"contributions in env {env}", plot), looks)
