"""Put the last healthy state back in place of a host that broke."""

from __future__ import annotations

from esper.kasmina import ModelSnapshot
from esper.leyline.telemetry import EpochCompleted, GovernorRollback
from esper.tolaria.governor import Healthy
from esper.tolaria.host_state import HostEnvState
from esper.tolaria.optimizers import reset_momentum


def watch_host(env_state: HostEnvState, metrics: EpochCompleted) -> Healthy[ModelSnapshot] | None:
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
    env_state.events.append(
        GovernorRollback(
            reason=verdict.symptom,
            loss=verdict.loss,
            restored_epoch=healthy.epoch,
            consecutive=verdict.consecutive,
            pruned_slots=pruned,
        )
    )
    return healthy
