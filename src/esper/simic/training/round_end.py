"""The end of a round: update the policy, report, save."""

from __future__ import annotations

import math
import statistics
import time

from esper.leyline.telemetry import AnomalyDetected, EpisodeCompleted, TelemetryEvent
from esper.simic.agent import PPOUpdateResult
from esper.simic.telemetry import TelemetryLevel
from esper.simic.telemetry.emitters import (
    _aggregate_layer_gradient_health,
    _check_performance_degradation,
    _compute_grad_norm_surrogate,
    _emit_action_distribution,
    _emit_batch_completed,
    _emit_mask_hit_rates,
    _emit_ppo_update_event,
    _emit_reward_summary,
    _emit_shapley,
    _emit_throughput,
    _emit_with_env_context,
)
from esper.simic.training.checkpoint import TrainingProgress
from esper.simic.training.config import TrainingConfig
from esper.simic.training.helpers import _emit_anomaly_diagnostics, _handle_telemetry_escalation
from esper.simic.telemetry.aggregation import aggregate_ticker_metrics
from esper.simic.training.runner import run_ppo_updates
from esper.simic.training.observation import batch_signals_to_features
from esper.simic.training.result import RoundResult
from esper.simic.training.run_state import ActionExecutionResult, RoundState
from esper.tolaria.runtime import CUDATimer


def update_policy(
    round_state: RoundState,
    last: ActionExecutionResult,
    *,
    agent,
    subject,
    placement,
    progress,
) -> tuple[PPOUpdateResult, float] | None:
    """Learn from the round; None for a policy that does not learn.

    Episodes end by their time limit, so the states after the last actions still have a value.
    """
    if agent is None:
        return None
    features = batch_signals_to_features(
        last.post_action_signals,
        last.post_action_slot_reports,
        subject=subject,
        placement=placement,
    )
    bootstrap_values = agent.bootstrap_values(features, round_state.hidden)
    updated = run_ppo_updates(
        agent,
        round_state.buffer,
        bootstrap_values,
        entropy_coef=round_state.entropy_coef,
        timer=CUDATimer(placement.policy_device),
    )
    progress.reward_normalizer.update(round_state.rewards)
    return updated


def report_update(
    round_state: RoundState,
    update: PPOUpdateResult,
    update_s: float,
    *,
    collect_per_layer_gradients,
    agent,
    check_numerical_stability,
    reporter,
) -> list[AnomalyDetected]:
    """Emit what a policy update did; what is wrong with it."""
    layer_stats = collect_per_layer_gradients(agent.policy)
    stability = check_numerical_stability(agent.policy)
    _emit_ppo_update_event(
        reporter.hub,
        round_state.round_idx,
        update,
        entropy_coef=round_state.entropy_coef,
        grad_norm_surrogate=_compute_grad_norm_surrogate(layer_stats),
        duration_s=update_s,
    )
    anomalies = reporter.detector.check_update(update, stability)
    gradient_health = _aggregate_layer_gradient_health(layer_stats)
    wanted = bool(anomalies) or reporter.telemetry.wants(TelemetryLevel.DEBUG)
    if gradient_health is not None and wanted:
        reporter.hub.emit(
            TelemetryEvent(data=gradient_health, round=round_state.round_idx, severity="debug")
        )
    return anomalies


def report_episodes(round_state: RoundState, *, reporter, subject) -> dict[str, float]:
    """Emit what every env came to, and the round's means and sums."""
    for env_state in round_state.env_states:
        if env_state.matrix is not None and reporter.telemetry.wants(TelemetryLevel.NORMAL):
            shares = env_state.comparison.shapley(env_state.matrix)
            _emit_shapley(reporter.hub, env_state, env_state.matrix, shares)
        _emit_with_env_context(
            reporter.hub,
            env_state,
            EpisodeCompleted(
                final_accuracy=env_state.val_accuracy,
                best_accuracy=env_state.best_accuracy,
                episode_return=math.fsum(env_state.rewards),
                germinated=env_state.model.germinated,
                fossilized=env_state.model.fossilized,
                pruned=env_state.model.pruned,
                rollbacks=env_state.rollbacks,
                total_params=env_state.model.total_parameters,
                host_params=subject.host_params,
            ),
        )
    return aggregate_ticker_metrics(round_state.env_states)


def report_round(
    round_state: RoundState,
    updated: tuple[PPOUpdateResult, float] | None,
    *,
    reporter,
    subject,
    progress,
    collect_per_layer_gradients,
    agent,
    check_numerical_stability,
) -> None:
    """Emit a finished round, count it, and adapt the level of telemetry to what was found."""
    hub, round_idx = reporter.hub, round_state.round_idx
    env_steps = len(round_state.rewards)
    ticker = report_episodes(round_state, reporter=reporter, subject=subject)
    progress.final_accuracy = ticker["mean_accuracy"]
    progress.best_accuracy = max(progress.best_accuracy, ticker["best_accuracy"])
    if progress.rolling_accuracies:
        _check_performance_degradation(
            hub, round_idx, progress.final_accuracy, statistics.fmean(progress.rolling_accuracies)
        )
    progress.rolling_accuracies.append(progress.final_accuracy)
    if reporter.telemetry.wants(TelemetryLevel.NORMAL):
        _emit_mask_hit_rates(hub, round_idx, round_state.mask_hits, env_steps)
        _emit_action_distribution(hub, round_idx, round_state.action_counts, round_state.action_successes)
        _emit_reward_summary(hub, round_idx, round_state.rewards, round_state.components)
    anomalies = [] if updated is None else report_update(
        round_state,
        *updated,
        collect_per_layer_gradients=collect_per_layer_gradients,
        agent=agent,
        check_numerical_stability=check_numerical_stability,
        reporter=reporter,
    )
    _emit_anomaly_diagnostics(hub, round_idx, anomalies)
    _handle_telemetry_escalation(hub, reporter.telemetry, anomalies, round_idx=round_idx)
    _emit_batch_completed(
        hub, round_idx, ticker, round_state.env_states, statistics.fmean(progress.rolling_accuracies)
    )
    _emit_throughput(
        hub,
        round_idx,
        env_steps=env_steps,
        images=round_state.images,
        duration_s=time.perf_counter() - round_state.started,
        phase_s=round_state.phase_s,
    )
    progress.rounds.append(
        RoundResult(
            accuracies=tuple(env_state.val_accuracy for env_state in round_state.env_states),
            returns=tuple(math.fsum(env_state.rewards) for env_state in round_state.env_states),
            policy_metrics={} if updated is None else dict(updated[0].metrics),
        )
    )


def save_checkpoint(rounds: int, *, agent, config: TrainingConfig, progress, reporter) -> None:
    """Write all that the next round follows from, if that was asked for."""
    if agent is None or config.save is None:
        return
    agent.save(
        config.save,
        TrainingProgress(
            settings=config.outcome_settings(),
            rounds=rounds,
            reward_normalizer=progress.reward_normalizer.state_dict(),
            rolling_accuracies=list(progress.rolling_accuracies),
            best_accuracy=progress.best_accuracy,
            escalated_epochs=reporter.telemetry.escalated_epochs,
            anomaly_detector=reporter.detector.state_dict(),
        ).model_dump(),
    )
