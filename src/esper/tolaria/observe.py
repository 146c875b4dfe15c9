"""What an epoch of one env came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from esper.leyline.rollout import HostObservation
from esper.leyline.telemetry import EpochCompleted, HostGradientNorms
from esper.tolaria.data import TrainingData
from esper.tolaria.host_state import HostEnvState
from esper.tolaria.rollback import watch_host


def measured_accuracies(val_totals: Sequence[float], data: TrainingData) -> list[float]:
    """Accuracy in every configuration, fractions."""
    return [correct / data.val_targets for correct in val_totals[1:]]


def observe_host(
    env_state: HostEnvState,
    train_totals: Sequence[float],
    val_totals: Sequence[float],
    contributions: Mapping[str, float],
    gradients: HostGradientNorms | None,
    *,
    data: TrainingData,
) -> HostObservation:
    """Metrics of the epoch, what is left of the host, and its signals; totals as `HostEnvState` has them,
    contributions as the client measured them.

    The host is judged on the way: one that broke is put back.
    """
    model = env_state.model
    val_accuracy = val_totals[1] / data.val_targets
    model.record_epoch(val_accuracy, contributions)
    measured = model.slot_reports()
    metrics = EpochCompleted(
        train_loss=train_totals[0] / data.train_targets,
        train_accuracy=train_totals[1] / data.train_targets,
        val_loss=val_totals[0] / data.val_targets,
        val_accuracy=val_accuracy,
        train_samples=data.train_targets,
        val_samples=data.val_targets,
        seeds={slot_id: report.stage.name for slot_id, report in measured.items()},
        total_params=model.total_parameters,
    )
    train_loss, train_accuracy = metrics.train_loss, metrics.train_accuracy
    val_loss, val_accuracy = metrics.val_loss, metrics.val_accuracy
    restored = watch_host(env_state, metrics)
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
        measured=measured,
        before=before,
        signals=signals,
        reports=model.slot_reports(),
        rolled_back=restored is not None,
        gradients=gradients,
        events=env_state.take_events(),
    )
