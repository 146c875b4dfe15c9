"""Annealing, anomalies and the level of telemetry around the training loop."""

from __future__ import annotations

from collections.abc import Sequence

from esper.leyline.telemetry import AnomalyDetected, TelemetryEvent, TelemetryLevelChanged
from esper.nissa import TelemetryHub
from esper.simic.telemetry import TelemetryConfig


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
        hub.emit(
            TelemetryEvent(
                data=TelemetryLevelChanged(level=level, reason=reason), round=round_idx, epoch=epoch
            )
        )


def emit_anomaly_diagnostics(hub: TelemetryHub, round_idx: int, anomalies: Sequence[AnomalyDetected]) -> None:
    """Emit one event per anomaly."""
    for anomaly in anomalies:
        hub.emit(TelemetryEvent(data=anomaly, round=round_idx, severity="warning"))
