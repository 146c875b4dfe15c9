"""The specification's home of seed handling and bookkeeping; each function lives where it is used."""

from esper.kasmina.lifecycle import advance_active_seed, resolve_target_slot
from esper.simic.telemetry.emitters import aggregate_ppo_metrics
from esper.simic.training.reporter import (
    calculate_entropy_anneal_steps,
    emit_anomaly_diagnostics,
    handle_telemetry_escalation,
)
from esper.simic.training.runner import run_ppo_updates

__all__ = [
    "advance_active_seed",
    "aggregate_ppo_metrics",
    "calculate_entropy_anneal_steps",
    "emit_anomaly_diagnostics",
    "handle_telemetry_escalation",
    "resolve_target_slot",
    "run_ppo_updates",
]
