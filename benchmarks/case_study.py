"""Draws docs/case-study.png: one file split by hand and by plan, and what golden runs say of both.

Run it with ``python benchmarks/case_study.py``. The figures were measured as docs/case-study.md tells.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("agg")

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

OUT = Path(__file__).resolve().parents[1] / "docs" / "case-study.png"
RUNS = ("minimal", "multi", "panic", "escrow", "lm")
CHANGES = {
    "accuracy recorded for inactive seeds": ("minimal",),
    "reason of a prune lost": ("minimal",),
    "gradient norm taken before clipping": ("minimal",),
    "standard deviations biased": ("minimal",),
    "threshold of 0.8 became 80": ("minimal",),
    "steepness of a curve lost for prunes": ("multi",),
    "optimizer of a pruned seed kept": ("multi", "panic"),
    "event after a rollback missing": ("panic",),
    "steepness lost for alpha targets": ("escrow",),
    "totals of a language model per token": ("lm",),
    "guard after a rollback (probably equivalent)": (),
}
TENSORS = (1_524, 21_188, 21_188, 20_733, 16_875)
BAD, GOOD, NONE = "#b3261e", "#1b6e5a", "#c9c9c9"


def by_hand(axes: Axes) -> None:
    """A row for each changed behaviour, a column for each run, a mark where the run is different for it."""
    names = list(CHANGES)
    for row, found in enumerate(CHANGES.values()):
        for column, run in enumerate(RUNS):
            marked = run in found
            axes.plot(column, row, "o", ms=11 if marked else 4, color=BAD if marked else NONE)
    axes.set_yticks(range(len(names)), names)
    axes.set_xticks(range(len(RUNS)), RUNS)
    axes.set_xlim(-0.5, len(RUNS) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_title("by hand: 11 behaviours changed, 10 found", color=BAD, loc="left", weight="bold")


def by_plan(axes: Axes) -> None:
    """A bar for each run: how many tensors were compared, all of them equal."""
    rows = range(len(RUNS))
    axes.barh(rows, TENSORS, height=0.5, color=GOOD)
    for row, count in zip(rows, TENSORS, strict=True):
        axes.text(count + 400, row, f"{count:,} tensors\nidentical", va="center", fontsize=9)
    axes.set_yticks(rows, RUNS)
    axes.set_ylim(len(RUNS) - 0.5, -0.5)
    axes.set_xlim(0, 31_000)
    axes.set_xticks([])
    axes.set_title("by plan: none changed", color=GOOD, loc="left", weight="bold")


def main() -> None:
    """Draw both side by side."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), width_ratios=(5, 4), layout="constrained")
    by_hand(left)
    by_plan(right)
    for axes in (left, right):
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    figure.suptitle(
        "The same file of 4,430 lines, split twice; five golden runs against the original", fontsize=12
    )
    figure.savefig(OUT, dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
