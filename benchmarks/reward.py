"""Draw how returns changed over rounds: `python benchmarks/reward.py RUN_DIR... -o docs/reward.png`.

A run's folder is what `--telemetry-dir` named. Prints, for each run, the mean return and the mean final
accuracy of the first and of the last quarter of its rounds, with the standard error over rounds.
"""

import math
import statistics
from collections.abc import Sequence
from pathlib import Path

import click
import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from esper.nissa import EVENT_FILE, read_events
from esper.nissa.report import RunData, collect

WINDOW = 10


@click.command()
@click.argument("run_dirs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True)
def main(run_dirs: tuple[Path, ...], output: Path) -> None:
    """One panel per run."""
    runs = [_read(folder) for folder in run_dirs]
    for folder, run in zip(run_dirs, runs, strict=True):
        click.echo(f"{folder.name}: {_summary(run)}")
    matplotlib.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure = Figure(figsize=(4.6 * len(runs), 3.0), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, folder, run in zip(
        figure.subplots(1, len(runs), squeeze=False)[0], run_dirs, runs, strict=True
    ):
        _draw(axes, folder.name, run)
    figure.savefig(output, dpi=150)


def _read(folder: Path) -> RunData:
    path = folder / EVENT_FILE
    return collect(read_events(path, cut_off_end=True), path)


def _series(run: RunData) -> tuple[list[int], list[float], list[float]]:
    """Round, mean return and mean final accuracy."""
    rows = [(found.index, found.done) for found in run.finished if found.done is not None]
    return (
        [index for index, _ in rows],
        [done.mean_return for _, done in rows],
        [done.mean_accuracy for _, done in rows],
    )


def _summary(run: RunData) -> str:
    x, returns, accuracies = _series(run)
    quarter = max(1, len(x) // 4)
    return (
        f"{len(x)} rounds, first to last {quarter}: "
        f"return {_mean(returns[:quarter])} to {_mean(returns[-quarter:])}, "
        f"accuracy {_mean(accuracies[:quarter])} to {_mean(accuracies[-quarter:])}"
    )


def _mean(values: Sequence[float]) -> str:
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{statistics.fmean(values):.3f} +- {error:.3f}"


def _draw(axes: Axes, name: str, run: RunData) -> None:
    x, returns, _ = _series(run)
    smooth = [statistics.fmean(returns[max(0, i - WINDOW + 1) : i + 1]) for i in range(len(returns))]
    axes.plot(x, returns, ".", color="#d55e00", alpha=0.5, label=f"round (mean of {run.started.envs} hosts)")
    axes.plot(x, smooth, color="#d55e00", linewidth=2, label=f"mean of up to {WINDOW} rounds")
    axes.set_title(f"{run.started.task}, {name}", loc="left", fontsize=10)
    axes.set_xlabel("round")
    axes.set_ylabel("return")
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.legend(frameon=False, loc="lower right")


if __name__ == "__main__":
    main()
