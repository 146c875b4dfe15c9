"""How every plot of the page looks: SVG elements whose colours are variables of the page's style sheet."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

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
    "legend.frameon": False,
    "legend.fontsize": 8,
}

WIDTH, HEIGHT = 4.4, 2.5
"""Inches of one plot; on a phone's screen its text then has about the size of the page's."""


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
    title: str, xlabel: str, curves: dict[str, tuple[list[float], list[float]]]
) -> Callable[[Figure], None]:
    """Curves with a legend, if there is more than one."""

    def plot(figure: Figure) -> None:
        axes = figure.add_subplot()
        for index, (label, (x, y)) in enumerate(curves.items()):
            style = "-" if index < len(SERIES) else "--"
            colour = SERIES[index % len(SERIES)]
            axes.plot(x, y, color=colour, linestyle=style, label=label, marker=".", markersize=3)
        finish(axes, title, xlabel, legend=len(curves) > 1)

    return plot


def finish(axes: Axes, title: str, xlabel: str, *, legend: bool = False) -> None:
    """Title, whole numbers along x, and a legend under the plot, where it hides no curve."""
    axes.set_title(title)
    axes.set_xlabel(xlabel)
    axes.xaxis.get_major_locator().set_params(integer=True)
    if legend:
        axes.get_figure().legend(loc="outside lower center", ncols=3)


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
