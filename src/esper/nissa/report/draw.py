"""How every plot of the page looks: SVG elements whose colours are variables of the page's style sheet."""

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

INK, FAINT, PAPER = "#010101", "#010102", "#010103"
SERIES = tuple(f"#0102{index:02x}" for index in range(8))
"""Stand-ins that matplotlib draws with; the style sheet gives `--series-N` a value for light and dark."""

STAGES = {
    name: f"#0103{index:02x}"
    for index, name in enumerate(
        (
            "GERMINATED",
            "TRAINING",
            "BLENDING",
            "HOLDING",
            "FOSSILIZED",
            "PRUNED",
            "EMBARGOED",
            "RESETTING",
        )
    )
}

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
