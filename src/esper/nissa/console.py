"""A run on the terminal: a live view of its envs, or a line for every round."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rich.box import SIMPLE_HEAD
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

from esper.leyline.errors import OutputError
from esper.leyline.telemetry import (
    AnomalyDetected,
    BatchCompleted,
    EpisodeCompleted,
    EpochCompleted,
    GovernorRollback,
    LastAction,
    PPOUpdateCompleted,
    RoundStarted,
    RunCompleted,
    RunStarted,
    SeedGerminated,
    TelemetryEvent,
    Throughput,
)


@dataclass
class EnvView:
    """One env in its present round. `seeds` maps slots to stages, `blueprints` to what grows there."""

    epoch: int = 0
    accuracy: float = 0.0
    best: float = 0.0
    reward: float = 0.0
    last_op: str = ""
    parameters: int = 0
    seeds: dict[str, str] = field(default_factory=dict)
    blueprints: dict[str, str] = field(default_factory=dict)


@dataclass
class RoundView:
    """One finished round of all envs; `best` is the best validation accuracy of any host in any epoch."""

    accuracy: float
    best: float
    mean_return: float
    grown: int
    kept: int
    pruned: int
    policy_loss: float | None = None
    env_steps_per_s: float | None = None


@dataclass
class RunView:
    """The whole run so far; `env_steps` counts those of this process."""

    started: RunStarted | None = None
    completed: RunCompleted | None = None
    round_idx: int = 0
    env_steps: int = 0
    rollbacks: int = 0
    anomalies: int = 0
    parameters_grown: int = 0
    envs: dict[int, EnvView] = field(default_factory=dict)
    rounds: dict[int, RoundView] = field(default_factory=dict)
    _policy_loss: float | None = None
    _best: float = 0.0

    @property
    def total_env_steps(self) -> int:
        """How many there will be; 0 before the run started."""
        run = self.started
        return 0 if run is None else (run.rounds - run.first_round) * run.envs * run.episode_length

    def apply(self, event: TelemetryEvent) -> None:
        """Take in one event."""
        if event.env is not None:
            self._apply_to_env(self.envs.setdefault(event.env, EnvView()), event)
        else:
            self._apply_to_run(event)

    def _apply_to_env(self, env: EnvView, event: TelemetryEvent) -> None:
        match event.data:
            case EpochCompleted() as data:
                env.epoch = event.epoch or 0
                env.accuracy, env.best = data.val_accuracy, max(env.best, data.val_accuracy)
                env.parameters = data.total_params
                env.seeds = dict(data.seeds)
                self.env_steps += 1
            case LastAction() as data:
                env.reward += data.reward
                env.last_op = data.operation
            case SeedGerminated() as data if event.slot is not None:
                env.blueprints[event.slot] = data.blueprint
            case GovernorRollback():
                self.rollbacks += 1
            case AnomalyDetected():
                self.anomalies += 1
            case EpisodeCompleted() as data:
                self.parameters_grown += data.total_params - data.host_params
                self._best = max(self._best, data.best_accuracy)

    def _apply_to_run(self, event: TelemetryEvent) -> None:
        found = self.rounds.get(self.round_idx)
        match event.data:
            case RunStarted() as data:
                self.started = data
            case RoundStarted():
                self.round_idx = event.round or 0
                self.envs.clear()
                self.parameters_grown = 0
                self._best = 0.0
            case AnomalyDetected():
                self.anomalies += 1
            case BatchCompleted() as data:
                # Where steps are not reported one by one, rounds are what progress can be seen by.
                done = self.round_idx + 1 - (0 if self.started is None else self.started.first_round)
                self.env_steps = done * data.env_steps
                self.rounds[self.round_idx] = RoundView(
                    accuracy=data.mean_accuracy,
                    best=self._best,
                    mean_return=data.mean_return,
                    grown=data.seeds_germinated,
                    kept=data.seeds_fossilized,
                    pruned=data.seeds_pruned,
                    policy_loss=self._policy_loss,
                )
            case PPOUpdateCompleted() as data:
                self._policy_loss = data.metrics.get("policy_loss")
            case Throughput() as data if found is not None:
                found.env_steps_per_s = data.env_steps_per_s
            case RunCompleted() as data:
                self.completed = data


SHOWN_ENVS = 8
REFRESHES_PER_S = 4
SILENCE_S = 30.0
WIDE = 120

ROUND_COLUMNS = ("round", "accuracy", "best", "return", "grown", "kept", "pruned", "loss", "steps/s")
ROUND_WIDTH = 9  # of 80, with room for a return of five digits

STAGE_STYLES = {
    "GERMINATED": "dim green",
    "TRAINING": "green",
    "BLENDING": "yellow",
    "HOLDING": "cyan",
    "FOSSILIZED": "bold magenta",
}
STAGE_LETTERS = "seeds by slot: Germinated Training Blending Holding Fossilized . leaving - none"


class _SpeedColumn(TextColumn):
    """Env-steps per second, over the last steps."""

    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.1f} env-steps/s")


class ConsoleOutput:
    """A live display of progress and envs with a table of rounds at the end; or, without `progress`, a line
    for every round as it ends, and one in between when there was none for a while.

    Raises OutputError where the console cannot be written any more.
    """

    def __init__(
        self, console: Console, *, progress: bool = True, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._view = RunView()
        self._shown: LiveDisplay | RoundLines = (
            LiveDisplay(console, self._view) if progress else RoundLines(console, self._view, clock)
        )

    def emit(self, event: TelemetryEvent) -> None:
        """Update the display."""
        self._view.apply(event)
        try:
            if isinstance(event.data, RunStarted):
                self._console.print(_headline(event.data), soft_wrap=True, highlight=False)
                self._shown.start()
            elif isinstance(event.data, RunCompleted):
                self._shown.stop()
                self._console.print(_summary(self._view, event.data), soft_wrap=True, highlight=False)
            else:
                self._shown.update(event)
        except OSError as error:
            raise OutputError(
                f"standard output: cannot be written any more ({error.strerror}); --quiet needs none"
            ) from error

    def close(self) -> None:
        """Take the live display away; the rounds of a run that was stopped stay."""
        try:
            self._shown.stop()
        except OSError as error:
            raise OutputError(f"standard output: cannot be written any more ({error.strerror})") from error


class LiveDisplay:
    """For a terminal: a progress bar and the envs of the round, replaced by a table of rounds at the end."""

    def __init__(self, console: Console, view: RunView) -> None:
        self._console = console
        self._view = view
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
        self._live = Live(
            get_renderable=lambda: Group(self._progress, env_table(view, console.width)),
            console=console,
            refresh_per_second=REFRESHES_PER_S,
            transient=True,
        )
        self._started = False

    def start(self) -> None:
        """Show it."""
        self._progress.update(self._task, total=self._view.total_env_steps)
        self._started = True
        self._live.start()

    def update(self, event: TelemetryEvent) -> None:
        """Take in what the view shows now."""
        view = self._view
        if view.started is not None:
            description = f"round {view.round_idx + 1} of {view.started.rounds}"
            self._progress.update(self._task, completed=view.env_steps, description=description)

    def stop(self) -> None:
        """Leave the table of rounds."""
        if self._started:
            self._started = False
            self._live.stop()
            self._console.print(round_table(self._view))


class RoundLines:
    """For a file or a pipe: the same table, line by line as rounds end."""

    def __init__(self, console: Console, view: RunView, clock: Callable[[], float]) -> None:
        self._console = console
        self._view = view
        self._clock = clock
        self._printed = 0
        self._last = 0.0

    def start(self) -> None:
        """Print what the columns are."""
        self._print("".join(name.rjust(ROUND_WIDTH) for name in ROUND_COLUMNS))

    def update(self, event: TelemetryEvent) -> None:
        """Print a round that has ended, or how far the present one is after a silence."""
        view = self._view
        if isinstance(event.data, Throughput):  # the last that a round tells
            for index, row in list(view.rounds.items())[self._printed :]:
                self._print("".join(cell.rjust(ROUND_WIDTH) for cell in _round_cells(index, row)))
            self._printed = len(view.rounds)
        elif view.started is not None and view.envs and self._clock() - self._last >= SILENCE_S:
            epoch = min(env.epoch for env in view.envs.values())
            mean = statistics.fmean(env.accuracy for env in view.envs.values())
            self._print(
                f"round {view.round_idx + 1} of {view.started.rounds}: epoch {epoch} of "
                f"{view.started.episode_length}, mean accuracy {mean:.3f}"
            )

    def stop(self) -> None:
        """Nothing is left to print."""

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True, highlight=False, markup=False)
        self._last = self._clock()


def env_table(view: RunView, width: int) -> Table:
    """The envs of the present round: what they reached, and what grows in them; where the console is narrow,
    letters for the stages of seeds.
    """
    wide = width >= WIDE
    table = Table(box=None, pad_edge=False, caption=None if wide else STAGE_LETTERS, caption_justify="left")
    slots = () if view.started is None else view.started.slots
    for name in ("env", "epoch", "accuracy", "best", "reward", "params"):
        table.add_column(name, justify="right")
    table.add_column("did")
    for name in slots if wide else ("seeds",):
        table.add_column(name, no_wrap=True)
    for index in sorted(view.envs)[:SHOWN_ENVS]:
        env = view.envs[index]
        table.add_row(
            str(index),
            str(env.epoch),
            f"{env.accuracy:.3f}",
            f"{env.best:.3f}",
            f"{env.reward:+.2f}",
            f"{env.parameters:,}",
            "alpha" if env.last_op == "SET_ALPHA_TARGET" else env.last_op.lower(),
            *([_seed(env, slot) for slot in slots] if wide else [_letters(env, slots)]),
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


def _letters(env: EnvView, slots: Sequence[str]) -> Text:
    text = Text()
    for stage in map(env.seeds.get, slots):
        letter = "-" if stage is None else stage[0] if stage in STAGE_STYLES else "."
        text.append(letter, style=STAGE_STYLES.get(stage or "", "dim"))
    return text


def round_table(view: RunView) -> Table:
    """The rounds of the run, one a line."""
    table = Table(title="Rounds", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in ROUND_COLUMNS:
        table.add_column(name, justify="right")
    for index, row in view.rounds.items():
        table.add_row(*_round_cells(index, row))
    return table


def _round_cells(index: int, row: RoundView) -> Sequence[str]:
    return (
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
