"""What is known of the envs at a decision, the watchdog's word included, and the decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from esper.kasmina import ModelSnapshot
from esper.leyline import DEFAULT_GOVERNOR_DEATH_PENALTY, SeedStateReport, TrainingSignals
from esper.leyline.telemetry import EpochCompleted, GovernorRollback
from esper.simic.agent import HostActions
from esper.simic.telemetry import detect_progress
from esper.simic.telemetry.emitters import _emit_with_env_context
from esper.simic.training.counterfactual_eval import measure_contributions
from esper.simic.training.parallel_env_state import ParallelEnvState
from esper.simic.training.run_state import EnvObservation, RoundState, RunSetup
from esper.tamiyo import (
    ActionMasks,
    batch_obs_to_features,
    build_slot_states,
    compute_action_masks,
    stack_action_masks,
)
from esper.tolaria.governor import Healthy
from esper.tolaria.optimizers import reset_momentum


def watch_host(
    env_state: ParallelEnvState,
    metrics: EpochCompleted,
    *,
    setup: RunSetup,
) -> Healthy[ModelSnapshot] | None:
    """Keep a healthy host; put the last healthy one back in place of one that broke, and give what
    was put back.
    """
    model = env_state.model
    verdict = env_state.governor.judge(metrics.val_loss, metrics.val_accuracy)
    healthy = env_state.governor.healthy
    if verdict is None:
        env_state.governor.keep(model.snapshot, env_state.epoch, metrics.val_loss, metrics.val_accuracy)
    elif verdict.rollback and healthy is not None:
        pruned = model.restore(healthy.state, f"rollback: {verdict.symptom}")
        for slot_id in pruned:
            env_state.seed_optimizers.pop(slot_id, None)
        for optimizer in env_state.optimizers:
            reset_momentum(optimizer)
        env_state.governor.rolled_back()
        env_state.rollbacks += 1
        _emit_with_env_context(
            setup.reporter.hub,
            env_state,
            GovernorRollback(
                reason=verdict.symptom,
                loss=verdict.loss,
                restored_epoch=healthy.epoch,
                consecutive=verdict.consecutive,
                pruned_slots=pruned,
            ),
            severity="warning",
        )
        return healthy
    return None


def observe_host(
    env_state: ParallelEnvState,
    train_totals: Sequence[float],
    val_totals: Sequence[float],
    *,
    setup: RunSetup,
) -> EnvObservation:
    """What an epoch of one env came to: metrics, contributions, the watchdog's word, signals and masks."""
    data, model = setup.subject.data, env_state.model
    accuracies = [correct / data.val_targets for correct in val_totals[1:]]
    matrix = measure_contributions(env_state, accuracies)
    metrics = EpochCompleted(
        train_loss=train_totals[0] / data.train_targets,
        train_accuracy=train_totals[1] / data.train_targets,
        val_loss=val_totals[0] / data.val_targets,
        val_accuracy=accuracies[0],
        train_samples=data.train_targets,
        val_samples=data.val_targets,
        seeds={slot_id: report.stage.name for slot_id, report in model.slot_reports().items()},
        total_params=model.total_parameters,
    )
    train_loss, train_accuracy = metrics.train_loss, metrics.train_accuracy
    val_loss, val_accuracy = metrics.val_loss, metrics.val_accuracy
    penalty = 0.0
    restored = watch_host(env_state, metrics, setup=setup)
    if restored is not None:
        # The policy is to see the host that it has now, not the one that broke.
        train_loss = val_loss = restored.loss
        train_accuracy = val_accuracy = restored.accuracy
        penalty = DEFAULT_GOVERNOR_DEATH_PENALTY
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
    reports = model.slot_reports()
    return EnvObservation(
        metrics=metrics,
        matrix=matrix,
        turn=detect_progress(before, signals),
        anomalies=setup.reporter.detector.check_host(metrics.train_loss, metrics.val_loss),
        penalty=penalty,
        signals=signals,
        reports=reports,
        masks=legal_actions(reports, setup=setup),
    )


def legal_actions(reports: Mapping[str, SeedStateReport], *, setup: RunSetup) -> ActionMasks:
    """Which choices an env has."""
    return compute_action_masks(
        build_slot_states(reports, setup.subject.slot_config),
        slot_config=setup.subject.slot_config,
        enabled_slots=setup.subject.slots,
        max_seeds=setup.config.max_seeds,
    )


def batch_signals_to_features(
    signals: Sequence[TrainingSignals],
    reports: Sequence[Mapping[str, SeedStateReport]],
    *,
    setup: RunSetup,
) -> Tensor:
    """Observation features [envs, features] of all envs."""
    return batch_obs_to_features(
        signals,
        reports,
        setup.subject.slot_config,
        host_params=setup.subject.host_params,
        device=setup.placement.policy_device,
    )


def choose_actions(
    round_state: RoundState,
    observations: Sequence[EnvObservation],
    *,
    agent,
    rule_based,
    setup: RunSetup,
) -> HostActions:
    """One batched policy call and one transfer of all heads; or what the rules say."""
    if agent is None:
        return HostActions.certain(
            [rule_based.decide(seen.signals, seen.reports, seen.masks) for seen in observations]
        )
    features = batch_signals_to_features(
        [seen.signals for seen in observations],
        [seen.reports for seen in observations],
        setup=setup,
    )
    masks = stack_action_masks([seen.masks for seen in observations], setup.placement.policy_device)
    noise = agent.draw_noise([env_state.action_generator for env_state in round_state.env_states])
    decision = agent.get_action(features, masks, round_state.hidden, noise)
    round_state.buffer.add(observations[0].signals.epoch - 1, features, masks, decision)
    round_state.hidden = decision.hidden
    return decision.to_host()
