"""Plots of a comparison as SVG text."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from golden.compare.growth import StepGap
from golden.report.text import KIND_TITLES
from golden.trace.trace import KINDS

# Colour and marker: kinds often lie on top of each other.
_STYLES = {
    "buffers": ("#8a6d3b", "v"),
    "grads": ("#c0392b", "s"),
    "params": ("#1f5fa8", "o"),
    "state": ("#4f7f3f", "x"),
}


def growth_plot(gaps: Sequence[StepGap]) -> str:
    """Share of differing tensors by kind, and distance in ulps, over the steps of a run."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    # The same comparison gives the same bytes.
    matplotlib.rcParams["svg.hashsalt"] = "golden"
    figure, (above, below) = pyplot.subplots(2, 1, figsize=(8, 5), sharex=True)
    for kind in KINDS:
        style, title = _STYLES[kind], KIND_TITLES[kind]
        # Steps of streams that stay equal lie between the others: dots, not lines, where something differs.
        shares = [(gap.number, 100 * gap.shares[kind]) for gap in gaps if gap.shares[kind]]
        _dots(above, shares, title, style)
        _dots(below, [(gap.number, gap.ulps[kind]) for gap in gaps if gap.ulps.get(kind)], title, style)
    _dots(below, [(gap.number, gap.loss_ulps) for gap in gaps if gap.loss_ulps], "loss", ("#333333", "+"))
    above.set_ylabel("tensors that differ, %")
    above.set_ylim(-3, 103)
    below.set_ylabel("largest distance, ulps")
    below.set_yscale("log")
    below.xaxis.get_major_locator().set_params(integer=True)
    below.set_xlim(-0.5, max(gap.number for gap in gaps) + 0.5)
    below.set_xlabel("optimizer step overall")
    for axis in (above, below):
        axis.grid(alpha=0.3)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize=8, frameon=False)
    figure.tight_layout()
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return text.getvalue()[text.getvalue().index("<svg") :]


def _dots(axis: Any, points: Sequence[tuple[int, float]], title: str, style: tuple[str, str]) -> None:
    if points:
        xs, ys = zip(*points, strict=True)
        axis.plot(xs, ys, label=title, color=style[0], lw=0, marker=style[1], ms=4, alpha=0.8)
