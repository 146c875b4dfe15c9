"""What a person sees while a run goes on, and the table at its end."""

from collections import Counter
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from esper.leyline import LIVE_STAGES
from esper.leyline.telemetry import (
    BatchCompleted,
    EpisodeCompleted,
    EpochCompleted,
    GovernorRollback,
    PPOUpdateCompleted,
    RoundStarted,
    RunCompleted,
    RunStarted,
    TelemetryEvent,
    Throughput,
)


@dataclass
class _Round:
    """What the table shows of one round."""

    accuracies: tuple[float, ...]
    mean_return: float
    grown: int
    kept: int
    pruned: int
    env_steps_per_s: float = 0.0
    policy_loss: float | None = None


@dataclass
class _RunView:
    envs: int = 0
    rounds: dict[int, _Round] = field(default_factory=dict)
    final_params: dict[int, EpisodeCompleted] = field(default_factory=dict)
    policy_loss: dict[int, float] = field(default_factory=dict)
    env_steps: int = 0
    rollbacks: int = 0
    stages: dict[int, dict[str, str]] = field(default_factory=dict)
    accuracy: dict[int, float] = field(default_factory=dict)


class ConsoleOutput:
    """A progress bar over env-steps with accuracies and seeds' stages, and a table of rounds when the
    run ends.
    """

    def __init__(self, console: Console, *, progress: bool = True) -> None:
        self._console = console
        self._view = _RunView()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[status]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not progress,
        )
        self._task = self._progress.add_task("starting", total=None, status="")

    def emit(self, event: TelemetryEvent) -> None:
        """Update the display."""
        view, data = self._view, event.data
        if isinstance(data, RunStarted):
            self._start(data)
        elif isinstance(data, RoundStarted):
            view.accuracy.clear()
            view.stages.clear()
            self._progress.update(self._task, description=f"round {event.round}")
        elif isinstance(data, EpochCompleted) and event.env is not None:
            view.accuracy[event.env] = data.val_accuracy
            view.stages[event.env] = dict(data.seeds)
            self._progress.update(self._task, advance=1, status=_status(view))
        elif isinstance(data, EpisodeCompleted) and event.env is not None:
            view.final_params[event.env] = data
        elif isinstance(data, GovernorRollback):
            view.rollbacks += 1
        elif isinstance(data, PPOUpdateCompleted) and event.round is not None:
            view.policy_loss[event.round] = data.metrics.get("policy_loss", float("nan"))
        elif isinstance(data, BatchCompleted) and event.round is not None:
            # Where steps are not reported one by one, rounds are what progress can be seen by.
            view.env_steps += data.env_steps
            self._progress.update(self._task, completed=view.env_steps)
            view.rounds[event.round] = _Round(
                accuracies=data.env_accuracies,
                mean_return=data.mean_return,
                grown=data.seeds_germinated,
                kept=data.seeds_fossilized,
                pruned=data.seeds_pruned,
                policy_loss=view.policy_loss.get(event.round),
            )
        elif isinstance(data, Throughput) and event.round in view.rounds:
            view.rounds[event.round].env_steps_per_s = data.env_steps_per_s
        elif isinstance(data, RunCompleted):
            self._progress.stop()
            self._console.print(_table(view))
            self._console.print(_summary(view, data), soft_wrap=True, highlight=False)

    def close(self) -> None:
        """Take the progress bar away."""
        self._progress.stop()

    def _start(self, data: RunStarted) -> None:
        self._console.print(
            f"{data.task}: {data.envs} env(s) x {data.episode_length} epochs x {data.rounds} round(s), "
            f"{data.train_images:,} training and {data.val_images:,} validation images, "
            f"host of {data.host_params:,} parameters, seed {data.seed}, {data.device}",
            soft_wrap=True,
            highlight=False,
        )
        self._view.envs = data.envs
        rounds = data.rounds - data.first_round
        self._progress.update(self._task, total=rounds * data.envs * data.episode_length)
        self._progress.start()


_SHOWN_ENVS = 4


def _status(view: _RunView) -> str:
    accuracies = " ".join(f"{view.accuracy[env]:.2f}" for env in sorted(view.accuracy)[:_SHOWN_ENVS])
    live = {stage.name: stage for stage in LIVE_STAGES}
    stages = Counter(stage for seeds in view.stages.values() for stage in seeds.values() if stage in live)
    seeds = ", ".join(f"{stages[name]} {name.lower()}" for name in sorted(stages, key=live.__getitem__))
    return f"accuracy {accuracies}" + (f" | {seeds}" if seeds else "")


def _table(view: _RunView) -> Table:
    table = Table(title="Rounds")
    for name in (
        "round",
        "accuracy",
        "best",
        "return",
        "grown",
        "kept",
        "pruned",
        "loss",
        "steps/s",
    ):
        table.add_column(name, justify="right")
    for index, row in view.rounds.items():
        table.add_row(
            str(index),
            f"{sum(row.accuracies) / len(row.accuracies):.3f}",
            f"{max(row.accuracies):.3f}",
            f"{row.mean_return:+.2f}",
            str(row.grown),
            str(row.kept),
            str(row.pruned),
            "-" if row.policy_loss is None else f"{row.policy_loss:+.3f}",
            f"{row.env_steps_per_s:.1f}",
        )
    return table


def _summary(view: _RunView, data: RunCompleted) -> str:
    hosts = view.final_params.values()
    grown = sum(host.total_params - host.host_params for host in hosts)
    rollbacks = f", {view.rollbacks} rollback(s)" if view.rollbacks else ""
    return (
        f"{data.env_steps} env-steps in {data.duration_s:.1f} s; "
        f"best validation accuracy {data.best_accuracy:.3f}; "
        f"{grown:,} parameters grown in the last round{rollbacks}"
    )
