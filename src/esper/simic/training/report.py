"""The events of a round's end, and the first and last of a run."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import nn

from esper.leyline.rollout import HostResult, RolloutResult
from esper.leyline.telemetry import (
    AnomalyDetected,
    EpisodeCompleted,
    RunCompleted,
    RunStarted,
    TelemetryEvent,
)
from esper.nissa import TelemetryHub
from esper.simic.agent import PPOAgent
from esper.simic.telemetry import LayerGradientStats, NumericalReport, TelemetryLevel, emitters
from esper.simic.training.reporter import Reporter, emit_anomaly_diagnostics, handle_telemetry_escalation
from esper.simic.training.result import RoundResult
from esper.simic.training.round_state import RoundState
from esper.simic.training.run_state import RunProgress, RunSetup
from esper.simic.training.runner import PolicyUpdate


def report_start(*, setup: RunSetup, progress: RunProgress, agent: PPOAgent | None) -> None:
    """Emit the run as configured."""
    data = RunStarted(
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
        device=", ".join(dict.fromkeys(str(env_device) for env_device in setup.placement.env_devices)),
        config=setup.config.outcome_settings(),
    )
    setup.reporter.hub.emit(TelemetryEvent(data))


def report_end(hub: TelemetryHub, *, progress: RunProgress, run_started: float) -> None:
    """Emit what the run came to."""
    data = RunCompleted(
        rounds=len(progress.rounds),
        env_steps=progress.env_steps,
        best_accuracy=progress.best_accuracy,
        final_accuracy=progress.final_accuracy,
        duration_s=time.perf_counter() - run_started,
    )
    hub.emit(TelemetryEvent(data))


@dataclass(frozen=True, slots=True)
class PolicyMeasures:
    """How a policy's gradients and numbers are looked at after an update."""

    collect_gradients: Callable[[nn.Module], list[LayerGradientStats]]
    check_stability: Callable[[nn.Module], NumericalReport]


@dataclass(frozen=True, slots=True)
class RoundReport:
    """Emits what a round came to, counts it, and adapts the level of telemetry to what was found."""

    reporter: Reporter
    progress: RunProgress
    host_params: int
    agent: PPOAgent | None
    measures: PolicyMeasures

    def report(self, round_state: RoundState, rollout: RolloutResult, updated: PolicyUpdate | None) -> None:
        """Take in one round, and what the policy learnt from it."""
        reporter, progress = self.reporter, self.progress
        hub, round_idx = reporter.hub, round_state.round_idx
        env_steps = len(round_state.rewards)
        ticker = self._report_episodes(round_state, rollout.hosts)
        progress.final_accuracy = ticker["mean_accuracy"]
        progress.best_accuracy = max(progress.best_accuracy, ticker["best_accuracy"])
        if progress.rolling_accuracies:
            emitters.check_performance_degradation(
                hub, round_idx, progress.final_accuracy, statistics.fmean(progress.rolling_accuracies)
            )
        progress.rolling_accuracies.append(progress.final_accuracy)
        if reporter.telemetry.wants(TelemetryLevel.NORMAL):
            emitters.emit_mask_hit_rates(hub, round_idx, round_state.mask_hits, env_steps)
            emitters.emit_action_distribution(
                hub, round_idx, round_state.action_counts, round_state.action_successes
            )
            emitters.emit_reward_summary(hub, round_idx, round_state.rewards, round_state.components)
        anomalies: list[AnomalyDetected] = []
        if self.agent is not None and updated is not None:
            anomalies = self._report_update(self.agent.policy, round_state, updated)
        emit_anomaly_diagnostics(hub, round_idx, anomalies)
        handle_telemetry_escalation(hub, reporter.telemetry, anomalies, round_idx=round_idx)
        rolling_accuracy = statistics.fmean(progress.rolling_accuracies)
        emitters.emit_batch_completed(hub, round_idx, ticker, rollout.hosts, rolling_accuracy)
        emitters.emit_throughput(
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
                policy_metrics=emitters.aggregate_ppo_metrics(
                    [] if updated is None else [updated.result.metrics]
                ),
            )
        )

    def _report_episodes(self, round_state: RoundState, hosts: Sequence[HostResult]) -> dict[str, float]:
        hub = self.reporter.hub
        for env_state, host in zip(round_state.env_states, hosts, strict=True):
            if env_state.matrix is not None and self.reporter.telemetry.wants(TelemetryLevel.NORMAL):
                shares = env_state.comparison.shapley(env_state.matrix)
                emitters.emit_shapley(hub, env_state, env_state.matrix, shares)
            data = EpisodeCompleted(
                final_accuracy=host.final_accuracy,
                best_accuracy=host.best_accuracy,
                episode_return=math.fsum(env_state.rewards),
                germinated=host.germinated,
                fossilized=host.fossilized,
                pruned=host.pruned,
                rollbacks=host.rollbacks,
                total_params=host.total_params,
                host_params=self.host_params,
            )
            emitters.emit_with_env_context(hub, env_state, data)
        return emitters.aggregate_ticker_metrics(
            hosts, [env_state.rewards for env_state in round_state.env_states]
        )

    def _report_update(
        self, policy: nn.Module, round_state: RoundState, updated: PolicyUpdate
    ) -> list[AnomalyDetected]:
        reporter, round_idx = self.reporter, round_state.round_idx
        layer_stats = self.measures.collect_gradients(policy)
        stability = self.measures.check_stability(policy)
        emitters.emit_ppo_update_event(
            reporter.hub,
            round_idx,
            updated.result,
            entropy_coef=round_state.entropy_coef,
            grad_norm_surrogate=emitters.compute_grad_norm_surrogate(layer_stats),
            duration_s=updated.seconds,
        )
        anomalies = reporter.detector.check_update(updated.result, stability)
        gradient_health = emitters.aggregate_layer_gradient_health(layer_stats)
        wanted = bool(anomalies) or reporter.telemetry.wants(TelemetryLevel.DEBUG)
        if gradient_health is not None and wanted:
            reporter.hub.emit(TelemetryEvent(data=gradient_health, round=round_idx, severity="debug"))
        return anomalies
