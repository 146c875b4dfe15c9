"""The specification's home of seed handling and bookkeeping; each function lives where it is used."""

from esper.kasmina.lifecycle import advance_active_seed as advance_active_seed
from esper.kasmina.lifecycle import resolve_target_slot as resolve_target_slot
from esper.simic.telemetry.emitters import aggregate_ppo_metrics as aggregate_ppo_metrics
from esper.simic.training.reporter import calculate_entropy_anneal_steps as calculate_entropy_anneal_steps
from esper.simic.training.reporter import emit_anomaly_diagnostics as emit_anomaly_diagnostics
from esper.simic.training.reporter import handle_telemetry_escalation as handle_telemetry_escalation
from esper.simic.training.runner import run_ppo_updates as run_ppo_updates
