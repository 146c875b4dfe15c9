"""The plots of a run's page, as SVG in the page's colours."""

from __future__ import annotations

import io
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from esper.leyline import SeedStage
from esper.nissa.report.run import Episode, Round, RunData

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

Points = Sequence[tuple[int, float]]
"""A value by round."""

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


def draw(name: str, title: str, plot: Callable[[Figure], None], height: float = HEIGHT) -> str:
    """An `<svg>` element of what `plot` puts on a figure. `name` must be unique on the page."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS | {"svg.hashsalt": name})
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        plot(figure)
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return _element(stream.getvalue(), name, title)


def lines(name: str, title: str, series: Mapping[str, Points]) -> Plot | None:
    """Curves over rounds with a legend, if there is more than one; those that are 0 throughout are named, not
    drawn. None without a point.
    """
    if not any(series.values()):
        return None
    still = [label for label, points in series.items() if not any(y for _, y in points)]
    shown = {label: points for label, points in series.items() if label not in still}
    if len(series) == 1 or not shown:
        shown, still = dict(series), []
    looks = curves(list(shown))

    def plot(figure: Figure) -> None:
        axes = figure.add_subplot()
        for look, points in zip(looks, shown.values(), strict=True):
            x, y = zip(*points, strict=True)
            colour = SERIES[look.series]
            axes.plot(x, y, color=colour, linestyle=look.dash, linewidth=look.width, marker=".", markersize=3)
        finish(axes, title, "round")

    note = f"0 throughout: {', '.join(still)}" if still else ""
    return Plot(draw(name, title, plot), looks if len(looks) > 1 else (), note)


def finish(axes: Axes, title: str, xlabel: str) -> None:
    """Title, and whole numbers along x; a single point stands large in the middle."""
    axes.set_title(title)
    axes.set_xlabel(xlabel)
    axes.xaxis.get_major_locator().set_params(integer=True)
    places = {float(x) for line in axes.lines for x in np.asarray(line.get_xdata())}
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


DIAGNOSTICS = {
    "policy_loss": "policy loss",
    "value_loss": "value loss",
    "entropy": "entropy (nats)",
    "approx_kl": "approximate KL divergence",
    "clip_fraction": "share of clipped ratios",
    "explained_variance": "explained variance of returns",
    "grad_norm": "gradient norm before clipping",
}


def overview(rounds: Sequence[Round]) -> list[Plot]:
    """Accuracies and returns of all hosts, what the policy was paid for, and what it chose."""
    done = [(found.index, found.done) for found in rounds if found.done]
    rewards = [(found.index, found.rewards.components) for found in rounds if found.rewards]
    actions = [(found.index, found.actions.counts) for found in rounds if found.actions]
    returns = [round_.mean_return for _, round_ in done]
    smooth = [statistics.fmean(returns[max(0, i - 9) : i + 1]) for i in range(len(done))]
    drawn = [
        lines(
            "accuracy",
            "final validation accuracy",
            {
                "mean": [(index, round_.mean_accuracy) for index, round_ in done],
                "best host": [(index, max(round_.env_accuracies)) for index, round_ in done],
                "worst host": [(index, min(round_.env_accuracies)) for index, round_ in done],
            },
        ),
        lines(
            "return",
            "return (sum of rewards, mean of envs)",
            {
                "round": [(index, round_.mean_return) for index, round_ in done],
                "mean of up to ten": [(index, mean) for (index, _), mean in zip(done, smooth, strict=True)],
            },
        ),
        lines(
            "parts",
            "parts of the reward, per env-step",
            {
                name.replace("_", " "): [(index, parts.get(name, 0.0)) for index, parts in rewards]
                for name in sorted({name for _, parts in rewards for name in parts})
            },
        ),
        lines(
            "operations",
            "share of each operation",
            {
                name.lower().replace("_", " "): [
                    (index, counts[name] / max(1, sum(counts.values()))) for index, counts in actions
                ]
                for name in (actions[0][1] if actions else ())
            },
        ),
    ]
    return [plot for plot in drawn if plot is not None]


def diagnostics(rounds: Sequence[Round]) -> list[Plot]:
    """One plot for each metric of the policy's updates."""
    metrics = [(found.index, found.update.metrics) for found in rounds if found.update]
    drawn = [
        lines(f"ppo-{name}", title, {title: [(index, of[name]) for index, of in metrics if name in of]})
        for name, title in DIAGNOSTICS.items()
    ]
    return [plot for plot in drawn if plot is not None]


def env_life(run: RunData, round_idx: int, env: int, episode: Episode) -> Plot:
    """Accuracy of one host, and below it the stages of its slots' seeds."""
    slots = run.started.slots
    lane = 0.24

    def plot(figure: Figure) -> None:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[1.9, lane * len(slots)])
        upper.plot(episode.epochs, episode.train_accuracy, color=SERIES[7], linewidth=0.9)
        upper.plot(episode.epochs, episode.val_accuracy, color=SERIES[0], linewidth=2)
        finish(upper, f"env {env}: accuracy (thin: training)", "")
        for span in episode.spans:
            row = slots.index(span.slot)
            left, width = span.first - 0.5, span.last - span.first + 1
            lower.barh(row, width, left=left, height=0.8, color=STAGES[span.stage])
            if span.stage == "GERMINATED":
                lower.text(left + 0.3, row, span.blueprint, fontsize=7.5, va="center", clip_on=True)
        for mark in episode.marks:
            if mark.slot is None:
                upper.axvline(mark.epoch + 0.5, color=SERIES[3], linestyle=":", linewidth=1.2)
                continue
            place = ([mark.epoch + 0.5], [slots.index(mark.slot)])
            lower.plot(*place, marker=_MARKS[mark.kind], color=INK, markersize=7, clip_on=False)
        lower.set_yticks(range(len(slots)), slots, fontsize=8)
        lower.set_ylim(len(slots) - 0.4, -0.6)
        lower.grid(visible=False)
        lower.set_xlim(0.5, max(episode.epochs, default=1) + 0.9)
        lower.set_xlabel("epoch")
        lower.xaxis.get_major_locator().set_params(integer=True)

    height = HEIGHT + lane * len(slots)
    return Plot(draw(f"env-{round_idx}-{env}", f"env {env} in round {round_idx}", plot, height))


_MARKS = {"grown": "|", "kept": "*", "pruned": "x"}
