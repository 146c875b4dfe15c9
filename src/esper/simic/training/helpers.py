"""Seeds, bookkeeping and escalation around the training loop."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from esper.kasmina import MorphogeneticModel
from esper.leyline import SeedStage, SlotConfig
from esper.leyline.telemetry import AnomalyDetected, TelemetryEvent, TelemetryLevelChanged
from esper.nissa import TelemetryHub
from esper.simic.agent import PPOAgent, PPOUpdateResult, RolloutBuffer
from esper.simic.telemetry import NumericalReport, TelemetryConfig
from esper.tolaria.runtime import CUDATimer

if TYPE_CHECKING:
    from esper.simic.training.parallel_env_state import ParallelEnvState


KL_ALARM = 0.5


def _calculate_entropy_anneal_steps(anneal_episodes: int, envs: int) -> int:
    """Policy updates over which the entropy bonus falls: one update follows `envs` episodes, rounded up."""
    return -(-anneal_episodes // envs)


def _handle_telemetry_escalation(
    hub: TelemetryHub, telemetry_config: TelemetryConfig, round_idx: int, anomalies: Sequence[AnomalyDetected]
) -> None:
    """Raise the telemetry level after an anomaly; count down and let it fall back in rounds without one."""
    if anomalies:
        changed = telemetry_config.escalate()
        reason = ", ".join(sorted({anomaly.kind for anomaly in anomalies}))
    else:
        changed = telemetry_config.finish_round()
        reason = "no anomaly for a while"
    if changed:
        level = telemetry_config.effective_level.name.lower()
        hub.emit(TelemetryEvent(data=TelemetryLevelChanged(level=level, reason=reason), round=round_idx))


def _find_update_anomalies(update: PPOUpdateResult, stability: NumericalReport) -> list[AnomalyDetected]:
    """What is wrong with a policy after an update."""
    anomalies: list[AnomalyDetected] = []
    if not stability.stable:
        anomalies.append(
            AnomalyDetected(
                kind="numerical_instability",
                detail=", ".join((*stability.parameters, *stability.gradients)),
                values={
                    "parameters": float(len(stability.parameters)),
                    "gradients": float(len(stability.gradients)),
                },
            )
        )
    if update.skipped:
        anomalies.append(AnomalyDetected(kind="update_skipped", detail=update.skipped, values={}))
    approx_kl = update.metrics.get("approx_kl", 0.0)
    if approx_kl > KL_ALARM:
        anomalies.append(
            AnomalyDetected(
                kind="policy_jump", detail="the policy moved far", values={"approx_kl": approx_kl}
            )
        )
    return anomalies


def _emit_anomaly_diagnostics(
    hub: TelemetryHub, round_idx: int, anomalies: Sequence[AnomalyDetected]
) -> None:
    """Emit one event per anomaly."""
    for anomaly in anomalies:
        hub.emit(TelemetryEvent(data=anomaly, round=round_idx, severity="warning"))
