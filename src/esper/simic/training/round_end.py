"""The ends of a round and of a run: update the policy, report, save."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import nn

from esper.leyline.errors import naming_flag
from esper.leyline.rollout import HostResult, RolloutResult
from esper.leyline.telemetry import (
    AnomalyDetected,
    EpisodeCompleted,
    RunCompleted,
    RunStarted,
    TelemetryEvent,
)
from esper.simic.agent import PPOAgent, PPOUpdateResult
from esper.simic.telemetry import LayerGradientStats, NumericalReport, TelemetryLevel
from esper.simic.telemetry.aggregation import aggregate_ppo_metrics, aggregate_ticker_metrics
from esper.simic.telemetry.emitters import (
    aggregate_layer_gradient_health,
    check_performance_degradation,
    compute_grad_norm_surrogate,
    emit_action_distribution,
    emit_batch_completed,
    emit_mask_hit_rates,
    emit_ppo_update_event,
    emit_reward_summary,
    emit_shapley,
    emit_throughput,
    emit_with_env_context,
)
from esper.simic.training.checkpoint import TrainingProgress
from esper.simic.training.helpers import emit_anomaly_diagnostics, handle_telemetry_escalation
from esper.simic.training.observation import batch_signals_to_features
from esper.simic.training.result import RoundResult
from esper.simic.training.run_state import ActionExecutionResult, RoundState, RunProgress, RunSetup
from esper.simic.training.runner import run_ppo_updates
from esper.tolaria.runtime import CUDATimer


@dataclass(frozen=True, slots=True)
class PolicyMeasures:
    """How a policy's gradients and numbers are looked at after an update."""

    collect_gradients: Callable[[nn.Module], list[LayerGradientStats]]
    check_stability: Callable[[nn.Module], NumericalReport]


@dataclass(frozen=True, slots=True)
class PolicyUpdate:
    """What came of an update, the seconds it took on its device, and those with all around it."""

    result: PPOUpdateResult
    seconds: float
    phase_s: float


def update_policy(
    round_state: RoundState,
    last: ActionExecutionResult,
    *,
    agent: PPOAgent,
    setup: RunSetup,
    progress: RunProgress,
) -> PolicyUpdate:
    """Learn from the round.

    The states after the last actions count where the time limit cut an episode off, and not where its end
    was paid for.
    """
    started = time.perf_counter()
    features = batch_signals_to_features(last.post_action_signals, last.post_action_slot_reports, setup=setup)
    bootstrap_values = agent.bootstrap_values(features, round_state.hidden)
    result, seconds = run_ppo_updates(
        agent,
        round_state.buffer,
        bootstrap_values,
        entropy_coef=round_state.entropy_coef,
        timer=CUDATimer(setup.placement.policy_device),
    )
    progress.reward_normalizer.update(round_state.rewards)
    return PolicyUpdate(result, seconds, time.perf_counter() - started)


def report_update(
    round_state: RoundState,
    updated: PolicyUpdate,
    *,
    agent: PPOAgent,
    measures: PolicyMeasures,
    setup: RunSetup,
) -> list[AnomalyDetected]:
    """Emit what a policy update did; what is wrong with it."""
    layer_stats = measures.collect_gradients(agent.policy)
    stability = measures.check_stability(agent.policy)
    emit_ppo_update_event(
        setup.reporter.hub,
        round_state.round_idx,
        updated.result,
        entropy_coef=round_state.entropy_coef,
        grad_norm_surrogate=compute_grad_norm_surrogate(layer_stats),
        duration_s=updated.seconds,
    )
    anomalies = setup.reporter.detector.check_update(updated.result, stability)
    gradient_health = aggregate_layer_gradient_health(layer_stats)
    wanted = bool(anomalies) or setup.reporter.telemetry.wants(TelemetryLevel.DEBUG)
    if gradient_health is not None and wanted:
        setup.reporter.hub.emit(
            TelemetryEvent(data=gradient_health, round=round_state.round_idx, severity="debug")
        )
    return anomalies


def report_episodes(
    round_state: RoundState, hosts: Sequence[HostResult], *, setup: RunSetup
) -> dict[str, float]:
    """Emit what every env came to, and the round's means and sums."""
    for env_state, host in zip(round_state.env_states, hosts, strict=True):
        if env_state.matrix is not None and setup.reporter.telemetry.wants(TelemetryLevel.NORMAL):
            shares = env_state.comparison.shapley(env_state.matrix)
            emit_shapley(setup.reporter.hub, env_state, env_state.matrix, shares)
        emit_with_env_context(
            setup.reporter.hub,
            env_state,
            EpisodeCompleted(
                final_accuracy=host.final_accuracy,
                best_accuracy=host.best_accuracy,
                episode_return=math.fsum(env_state.rewards),
                germinated=host.germinated,
                fossilized=host.fossilized,
                pruned=host.pruned,
                rollbacks=host.rollbacks,
                total_params=host.total_params,
                host_params=setup.subject.host_params,
            ),
        )
    return aggregate_ticker_metrics(hosts, [env_state.rewards for env_state in round_state.env_states])


def report_round(
    round_state: RoundState,
    rollout: RolloutResult,
    updated: PolicyUpdate | None,
    *,
    setup: RunSetup,
    progress: RunProgress,
    agent: PPOAgent | None,
    measures: PolicyMeasures,
) -> None:
    """Emit a finished round, count it, and adapt the level of telemetry to what was found."""
    hub, round_idx = setup.reporter.hub, round_state.round_idx
    env_steps = len(round_state.rewards)
    ticker = report_episodes(round_state, rollout.hosts, setup=setup)
    progress.final_accuracy = ticker["mean_accuracy"]
    progress.best_accuracy = max(progress.best_accuracy, ticker["best_accuracy"])
    if progress.rolling_accuracies:
        check_performance_degradation(
            hub, round_idx, progress.final_accuracy, statistics.fmean(progress.rolling_accuracies)
        )
    progress.rolling_accuracies.append(progress.final_accuracy)
    if setup.reporter.telemetry.wants(TelemetryLevel.NORMAL):
        emit_mask_hit_rates(hub, round_idx, round_state.mask_hits, env_steps)
        emit_action_distribution(hub, round_idx, round_state.action_counts, round_state.action_successes)
        emit_reward_summary(hub, round_idx, round_state.rewards, round_state.components)
    anomalies: list[AnomalyDetected] = []
    if agent is not None and updated is not None:
        anomalies = report_update(round_state, updated, agent=agent, measures=measures, setup=setup)
    emit_anomaly_diagnostics(hub, round_idx, anomalies)
    handle_telemetry_escalation(hub, setup.reporter.telemetry, anomalies, round_idx=round_idx)
    emit_batch_completed(hub, round_idx, ticker, rollout.hosts, statistics.fmean(progress.rolling_accuracies))
    emit_throughput(
        hub,
        round_idx,
        env_steps=env_steps,
        images=rollout.images,
        duration_s=time.perf_counter() - round_state.started,
        phase_s={**rollout.phase_s, "update": 0.0 if updated is None else updated.phase_s},
    )
    progress.rounds.append(
        RoundResult(
            accuracies=tuple(host.final_accuracy for host in rollout.hosts),
            returns=tuple(math.fsum(env_state.rewards) for env_state in round_state.env_states),
            policy_metrics=aggregate_ppo_metrics([] if updated is None else [updated.result.metrics]),
        )
    )


def save_checkpoint(rounds: int, *, agent: PPOAgent | None, setup: RunSetup, progress: RunProgress) -> None:
    """Write all that the next round follows from, if that was asked for."""
    if agent is None or setup.config.save is None:
        return
    saved = TrainingProgress(
        settings=setup.config.outcome_settings(),
        rounds=rounds,
        reward_normalizer=progress.reward_normalizer.state_dict(),
        rolling_accuracies=list(progress.rolling_accuracies),
        best_accuracy=progress.best_accuracy,
        escalated_epochs=setup.reporter.telemetry.escalated_epochs,
        anomaly_detector=setup.reporter.detector.state_dict(),
    )
    with naming_flag("--save"):
        agent.save(setup.config.save, saved.model_dump())


def report_start(*, setup: RunSetup, progress: RunProgress, agent: PPOAgent | None) -> None:
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


def report_end(*, setup: RunSetup, progress: RunProgress, run_started: float) -> None:
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
