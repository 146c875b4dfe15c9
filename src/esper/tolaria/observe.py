"""What an epoch of one env came to, the watchdog's word included."""

from __future__ import annotations

from collections.abc import Sequence

from esper.kasmina import ModelSnapshot
from esper.leyline import ClientProtocol
from esper.leyline.rollout import HostObservation
from esper.leyline.telemetry import EpochCompleted, GovernorRollback
from esper.tolaria.data import TrainingData
from esper.tolaria.env_state import EnvState
from esper.tolaria.governor import Healthy
from esper.tolaria.optimizers import reset_momentum


def observe_host(
    env_state: EnvState,
    train_totals: Sequence[float],
    val_totals: Sequence[float],
    *,
    data: TrainingData,
    client: ClientProtocol,
) -> HostObservation:
    """Metrics of the epoch, what is left of the host, and its signals; totals as `EnvState` has them."""
    model = env_state.model
    accuracies = [correct / data.val_targets for correct in val_totals[1:]]
    contributions = client.measure_contributions(env_state.env_idx, accuracies)
    model.record_epoch(accuracies[0], contributions)
    measured = model.slot_reports()
    metrics = EpochCompleted(
        train_loss=train_totals[0] / data.train_targets,
        train_accuracy=train_totals[1] / data.train_targets,
        val_loss=val_totals[0] / data.val_targets,
        val_accuracy=accuracies[0],
        train_samples=data.train_targets,
        val_samples=data.val_targets,
        seeds={slot_id: report.stage.name for slot_id, report in measured.items()},
        total_params=model.total_parameters,
    )
    train_loss, train_accuracy = metrics.train_loss, metrics.train_accuracy
    val_loss, val_accuracy = metrics.val_loss, metrics.val_accuracy
    restored = watch_host(env_state, metrics, client=client)
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
    )


def watch_host(
    env_state: EnvState, metrics: EpochCompleted, *, client: ClientProtocol
) -> Healthy[ModelSnapshot] | None:
    """Keep a healthy host; put the last healthy one back in place of one that broke, and give what
    was put back.
    """
    model = env_state.model
    verdict = env_state.governor.judge(metrics.val_loss, metrics.val_accuracy)
    healthy = env_state.governor.healthy
    if verdict is None:
        env_state.governor.keep(model.snapshot, env_state.epoch, metrics.val_loss, metrics.val_accuracy)
        return None
    if not verdict.rollback or healthy is None:
        return None
    pruned = model.restore(healthy.state, f"rollback: {verdict.symptom}")
    for slot_id in pruned:
        env_state.seed_optimizers.pop(slot_id, None)
    for optimizer in env_state.optimizers:
        reset_momentum(optimizer)
    env_state.governor.rolled_back()
    env_state.rollbacks += 1
    client.rolled_back(
        env_state.env_idx,
        GovernorRollback(
            reason=verdict.symptom,
            loss=verdict.loss,
            restored_epoch=healthy.epoch,
            consecutive=verdict.consecutive,
            pruned_slots=pruned,
        ),
    )
    return healthy
