"""A run as its events tell it: the series that a page shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from esper.leyline import telemetry
from esper.leyline.errors import InputError
from esper.leyline.telemetry import TelemetryEvent


@dataclass(slots=True)
class Span:
    """A stage of a slot's seed, over the epochs `first` to `last`."""

    slot: str
    blueprint: str
    stage: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened to a seed (or, with no slot, to the host) after an epoch.

    `kind` is grown, kept, pruned or rolled back; `gain` what a seed contributed then, if that is known.
    """

    epoch: int
    slot: str | None
    kind: str
    blueprint: str = ""
    gain: float | None = None


@dataclass(slots=True)
class Episode:
    """One env in one round. Accuracies are fractions."""

    epochs: list[int] = field(default_factory=list)
    train_accuracy: list[float] = field(default_factory=list)
    val_accuracy: list[float] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    blueprints: dict[str, str] = field(default_factory=dict)
    outcome: telemetry.EpisodeCompleted | None = None


@dataclass(slots=True)
class Round:
    """All envs of one round, and what the policy made of it. `done` is None for one that was cut off."""

    index: int
    episodes: dict[int, Episode] = field(default_factory=dict)
    done: telemetry.BatchCompleted | None = None
    rewards: telemetry.RewardSummary | None = None
    actions: telemetry.ActionDistribution | None = None
    update: telemetry.PPOUpdateCompleted | None = None
    throughput: telemetry.Throughput | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """An event that deserves a line of its own."""

    round: int
    epoch: int | None
    env: int | None
    slot: str | None
    what: str
    detail: str


@dataclass(slots=True)
class Fate:
    """Fate of the seeds of one blueprint; `gains` are contributions of those that stayed."""

    grown: int = 0
    kept: int = 0
    pruned: int = 0
    gains: list[float] = field(default_factory=list)


@dataclass(slots=True)
class RunData:
    """A whole run; `completed` is None for one that was stopped."""

    started: telemetry.RunStarted
    rounds: dict[int, Round] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    completed: telemetry.RunCompleted | None = None

    @property
    def finished(self) -> list[Round]:
        """The rounds that came to their end, in order."""
        return [found for _, found in sorted(self.rounds.items()) if found.done is not None]

    def add(self, event: TelemetryEvent) -> None:
        """Take in what came after the run's beginning."""
        if isinstance(event.data, telemetry.RunCompleted):
            self.completed = event.data
            return
        round_ = self.rounds.setdefault(event.round or 0, Round(event.round or 0))
        if note := _note(event):
            self.notes.append(note)
        if event.env is None:
            _add_to_round(round_, event)
        else:
            _add_to_episode(round_.episodes.setdefault(event.env, Episode()), event, event.epoch or 0)

    def fates(self) -> dict[str, Fate]:
        """Count the fates of seeds by blueprint, over all rounds; the most often grown first."""
        found: dict[str, Fate] = {}
        for episode in (episode for round_ in self.rounds.values() for episode in round_.episodes.values()):
            for mark in episode.marks:
                if mark.slot is None:
                    continue
                fate = found.setdefault(mark.blueprint, Fate())
                fate.grown += mark.kind == "grown"
                fate.kept += mark.kind == "kept"
                fate.pruned += mark.kind == "pruned"
                if mark.kind == "kept" and mark.gain is not None:
                    fate.gains.append(mark.gain)
        return dict(sorted(found.items(), key=lambda item: -item[1].grown))


def collect(events: Iterable[TelemetryEvent], path: Path) -> RunData:
    """The run in an event file.

    Where a run went on from a checkpoint, its rounds take the place of those that came after the
    checkpoint. Raises InputError for a file that has no run in it.
    """
    run: RunData | None = None
    for event in events:
        if isinstance(event.data, telemetry.RunStarted):
            run = _begin(run, event.data)
        elif run is None:
            raise InputError(f"{path}: does not begin with RUN_STARTED; was its beginning cut away?")
        else:
            run.add(event)
    if run is None:
        raise InputError(f"{path}: holds no event; the run has not started")
    return run


def _begin(before: RunData | None, started: telemetry.RunStarted) -> RunData:
    if before is None:
        return RunData(started)
    first = started.first_round
    return RunData(
        started,
        rounds={index: found for index, found in before.rounds.items() if index < first},
        notes=[note for note in before.notes if note.round < first],
    )


def _add_to_round(round_: Round, event: TelemetryEvent) -> None:
    match event.data:
        case telemetry.BatchCompleted() as data:
            round_.done = data
        case telemetry.RewardSummary() as data:
            round_.rewards = data
        case telemetry.ActionDistribution() as data:
            round_.actions = data
        case telemetry.PPOUpdateCompleted() as data:
            round_.update = data
        case telemetry.Throughput() as data:
            round_.throughput = data


def _add_to_episode(episode: Episode, event: TelemetryEvent, epoch: int) -> None:
    slot = event.slot
    match event.data:
        case telemetry.EpochCompleted() as data:
            episode.epochs.append(epoch)
            episode.train_accuracy.append(data.train_accuracy)
            episode.val_accuracy.append(data.val_accuracy)
            _extend_spans(episode, data.seeds, epoch)
        case telemetry.SeedGerminated() as data if slot is not None:
            episode.blueprints[slot] = data.blueprint
            episode.marks.append(Mark(epoch, slot, "grown", data.blueprint))
        case telemetry.SeedFossilized() as data:
            episode.marks.append(Mark(epoch, slot, "kept", data.blueprint, data.contribution))
        case telemetry.SeedPruned() as data:
            episode.marks.append(Mark(epoch, slot, "pruned", data.blueprint, data.contribution))
        case telemetry.GovernorRollback():
            episode.marks.append(Mark(epoch, None, "rolled back"))
        case telemetry.EpisodeCompleted() as data:
            episode.outcome = data


def _extend_spans(episode: Episode, seeds: Mapping[str, str], epoch: int) -> None:
    for slot, stage in seeds.items():
        last = next((span for span in reversed(episode.spans) if span.slot == slot), None)
        if last is not None and last.stage == stage and last.last == epoch - 1:
            last.last = epoch
        else:
            episode.spans.append(Span(slot, episode.blueprints.get(slot, ""), stage, epoch, epoch))


def _note(event: TelemetryEvent) -> Note | None:
    match event.data:
        case telemetry.GovernorRollback() as data:
            what, detail = "rollback", f"{data.reason}; back to epoch {data.restored_epoch}"
        case telemetry.AnomalyDetected() as data:
            what, detail = data.kind.replace("_", " "), data.detail
        case telemetry.TelemetryLevelChanged() as data:
            what, detail = f"telemetry level {data.level}", data.reason
        case telemetry.PerformanceDegradation() as data:
            what = "accuracy fell"
            detail = f"{data.accuracy:.3f}, {data.drop:.0%} under the average of {data.rolling_accuracy:.3f}"
        case telemetry.ScaffoldCredited() as data:
            what = "scaffold credit"
            detail = f"{data.seed_id} helped {data.beneficiary}: {data.credit:.3f}"
        case _:
            return None
    return Note(event.round or 0, event.epoch, event.env, event.slot, what, detail)
