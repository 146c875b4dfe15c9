"""The ends of a round and of a run: update the policy, report, save."""

from __future__ import annotations

import math
import statistics
import time

from esper.leyline.telemetry import (
    AnomalyDetected,
    EpisodeCompleted,
    RunCompleted,
    RunStarted,
    TelemetryEvent,
)
from esper.simic.agent import PPOUpdateResult
from esper.simic.telemetry import TelemetryLevel
from esper.simic.telemetry.emitters import (
    _aggregate_layer_gradient_health,
    _apply_slot_telemetry,
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
from esper.simic.training.helpers import _emit_anomaly_diagnostics, _handle_telemetry_escalation
from esper.simic.telemetry.aggregation import aggregate_ticker_metrics
from esper.simic.training.runner import run_ppo_updates
from esper.simic.training.observation import batch_signals_to_features
from esper.simic.training.result import RoundResult
from esper.simic.training.run_state import ActionExecutionResult, RoundState, RunProgress, RunSetup
from esper.tolaria.runtime import CUDATimer


def update_policy(
    round_state: RoundState,
    last: ActionExecutionResult,
    *,
    agent,
    setup: RunSetup,
    progress: RunProgress,
) -> tuple[PPOUpdateResult, float] | None:
    """Learn from the round; None for a policy that does not learn.

    The states after the last actions count where the time limit cut an episode off, and not where its end
    was paid for.
    """
    if agent is None:
        return None
    features = batch_signals_to_features(last.post_action_signals, last.post_action_slot_reports, setup=setup)
    bootstrap_values = agent.bootstrap_values(features, round_state.hidden)
    updated = run_ppo_updates(
        agent,
        round_state.buffer,
        bootstrap_values,
        entropy_coef=round_state.entropy_coef,
        timer=CUDATimer(setup.placement.policy_device),
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
    setup: RunSetup,
) -> list[AnomalyDetected]:
    """Emit what a policy update did; what is wrong with it."""
    layer_stats = collect_per_layer_gradients(agent.policy)
    stability = check_numerical_stability(agent.policy)
    _emit_ppo_update_event(
        setup.reporter.hub,
        round_state.round_idx,
        update,
        entropy_coef=round_state.entropy_coef,
        grad_norm_surrogate=_compute_grad_norm_surrogate(layer_stats),
        duration_s=update_s,
    )
    anomalies = setup.reporter.detector.check_update(update, stability)
    gradient_health = _aggregate_layer_gradient_health(layer_stats)
    wanted = bool(anomalies) or setup.reporter.telemetry.wants(TelemetryLevel.DEBUG)
    if gradient_health is not None and wanted:
        setup.reporter.hub.emit(
            TelemetryEvent(data=gradient_health, round=round_state.round_idx, severity="debug")
        )
    return anomalies


def report_episodes(round_state: RoundState, *, setup: RunSetup) -> dict[str, float]:
    """Emit what every env came to, and the round's means and sums."""
    for env_state in round_state.env_states:
        if env_state.matrix is not None and setup.reporter.telemetry.wants(TelemetryLevel.NORMAL):
            shares = env_state.comparison.shapley(env_state.matrix)
            _emit_shapley(setup.reporter.hub, env_state, env_state.matrix, shares)
        _emit_with_env_context(
            setup.reporter.hub,
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
                host_params=setup.subject.host_params,
            ),
        )
    return aggregate_ticker_metrics(round_state.env_states)


def report_round(
    round_state: RoundState,
    updated: tuple[PPOUpdateResult, float] | None,
    *,
    setup: RunSetup,
    progress: RunProgress,
    collect_per_layer_gradients,
    agent,
    check_numerical_stability,
) -> None:
    """Emit a finished round, count it, and adapt the level of telemetry to what was found."""
    hub, round_idx = setup.reporter.hub, round_state.round_idx
    env_steps = len(round_state.rewards)
    ticker = report_episodes(round_state, setup=setup)
    progress.final_accuracy = ticker["mean_accuracy"]
    progress.best_accuracy = max(progress.best_accuracy, ticker["best_accuracy"])
    if progress.rolling_accuracies:
        _check_performance_degradation(
            hub, round_idx, progress.final_accuracy, statistics.fmean(progress.rolling_accuracies)
        )
    progress.rolling_accuracies.append(progress.final_accuracy)
    if setup.reporter.telemetry.wants(TelemetryLevel.NORMAL):
        _emit_mask_hit_rates(hub, round_idx, round_state.mask_hits, env_steps)
        _emit_action_distribution(hub, round_idx, round_state.action_counts, round_state.action_successes)
        _emit_reward_summary(hub, round_idx, round_state.rewards, round_state.components)
    anomalies = (
        []
        if updated is None
        else report_update(
            round_state,
            *updated,
            collect_per_layer_gradients=collect_per_layer_gradients,
            agent=agent,
            check_numerical_stability=check_numerical_stability,
            setup=setup,
        )
    )
    _emit_anomaly_diagnostics(hub, round_idx, anomalies)
    _handle_telemetry_escalation(hub, setup.reporter.telemetry, anomalies, round_idx=round_idx)
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
    for env_state in round_state.env_states:
        # Slots and their env know each other; let go, so that hosts are freed as soon as they are replaced.
        _apply_slot_telemetry(env_state.model, None)


def save_checkpoint(rounds: int, *, agent, setup: RunSetup, progress: RunProgress) -> None:
    """Write all that the next round follows from, if that was asked for."""
    if agent is None or setup.config.save is None:
        return
    agent.save(
        setup.config.save,
        TrainingProgress(
            settings=setup.config.outcome_settings(),
            rounds=rounds,
            reward_normalizer=progress.reward_normalizer.state_dict(),
            rolling_accuracies=list(progress.rolling_accuracies),
            best_accuracy=progress.best_accuracy,
            escalated_epochs=setup.reporter.telemetry.escalated_epochs,
            anomaly_detector=setup.reporter.detector.state_dict(),
        ).model_dump(),
    )


def report_start(*, setup: RunSetup, progress: RunProgress, agent) -> None:
    """Emit the run as configured."""
    setup.reporter.hub.emit(
        TelemetryEvent(
            data=RunStarted(
                task=setup.subject.task_spec.name,
                seed=setup.config.seed,
                first_round=progress.first_round,
                rounds=setup.config.rounds,
                envs=setup.config.envs,
                episode_length=setup.config.episode_length,
                slots=setup.subject.slots,
                host_params=setup.subject.host_params,
                policy_params=0 if agent is None else agent.parameter_count,
                train_images=setup.subject.data.train_size,
                val_images=setup.subject.data.val_size,
                device=", ".join(
                    dict.fromkeys(str(env_device) for env_device in setup.placement.env_devices)
                ),
                config=setup.config.outcome_settings(),
            )
        )
    )


def report_end(*, setup: RunSetup, progress: RunProgress, run_started) -> None:
    """Emit what the run came to."""
    setup.reporter.hub.emit(
        TelemetryEvent(
            data=RunCompleted(
                rounds=len(progress.rounds),
                env_steps=progress.env_steps,
                best_accuracy=progress.best_accuracy,
                final_accuracy=progress.final_accuracy,
                duration_s=time.perf_counter() - run_started,
            )
        )
    )
