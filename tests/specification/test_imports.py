"""The imports that the specification names, verbatim, each in a fresh interpreter's namespace."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
IMPORTS = """\
from esper.simic import train_ppo_vectorized, ParallelEnvState, advance_active_seed, resolve_target_slot, \
calculate_entropy_anneal_steps, aggregate_ppo_metrics, run_ppo_updates
from esper.simic.parallel_env_state import ParallelEnvState
from esper.simic.seed_management import advance_active_seed, resolve_target_slot, \
calculate_entropy_anneal_steps, aggregate_ppo_metrics, run_ppo_updates, handle_telemetry_escalation, \
emit_anomaly_diagnostics
from esper.simic.training.env_factory import make_telemetry_callback, configure_slot_telemetry, \
create_env_state
from esper.simic.training.batch_ops import process_train_batch, process_val_batch, batch_signals_to_features
from esper.simic.training.counterfactual_eval import process_fused_val_batch
from esper.simic.agent.ppo import PPOAgent
from esper.simic.ppo import PPOAgent
from esper.simic.debug_telemetry import LayerGradientStats
from esper.simic.telemetry_config import TelemetryConfig, TelemetryLevel
from esper.simic.anomaly_detector import AnomalyReport
from esper.simic.normalization import RunningMeanStd
from esper.leyline import TelemetryEvent, TelemetryEventType
from esper.tolaria import TolariaGovernor
"""
LINES = IMPORTS.splitlines()


@pytest.mark.parametrize("line", LINES, ids=[line.split()[1] for line in LINES])
def test_the_import_works(line: str) -> None:
    namespace: dict[str, object] = {}
    exec(line, namespace)  # the line itself is the specification
    for name in line.split(" import ")[1].split(", "):
        assert callable(namespace[name])


def test_the_names_are_those_of_the_trainer() -> None:
    """Thin homes hand on what the trainer itself uses."""
    homes = {
        ("esper.simic", "train_ppo_vectorized"): "esper.simic.training.vectorized",
        ("esper.simic.parallel_env_state", "ParallelEnvState"): "esper.simic.training.round_state",
        ("esper.simic.ppo", "PPOAgent"): "esper.simic.agent",
        ("esper.simic.training.batch_ops", "process_train_batch"): "esper.tolaria.hosts",
        ("esper.simic.normalization", "RunningMeanStd"): "esper.simic.control",
    }
    for (thin, name), home in homes.items():
        assert getattr(importlib.import_module(thin), name) is getattr(importlib.import_module(home), name)


@pytest.mark.slow
def test_the_benchmark_runs_by_its_specified_path() -> None:
    command = [sys.executable, "scripts/benchmark_hot_path.py", "--rounds", "1", "--episode-length", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    [line] = [line for line in done.stderr.splitlines() if "error: " in line]
    assert "--episode-length 2: seeds are grown by epoch 12" in line
