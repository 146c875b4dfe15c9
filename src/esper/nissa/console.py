"""What a person sees while a run goes on, and the table at its end."""

from __future__ import annotations

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from esper.leyline.telemetry import RunCompleted, RunStarted, TelemetryEvent
from esper.nissa.view import EnvView, RunView

SHOWN_ENVS = 8
REFRESHES_PER_S = 4

STAGE_STYLES = {
    "GERMINATED": "dim green",
    "TRAINING": "green",
    "BLENDING": "yellow",
    "HOLDING": "cyan",
    "FOSSILIZED": "bold magenta",
}


class _SpeedColumn(TextColumn):
    """Env-steps per second, over the last steps."""

    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.1f} env-steps/s")


class ConsoleOutput:
    """A live display of progress and envs, and a table of rounds when the run ends."""

    def __init__(self, console: Console, *, progress: bool = True) -> None:
        self._console = console
        self._view = RunView()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            _SpeedColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            expand=True,
        )
        self._task = self._progress.add_task("starting", total=None)
        self._live = (
            Live(
                get_renderable=lambda: Group(self._progress, env_table(self._view)),
                console=console,
                refresh_per_second=REFRESHES_PER_S,
                transient=True,
            )
            if progress
            else None
        )

    def emit(self, event: TelemetryEvent) -> None:
        """Update the display."""
        view = self._view
        view.apply(event)
        if isinstance(event.data, RunStarted):
            self._console.print(_headline(event.data), soft_wrap=True, highlight=False)
            if self._live is not None:
                self._progress.update(self._task, total=view.total_env_steps)
                self._live.start()
        elif isinstance(event.data, RunCompleted):
            self._stop()
            self._console.print(round_table(view))
            self._console.print(_summary(view, event.data), soft_wrap=True, highlight=False)
        elif self._live is not None and view.started is not None:
            description = f"round {view.round_idx + 1} of {view.started.rounds}"
            self._progress.update(self._task, completed=view.env_steps, description=description)

    def close(self) -> None:
        """Take the live display away."""
        self._stop()

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()


def env_table(view: RunView) -> Table:
    """The envs of the present round: what they reached, and what grows in them."""
    table = Table(box=None, pad_edge=False)
    slots = () if view.started is None else view.started.slots
    for name in ("env", "epoch", "accuracy", "best", "reward", "parameters"):
        table.add_column(name, justify="right")
    table.add_column("did")
    for slot in slots:
        table.add_column(slot, no_wrap=True)
    for index in sorted(view.envs)[:SHOWN_ENVS]:
        env = view.envs[index]
        table.add_row(
            str(index),
            str(env.epoch),
            f"{env.accuracy:.3f}",
            f"{env.best:.3f}",
            f"{env.reward:+.2f}",
            f"{env.parameters:,}",
            env.last_op.lower(),
            *(_seed(env, slot) for slot in slots),
        )
    hidden = len(view.envs) - SHOWN_ENVS
    if hidden > 0:
        table.add_row("", Text(f"and {hidden} more", style="dim"))
    return table


def _seed(env: EnvView, slot: str) -> Text:
    stage = env.seeds.get(slot)
    if stage is None:
        return Text("-", style="dim")
    if stage not in STAGE_STYLES:
        return Text(stage.lower(), style="dim")
    return Text(f"{stage.lower()} {env.blueprints.get(slot, '')}".rstrip(), style=STAGE_STYLES[stage])


def round_table(view: RunView) -> Table:
    """The rounds of the run, one a line."""
    table = Table(title="Rounds")
    for name in ("round", "accuracy", "best", "return", "grown", "kept", "pruned", "loss", "steps/s"):
        table.add_column(name, justify="right")
    for index, row in view.rounds.items():
        table.add_row(
            str(index),
            f"{row.accuracy:.3f}",
            f"{row.best:.3f}",
            f"{row.mean_return:+.2f}",
            str(row.grown),
            str(row.kept),
            str(row.pruned),
            "-" if row.policy_loss is None else f"{row.policy_loss:+.3f}",
            "-" if row.env_steps_per_s is None else f"{row.env_steps_per_s:.1f}",
        )
    return table


def _headline(data: RunStarted) -> str:
    return (
        f"{data.task}: {data.envs} env(s) x {data.episode_length} epochs x {data.rounds} round(s), "
        f"{data.train_images:,} training and {data.val_images:,} validation images, "
        f"host of {data.host_params:,} parameters, seed {data.seed}, {data.device}"
    )


def _summary(view: RunView, data: RunCompleted) -> str:
    rollbacks = f", {view.rollbacks} rollback(s)" if view.rollbacks else ""
    anomalies = f", {view.anomalies} anomaly(ies)" if view.anomalies else ""
    return (
        f"{data.env_steps} env-steps in {data.duration_s:.1f} s; "
        f"best validation accuracy {data.best_accuracy:.3f}; "
        f"{view.parameters_grown:,} parameters grown in the last round{rollbacks}{anomalies}"
    )
