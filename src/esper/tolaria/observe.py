"""What an epoch of one env came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from esper.kasmina import ModelSnapshot
from esper.leyline.reports import SeedStateReport
from esper.leyline.rollout import HostObservation
from esper.leyline.telemetry import EpochCompleted, HostGradientNorms
from esper.tolaria.data import TrainingData
from esper.tolaria.governor import Healthy
from esper.tolaria.host_state import HostEnvState
from esper.tolaria.rollback import watch_host


@dataclass(frozen=True, slots=True)
class MeasuredEpoch:
    """A host as it was validated: its metrics, and reports of its seeds by slot."""

    metrics: EpochCompleted
    reports: Mapping[str, SeedStateReport]


def measured_accuracies(val_totals: Sequence[float], data: TrainingData) -> list[float]:
    """Accuracy in every configuration, fractions."""
    return [correct / data.val_targets for correct in val_totals[1:]]


def end_epoch(
    env_state: HostEnvState,
    train_totals: Sequence[float],
    val_totals: Sequence[float],
    contributions: Mapping[str, float],
    gradients: HostGradientNorms | None,
    *,
    data: TrainingData,
) -> HostObservation:
    """Measure one host, put it back if it broke, and observe what is there then; totals as `HostEnvState`
    has them, contributions as the client measured them.
    """
    measured = measure_epoch(env_state, train_totals, val_totals, contributions, data=data)
    restored = watch_host(env_state, measured.metrics)
    return observe_host(env_state, measured, restored, gradients)


def measure_epoch(
    env_state: HostEnvState,
    train_totals: Sequence[float],
    val_totals: Sequence[float],
    contributions: Mapping[str, float],
    *,
    data: TrainingData,
) -> MeasuredEpoch:
    """Note in the model what the epoch was worth to its seeds, and tell all in numbers."""
    model = env_state.model
    val_accuracy = val_totals[1] / data.val_targets
    model.record_epoch(val_accuracy, contributions)
    reports = model.slot_reports()
    metrics = EpochCompleted(
        train_loss=train_totals[0] / data.train_targets,
        train_accuracy=train_totals[1] / data.train_targets,
        val_loss=val_totals[0] / data.val_targets,
        val_accuracy=val_accuracy,
        train_samples=data.train_targets,
        val_samples=data.val_targets,
        seeds={slot_id: report.stage.name for slot_id, report in reports.items()},
        total_params=model.total_parameters,
    )
    return MeasuredEpoch(metrics, reports)


def observe_host(
    env_state: HostEnvState,
    measured: MeasuredEpoch,
    restored: Healthy[ModelSnapshot] | None,
    gradients: HostGradientNorms | None,
) -> HostObservation:
    """What is known of the host: of the one that was ``restored``, where one that broke was put back."""
    metrics = measured.metrics
    train_loss, train_accuracy = metrics.train_loss, metrics.train_accuracy
    val_loss, val_accuracy = metrics.val_loss, metrics.val_accuracy
    if restored is not None:
        # The policy is to see the host that it has now, not the one that broke.
        train_loss = val_loss = restored.loss
        train_accuracy = val_accuracy = restored.accuracy
    env_state.val_accuracy = val_accuracy
    env_state.best_accuracy = max(env_state.best_accuracy, val_accuracy)
    before = None if env_state.epoch == 1 else env_state.signal_tracker.peek()
    signals = env_state.signal_tracker.update(
        epoch=env_state.epoch,
        train_loss=train_loss,
        train_accuracy=train_accuracy,
        val_loss=val_loss,
        val_accuracy=val_accuracy,
    )
    return HostObservation(
        metrics=metrics,
        measured=measured.reports,
        before=before,
        signals=signals,
        reports=env_state.model.slot_reports(),
        rolled_back=restored is not None,
        gradients=gradients,
        events=env_state.take_events(),
    )
