"""A run on the terminal: a live view of its envs, or a line for every round."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

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

from esper.leyline import telemetry
from esper.leyline.errors import OutputError
from esper.leyline.telemetry import TelemetryEvent, TelemetryEventType
from esper.nissa.run import Episode, Round, RunData

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
        self._progress = progress
        self._clock = clock
        self._run: RunData | None = None
        self._shown: LiveDisplay | RoundLines | None = None

    def emit(self, event: TelemetryEvent) -> None:
        """Update the display."""
        try:
            if isinstance(event.data, telemetry.RunStarted):
                self._start(event.data)
            elif self._run is not None and self._shown is not None:
                self._update(self._run, self._shown, event)
        except OSError as error:
            raise OutputError(
                f"standard output: cannot be written any more ({error.strerror}); --quiet needs none"
            ) from error

    def _start(self, data: telemetry.RunStarted) -> None:
        self._run = run = RunData(data)
        self._console.print(_headline(data), soft_wrap=True, highlight=False)
        self._shown = (
            LiveDisplay(self._console, run) if self._progress else RoundLines(self._console, run, self._clock)
        )
        self._shown.start()

    def _update(self, run: RunData, shown: LiveDisplay | RoundLines, event: TelemetryEvent) -> None:
        if isinstance(event.data, telemetry.RoundStarted):
            for before in run.rounds.values():
                before.episodes.clear()  # a long run would keep every epoch of every host
        run.add(event)
        if run.completed is not None:
            shown.stop()
            self._console.print(_summary(run, run.completed), soft_wrap=True, highlight=False)
        else:
            shown.update(event)

    def close(self) -> None:
        """Take the live display away; the rounds of a run that was stopped stay."""
        try:
            if self._shown is not None:
                self._shown.stop()
        except OSError as error:
            raise OutputError(f"standard output: cannot be written any more ({error.strerror})") from error


class LiveDisplay:
    """For a terminal: a progress bar and the envs of the round, replaced by a table of rounds at the end."""

    def __init__(self, console: Console, run: RunData) -> None:
        self._console = console
        self._run = run
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
        total = (run.started.rounds - run.started.first_round) * run.started.envs * run.started.episode_length
        self._task = self._progress.add_task("starting", total=total)
        self._live = Live(
            get_renderable=lambda: Group(self._progress, env_table(run, console.width)),
            console=console,
            refresh_per_second=REFRESHES_PER_S,
            transient=True,
        )
        self._started = False

    def start(self) -> None:
        """Show it."""
        self._started = True
        self._live.start()

    def update(self, event: TelemetryEvent) -> None:
        """Take in what the view shows now."""
        description = f"round {max(self._run.rounds) + 1} of {self._run.started.rounds}"
        self._progress.update(self._task, completed=self._run.env_steps, description=description)

    def stop(self) -> None:
        """Leave the table of rounds."""
        if self._started:
            self._started = False
            self._live.stop()
            self._console.print(round_table(self._run))


class RoundLines:
    """For a file or a pipe: the same table, line by line as rounds end."""

    def __init__(self, console: Console, run: RunData, clock: Callable[[], float]) -> None:
        self._console = console
        self._run = run
        self._clock = clock
        self._last = 0.0

    def start(self) -> None:
        """Print what the columns are."""
        self._print("".join(name.rjust(ROUND_WIDTH) for name in ROUND_COLUMNS))

    def update(self, event: TelemetryEvent) -> None:
        """Print a round that has ended, or how far the present one is after a silence."""
        run, index = self._run, max(self._run.rounds)
        envs = run.rounds[index].episodes.values()
        if isinstance(event.data, telemetry.Throughput):  # the last that a round tells
            self._print("".join(cell.rjust(ROUND_WIDTH) for cell in _round_cells(run.rounds[index])))
        elif (trained := [env for env in envs if env.epochs]) and self._clock() - self._last >= SILENCE_S:
            epoch = min(env.epochs[-1] for env in trained)
            mean = statistics.fmean(env.val_accuracy[-1] for env in trained)
            self._print(
                f"round {index + 1} of {run.started.rounds}: epoch {epoch} of "
                f"{run.started.episode_length}, mean accuracy {mean:.3f}"
            )

    def stop(self) -> None:
        """Nothing is left to print."""

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True, highlight=False, markup=False)
        self._last = self._clock()


def env_table(run: RunData, width: int) -> Table:
    """The envs of the present round: what they reached, and what grows in them; where the console is narrow,
    letters for the stages of seeds.
    """
    wide = width >= WIDE
    table = Table(box=None, pad_edge=False, caption=None if wide else STAGE_LETTERS, caption_justify="left")
    slots = run.started.slots
    for name in ("env", "epoch", "accuracy", "best", "reward", "params"):
        table.add_column(name, justify="right")
    table.add_column("did")
    for name in slots if wide else ("seeds",):
        table.add_column(name, no_wrap=True)
    envs = run.rounds[max(run.rounds)].episodes if run.rounds else {}
    for index, env in sorted(envs.items())[:SHOWN_ENVS]:
        table.add_row(
            str(index),
            str(env.epochs[-1] if env.epochs else 0),
            f"{env.val_accuracy[-1] if env.epochs else 0.0:.3f}",
            f"{max(env.val_accuracy, default=0.0):.3f}",
            f"{env.reward:+.2f}",
            f"{env.parameters:,}",
            "alpha" if env.last_op == "SET_ALPHA_TARGET" else env.last_op.lower(),
            *([_seed(env, slot) for slot in slots] if wide else [_letters(env, slots)]),
        )
    hidden = len(envs) - SHOWN_ENVS
    if hidden > 0:
        table.add_row("", Text(f"and {hidden} more", style="dim"))
    return table


def _seed(env: Episode, slot: str) -> Text:
    stage = env.seeds.get(slot)
    if stage is None:
        return Text("-", style="dim")
    if stage not in STAGE_STYLES:
        return Text(stage.lower(), style="dim")
    return Text(f"{stage.lower()} {env.blueprints.get(slot, '')}".rstrip(), style=STAGE_STYLES[stage])


def _letters(env: Episode, slots: Sequence[str]) -> Text:
    text = Text()
    for stage in map(env.seeds.get, slots):
        letter = "-" if stage is None else stage[0] if stage in STAGE_STYLES else "."
        text.append(letter, style=STAGE_STYLES.get(stage or "", "dim"))
    return text


def round_table(run: RunData) -> Table:
    """The rounds of the run, one a line."""
    table = Table(title="Rounds", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in ROUND_COLUMNS:
        table.add_column(name, justify="right")
    for found in run.finished:
        table.add_row(*_round_cells(found))
    return table


def _round_cells(found: Round) -> Sequence[str]:
    done, loss = found.done, found.update and found.update.metrics.get("policy_loss")
    assert done is not None
    return (
        str(found.index),
        f"{done.mean_accuracy:.3f}",
        f"{found.best:.3f}",
        f"{done.mean_return:+.2f}",
        str(done.seeds_germinated),
        str(done.seeds_fossilized),
        str(done.seeds_pruned),
        "-" if loss is None else f"{loss:+.3f}",
        "-" if found.throughput is None else f"{found.throughput.env_steps_per_s:.1f}",
    )


def _headline(data: telemetry.RunStarted) -> str:
    return (
        f"{data.task}: {data.envs} env(s) x {data.episode_length} epochs x {data.rounds} round(s), "
        f"{data.train_images:,} training and {data.val_images:,} validation images, "
        f"host of {data.host_params:,} parameters, seed {data.seed}, {data.device}"
    )


def _summary(run: RunData, data: telemetry.RunCompleted) -> str:
    rollbacks = run.counts[TelemetryEventType.GOVERNOR_ROLLBACK]
    anomalies = run.counts[TelemetryEventType.ANOMALY_DETECTED]
    last = run.rounds[max(run.rounds)].episodes.values() if run.rounds else ()
    grown = sum(env.outcome.total_params - env.outcome.host_params for env in last if env.outcome)
    return (
        f"{data.env_steps} env-steps in {data.duration_s:.1f} s; "
        f"best validation accuracy {data.best_accuracy:.3f}; {grown:,} parameters grown in the last round"
        + (f", {rollbacks} rollback(s)" if rollbacks else "")
        + (f", {anomalies} anomaly(ies)" if anomalies else "")
    )
