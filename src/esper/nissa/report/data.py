"""A run as the series that a page shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from esper.leyline.errors import InputError
from esper.leyline.telemetry import (
    ActionDistribution,
    AnomalyDetected,
    BatchCompleted,
    CounterfactualComputed,
    EpisodeCompleted,
    EpochCompleted,
    GovernorRollback,
    PerformanceDegradation,
    PPOUpdateCompleted,
    RewardSummary,
    RoundStarted,
    RunCompleted,
    RunStarted,
    ScaffoldCredited,
    SeedFossilized,
    SeedGerminated,
    SeedPruned,
    ShapleyComputed,
    TelemetryEvent,
    TelemetryLevelChanged,
    Throughput,
)


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
    """One env in one round. Accuracies are fractions; `contributions` are (epoch, value) by slot."""

    epochs: list[int] = field(default_factory=list)
    train_accuracy: list[float] = field(default_factory=list)
    val_accuracy: list[float] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    contributions: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    shapley: dict[str, float] = field(default_factory=dict)
    blueprints: dict[str, str] = field(default_factory=dict)
    outcome: EpisodeCompleted | None = None


@dataclass(slots=True)
class Round:
    """All envs of one round, and what the policy made of it. `done` is None for one that was cut off."""

    index: int
    entropy_coef: float = 0.0
    episodes: dict[int, Episode] = field(default_factory=dict)
    done: BatchCompleted | None = None
    rewards: RewardSummary | None = None
    actions: ActionDistribution | None = None
    update: PPOUpdateCompleted | None = None
    throughput: Throughput | None = None


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
    """What became of the seeds of one blueprint; `gains` are contributions of those that stayed."""

    grown: int = 0
    kept: int = 0
    pruned: int = 0
    gains: list[float] = field(default_factory=list)


@dataclass(slots=True)
class RunData:
    """A whole run; `completed` is None for one that was stopped."""

    started: RunStarted
    rounds: dict[int, Round] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    completed: RunCompleted | None = None

    @property
    def finished(self) -> list[Round]:
        """The rounds that came to their end, in order."""
        return [found for _, found in sorted(self.rounds.items()) if found.done is not None]

    def fates(self) -> dict[str, Fate]:
        """What became of seeds, by blueprint, over all rounds; the most often grown first."""
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
        if isinstance(event.data, RunStarted):
            run = _begin(run, event.data)
        elif run is None:
            raise InputError(f"{path}: does not begin with RUN_STARTED; was its beginning cut away?")
        else:
            _add(run, event)
    if run is None:
        raise InputError(f"{path}: holds no event; the run has not started")
    return run


def _begin(before: RunData | None, started: RunStarted) -> RunData:
    if before is None:
        return RunData(started)
    first = started.first_round
    return RunData(
        started,
        rounds={index: found for index, found in before.rounds.items() if index < first},
        notes=[note for note in before.notes if note.round < first],
    )


def _add(run: RunData, event: TelemetryEvent) -> None:
    if isinstance(event.data, RunCompleted):
        run.completed = event.data
        return
    index = event.round or 0
    round_ = run.rounds.setdefault(index, Round(index))
    note = _note(event)
    if note is not None:
        run.notes.append(note)
    if event.env is not None:
        _add_to_episode(round_.episodes.setdefault(event.env, Episode()), event, event.epoch or 0)
        return
    match event.data:
        case RoundStarted() as data:
            round_.entropy_coef = data.entropy_coef
        case BatchCompleted() as data:
            round_.done = data
        case RewardSummary() as data:
            round_.rewards = data
        case ActionDistribution() as data:
            round_.actions = data
        case PPOUpdateCompleted() as data:
            round_.update = data
        case Throughput() as data:
            round_.throughput = data


def _add_to_episode(episode: Episode, event: TelemetryEvent, epoch: int) -> None:
    slot = event.slot
    match event.data:
        case EpochCompleted() as data:
            episode.epochs.append(epoch)
            episode.train_accuracy.append(data.train_accuracy)
            episode.val_accuracy.append(data.val_accuracy)
            _extend_spans(episode, data.seeds, epoch)
        case SeedGerminated() as data if slot is not None:
            episode.blueprints[slot] = data.blueprint
            episode.marks.append(Mark(epoch, slot, "grown", data.blueprint))
        case SeedFossilized() as data:
            episode.marks.append(Mark(epoch, slot, "kept", data.blueprint, data.contribution))
        case SeedPruned() as data:
            episode.marks.append(Mark(epoch, slot, "pruned", data.blueprint, data.contribution))
        case GovernorRollback():
            episode.marks.append(Mark(epoch, None, "rolled back"))
        case CounterfactualComputed() as data:
            for name, value in data.contributions.items():
                episode.contributions.setdefault(name, []).append((epoch, value))
        case ShapleyComputed() as data:
            episode.shapley = dict(data.values)
        case EpisodeCompleted() as data:
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
        case GovernorRollback() as data:
            what, detail = "rollback", f"{data.reason}; back to epoch {data.restored_epoch}"
        case AnomalyDetected() as data:
            what, detail = data.kind.replace("_", " "), data.detail
        case TelemetryLevelChanged() as data:
            what, detail = f"telemetry level {data.level}", data.reason
        case PerformanceDegradation() as data:
            what = "accuracy fell"
            detail = f"{data.accuracy:.3f}, {data.drop:.0%} under the average of {data.rolling_accuracy:.3f}"
        case ScaffoldCredited() as data:
            what = "scaffold credit"
            detail = f"{data.seed_id} helped {data.beneficiary}: {data.credit:.3f}"
        case _:
            return None
    return Note(event.round or 0, event.epoch, event.env, event.slot, what, detail)
