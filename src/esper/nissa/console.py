"""A run on the terminal: a line for every round, and a progress bar below them."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from esper.leyline import telemetry
from esper.leyline.errors import OutputError
from esper.leyline.telemetry import TelemetryEvent, TelemetryEventType

SILENCE_S = 30.0

ROUND_COLUMNS = ("round", "accuracy", "best", "return", "grown", "kept", "pruned", "loss", "steps/s")
ROUND_WIDTH = 9  # of 80, with room for a return of five digits


class ConsoleOutput:
    """Prints every round as it ends. With `progress` a bar stands below and goes away at the end; without,
    a line in between tells how far a long round is.

    Raises OutputError where the console cannot be written any more.
    """

    def __init__(
        self, console: Console, *, progress: bool = True, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._clock = clock
        self._printed = 0.0
        self._counts: Counter[TelemetryEventType] = Counter()
        self._started: telemetry.RunStarted | None = None
        self._epochs: dict[int, tuple[int, float]] = {}
        self._hosts: list[telemetry.EpisodeCompleted] = []
        self._done: telemetry.BatchCompleted | None = None
        self._loss: float | None = None
        self._bar: Progress | None = None
        if progress:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                MofNCompleteColumn(),
                TextColumn("env-steps"),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=console,
                transient=True,
                expand=True,
            )

    def emit(self, event: TelemetryEvent) -> None:
        """Print what the event adds."""
        with _told("; --quiet needs none"):
            self._counts[event.event_type] += 1
            if isinstance(event.data, telemetry.RunStarted):
                self._start(event.data)
            elif self._started is not None:
                self._take_in(self._started, event)

    def close(self) -> None:
        """Take the bar away; the rounds of a run that was stopped stay."""
        with _told():
            if self._bar is not None:
                self._bar.stop()

    def _start(self, data: telemetry.RunStarted) -> None:
        self._started = data
        self._print(
            f"{data.task}: {data.envs} env(s) x {data.episode_length} epochs x {data.rounds} round(s), "
            f"{data.train_images:,} training and {data.val_images:,} validation images, "
            f"host of {data.host_params:,} parameters, seed {data.seed}, {data.device}"
        )
        self._print("".join(name.rjust(ROUND_WIDTH) for name in ROUND_COLUMNS))
        if self._bar is not None:
            rounds = data.rounds - data.first_round
            self._bar.add_task("starting", total=rounds * data.envs * data.episode_length)
            self._bar.start()

    def _take_in(self, run: telemetry.RunStarted, event: TelemetryEvent) -> None:
        match event.data:
            case telemetry.RoundStarted():
                self._epochs, self._hosts, self._done, self._loss = {}, [], None, None
            case telemetry.EpochCompleted() as data if event.env is not None:
                self._epochs[event.env] = (event.epoch or 0, data.val_accuracy)
                self._show_progress(run, event.round or 0)
            case telemetry.EpisodeCompleted() as data:
                self._hosts.append(data)
            case telemetry.PPOUpdateCompleted() as data:
                self._loss = data.metrics.get("policy_loss")
            case telemetry.BatchCompleted() as data:
                self._done = data
            case telemetry.Throughput() as data if self._done is not None:  # a round's last event
                self._print_round(event.round or 0, self._done, data.env_steps_per_s)
            case telemetry.RunCompleted() as data:
                self.close()
                self._print(self._summary(data))

    def _show_progress(self, run: telemetry.RunStarted, round_idx: int) -> None:
        name = f"round {round_idx + 1} of {run.rounds}"
        if self._bar is not None:
            done = self._counts[TelemetryEventType.EPOCH_COMPLETED]
            self._bar.update(self._bar.task_ids[0], completed=done, description=name)
        elif self._clock() - self._printed >= SILENCE_S:
            epochs, accuracies = zip(*self._epochs.values(), strict=True)
            mean = statistics.fmean(accuracies)
            self._print(f"{name}: epoch {min(epochs)} of {run.episode_length}, mean accuracy {mean:.3f}")

    def _print_round(self, round_idx: int, done: telemetry.BatchCompleted, speed: float) -> None:
        cells = (
            str(round_idx),
            f"{done.mean_accuracy:.3f}",
            f"{max(host.best_accuracy for host in self._hosts):.3f}",
            f"{done.mean_return:+.2f}",
            str(done.seeds_germinated),
            str(done.seeds_fossilized),
            str(done.seeds_pruned),
            "-" if self._loss is None else f"{self._loss:+.3f}",
            f"{speed:.1f}",
        )
        self._print("".join(cell.rjust(ROUND_WIDTH) for cell in cells))

    def _summary(self, data: telemetry.RunCompleted) -> str:
        rollbacks = self._counts[TelemetryEventType.GOVERNOR_ROLLBACK]
        anomalies = self._counts[TelemetryEventType.ANOMALY_DETECTED]
        grown = sum(host.total_params - host.host_params for host in self._hosts)
        return (
            f"{data.env_steps} env-steps in {data.duration_s:.1f} s; "
            f"best validation accuracy {data.best_accuracy:.3f}; {grown:,} parameters grown in the last round"
            + (f", {rollbacks} rollback(s)" if rollbacks else "")
            + (f", {anomalies} anomaly(ies)" if anomalies else "")
        )

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True, highlight=False, markup=False)
        self._printed = self._clock()


@contextmanager
def _told(remedy: str = "") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"standard output: cannot be written any more ({error.strerror}){remedy}"
        ) from error
