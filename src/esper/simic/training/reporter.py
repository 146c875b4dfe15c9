"""Where the agent's side tells what happens, how much of it, and what it does about anomalies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from esper.leyline.rollout import ActionOutcome, HostEvent
from esper.leyline.telemetry import AnomalyDetected, GovernorRollback, TelemetryEvent, TelemetryLevelChanged
from esper.nissa import TelemetryHub
from esper.simic.agent.rollout import Decision, StepReward
from esper.simic.rewards import ScaffoldCredit
from esper.simic.telemetry import AnomalyDetector, TelemetryConfig, TelemetryLevel
from esper.simic.telemetry.emitters import (
    apply_slot_telemetry,
    emit_cf_unavailable,
    emit_counterfactual,
    emit_last_action,
    emit_scaffold_credits,
    emit_with_env_context,
)
from esper.simic.training.round_state import EnvObservation, ParallelEnvState, RoundState


def calculate_entropy_anneal_steps(anneal_episodes: int, envs: int) -> int:
    """Policy updates over which the entropy bonus falls: one update follows `envs` episodes, rounded up."""
    return -(-anneal_episodes // envs)


def handle_telemetry_escalation(
    hub: TelemetryHub,
    telemetry_config: TelemetryConfig,
    anomalies: Sequence[AnomalyDetected],
    *,
    round_idx: int,
    epoch: int | None = None,
) -> None:
    """Raise the telemetry level after an anomaly; count down and let it fall back in epochs without one."""
    changed = False
    reason = "no anomaly for a while"
    if anomalies:
        changed = telemetry_config.escalate()
        reason = ", ".join(sorted({anomaly.kind for anomaly in anomalies}))
    elif epoch is not None:
        changed = telemetry_config.finish_epoch()
    if changed:
        level = telemetry_config.effective_level.name.lower()
        data = TelemetryLevelChanged(level=level, reason=reason)
        hub.emit(TelemetryEvent(data, round=round_idx, epoch=epoch))


def emit_anomaly_diagnostics(hub: TelemetryHub, round_idx: int, anomalies: Sequence[AnomalyDetected]) -> None:
    """Emit one event per anomaly."""
    for anomaly in anomalies:
        hub.emit(TelemetryEvent(data=anomaly, round=round_idx, severity="warning"))


@dataclass(frozen=True, slots=True)
class Reporter:
    """Where events go, how much is told, and what counts as trouble."""

    hub: TelemetryHub
    telemetry: TelemetryConfig
    detector: AnomalyDetector

    @property
    def gradient_stride(self) -> int | None:
        """Of every how many batches the gradients of hosts are told, None for none."""
        return self.telemetry.gradient_stride if self.telemetry.wants(TelemetryLevel.DEBUG) else None

    def report_host_events(self, env_state: ParallelEnvState, events: Sequence[HostEvent]) -> None:
        """Emit what happened in a host besides training."""
        for event in events:
            if isinstance(event, GovernorRollback):
                emit_with_env_context(self.hub, env_state, event, severity="warning")
            else:
                apply_slot_telemetry(self.hub, self.telemetry, env_state, event.slot_id, event.payload)

    def report_env_step(
        self,
        env_state: ParallelEnvState,
        seen: EnvObservation,
        decision: Decision,
        reward: StepReward,
        outcome: ActionOutcome,
        credits: Sequence[ScaffoldCredit] | None,
    ) -> None:
        """Emit an epoch of one env, and what was done about it; credits where the reward mode pays them."""
        if not self.telemetry.wants(TelemetryLevel.NORMAL):
            return
        if credits is not None:
            emit_scaffold_credits(self.hub, env_state, credits)
        metrics = seen.host.metrics
        if env_state.matrix is not None:
            emit_counterfactual(self.hub, env_state, env_state.matrix)
        elif metrics.seeds:
            emit_cf_unavailable(self.hub, env_state, "no seed changes the output", tuple(metrics.seeds))
        emit_with_env_context(self.hub, env_state, metrics)
        if seen.turn is not None:
            emit_with_env_context(self.hub, env_state, seen.turn)
        emit_last_action(self.hub, env_state, decision, reward, outcome, seen.masks)

    def report_anomalies(self, round_state: RoundState) -> None:
        """Emit what is wrong with hosts after an epoch, and adapt the level of telemetry to it."""
        anomalies: list[AnomalyDetected] = []
        for env_state, seen in zip(round_state.env_states, round_state.step.observations, strict=True):
            for anomaly in seen.anomalies:
                emit_with_env_context(self.hub, env_state, anomaly, severity="warning")
                anomalies.append(anomaly)
        handle_telemetry_escalation(
            self.hub,
            self.telemetry,
            anomalies,
            round_idx=round_state.round_idx,
            epoch=round_state.env_states[0].epoch,
        )
