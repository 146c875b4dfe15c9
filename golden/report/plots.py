"""Plots as SVG elements that stand inside a page: no style, script, font or address of their own."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from golden.report.growth import Growth
from golden.report.text import KIND_TITLES

# matplotlib draws in these stand-ins; the page's style sheet gives the variables a value for light and dark.
_INK, _FAINT = "#010203", "#010204"
_LINES = {
    "loss": ("#010205", "o", "-"),
    "buffers": ("#010206", "D", ":"),
    "grads": ("#010207", "s", "-"),
    "params": ("#010208", "^", "--"),
    "state": ("#010209", "v", "-."),
}
_VARIABLES = {_INK: "var(--ink)", _FAINT: "var(--line)"} | {
    color: f"var(--plot-{kind})" for kind, (color, _, _) in _LINES.items()
}
_HANDFUL, _LONG = 10, 1_000_000
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "grid.color": _FAINT,
    "grid.linewidth": 0.6,
}


def growth_svg(growth: Growth, *, name: str, size: tuple[float, float]) -> str:
    """The drift of one stream as an ``<svg>`` element of ``size`` inches; ``name`` makes its ids unique."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS | {"svg.hashsalt": name})
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        for line in growth.lines:
            color, marker, style = _LINES[line.kind]
            values = [float("nan") if value is None else value for value in line.ulps]
            axes.plot(
                growth.steps,
                values,
                color=color,
                linestyle=style,
                marker=marker,
                markersize=3.5,
                linewidth=1.3,
                label=KIND_TITLES[line.kind],
            )
        _scale(axes, max(value or 0 for line in growth.lines for value in line.ulps))
        axes.set_xlabel("step")
        axes.set_ylabel("largest distance (ulps)")
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6 if size[0] < 5 else 12, integer=True))
        axes.grid(True)
        figure.legend(loc="outside upper left", ncols=3 if size[0] < 5 else 5, frameon=False)
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", transparent=True)
    return _inline(drawn.getvalue(), name)


def _scale(axes: Axes, furthest: int) -> None:
    """Logarithmic above 1, with a place for 0; linear for a handful of ulps."""
    if furthest <= _HANDFUL:
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        axes.set_yscale("symlog", linthresh=1, linscale=0.6)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    # Room for the whole marker of a 0, and of the furthest point.
    axes.set_ylim(bottom=-0.3, top=furthest + 0.5 if furthest <= _HANDFUL else furthest * 4)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value < _LONG else f"{value:.0e}".replace("e+0", "e").replace("e+", "e")


def _inline(document: str, name: str) -> str:
    root = ElementTree.fromstring(document)
    _strip(root)
    for element in root.iter():
        element.attrib = dict(_attributes(element.attrib, name))
    view = root.attrib["viewBox"]
    root.attrib = {"viewBox": view, "aria-hidden": "true", "focusable": "false", "stroke-linejoin": "round"}
    text = ElementTree.tostring(root, encoding="unicode")
    for stand_in, variable in _VARIABLES.items():
        text = text.replace(stand_in, variable)
    return text


def _strip(element: ElementTree.Element) -> None:
    """Drop metadata, style sheets and namespaces, which an element inside HTML doesn't need."""
    element.tag = element.tag.rpartition("}")[2]
    for child in list(element):
        if child.tag.rpartition("}")[2] in ("metadata", "style"):
            element.remove(child)
        else:
            _strip(child)


def _attributes(attributes: dict[str, str], name: str) -> Iterator[tuple[str, str]]:
    for key, value in attributes.items():
        key = key.rpartition("}")[2]
        if key == "id":
            value = f"{name}-{value}"
        elif key == "href":
            value = f"#{name}-{value.removeprefix('#')}"
        yield key, re.sub(r"url\(#", f"url(#{name}-", value)
