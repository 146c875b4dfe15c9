"""Vectorised recurrent-PPO training of a policy that grows modules inside image classifiers.

Inner loop: N hosts train from scratch in lockstep, each an env with its own model, optimizers and
random state. Outer loop: the policy looks at every host once per host epoch and acts on one of its
slots. One round is N fresh hosts times L env-steps, then one policy update.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
import torch.amp as torch_amp
from torch import Tensor

from esper.kasmina import GateConfig, ModelSnapshot, MorphogeneticModel, gate_config
from esper.leyline import (
    ALPHA_CURVE_CHOICES,
    ALPHA_SPEED_NAMES,
    ALPHA_SPEED_STEPS,
    ALPHA_TARGET_VALUES,
    BLUEPRINT_NAMES,
    CAUSAL_HEADS,
    DEFAULT_GOVERNOR_DEATH_PENALTY,
    HEAD_INDEX,
    HEAD_NAMES,
    OP_ADVANCE,
    OP_FOSSILIZE,
    OP_GERMINATE,
    OP_PRUNE,
    OP_SET_ALPHA_TARGET,
    OP_WAIT,
    STYLE_NAMES,
    TEMPO_NAMES,
    FactoredAction,
    LifecycleOp,
    SeedStage,
    SeedStateReport,
    SlotConfig,
    TrainingSignals,
)
from esper.leyline.task import Loading, TaskSpec
from esper.leyline.telemetry import (
    ActionDistribution,
    AnomalyDetected,
    BatchCompleted,
    CounterfactualComputed,
    CounterfactualUnavailable,
    EpisodeCompleted,
    EpochCompleted,
    GovernorRollback,
    HostGradientNorms,
    ImprovementDetected,
    LastAction,
    LayerGradientHealth,
    MaskHitRates,
    Payload,
    PerformanceDegradation,
    PlateauDetected,
    PPOUpdateCompleted,
    RewardSummary,
    RoundStarted,
    RunCompleted,
    RunStarted,
    ScaffoldCredited,
    SeedGateEvaluated,
    Severity,
    ShapleyComputed,
    TelemetryEvent,
    TelemetryLevelChanged,
    Throughput,
)
from esper.nissa import TelemetryHub, get_hub
from esper.simic.agent import HostActions, PPOAgent, PPOConfig, PPOUpdateResult, RolloutBuffer
from esper.simic.attribution import (
    SAMPLED_ORDERS,
    Comparison,
    CounterfactualMatrix,
    ShapleyValues,
    most_coalitions,
)
from esper.simic.control import RewardNormalizer
from esper.simic.rewards import (
    RewardConfig,
    RewardFamily,
    RewardInputs,
    RewardMode,
    ScaffoldCredit,
    ScaffoldLedger,
    compute_loss_reward,
    compute_rent_and_shock_inputs,
    compute_reward,
)
from esper.simic.telemetry import (
    EXPLODING_NORM,
    VANISHING_NORM,
    AnomalyDetector,
    LayerGradientStats,
    TelemetryConfig,
    TelemetryLevel,
    check_numerical_stability,
    collect_host_gradients_async,
    collect_per_layer_gradients,
    collect_seed_gradients_async,
    detect_progress,
    split_gradient_norms,
)
from esper.simic.training.checkpoint import TrainingProgress, read_progress
from esper.simic.training.config import TrainingConfig, resolve_loading, resolve_slots
from esper.simic.training.result import RoundResult, TrainingResult
from esper.tamiyo import (
    ActionMasks,
    HeuristicPolicy,
    Hidden,
    SignalTracker,
    batch_obs_to_features,
    build_slot_states,
    compute_action_masks,
    stack_action_masks,
)
from esper.tolaria.data import SharedBatchIterator, TrainingData, load_data
from esper.tolaria.governor import Governor, GovernorConfig, Healthy
from esper.tolaria.losses import count_correct, mean_loss, summed_loss
from esper.tolaria.models import create_model
from esper.tolaria.optimizers import backward, create_optimizer, reset_momentum, step_optimizers
from esper.tolaria.runtime import (
    CUDATimer,
    make_scaler,
    make_stream,
    on_stream,
    resolve_amp_dtype,
    resolve_device,
    resolve_env_devices,
    synchronise,
    timed,
    to_host,
)
from esper.tolaria.seeding import derive_generator, derive_seed
from esper.simic.telemetry.emitters import (
    _aggregate_layer_gradient_health,
    _apply_slot_telemetry,
    _check_performance_degradation,
    _compute_grad_norm_surrogate,
    _emit_action_distribution,
    _emit_batch_completed,
    _emit_cf_unavailable,
    _emit_counterfactual,
    _emit_last_action,
    _emit_mask_hit_rates,
    _emit_ppo_update_event,
    _emit_reward_summary,
    _emit_scaffold_credits,
    _emit_shapley,
    _emit_throughput,
    _emit_with_env_context,
)
from esper.simic.training.helpers import (
    _calculate_entropy_anneal_steps,
    _emit_anomaly_diagnostics,
    _handle_telemetry_escalation,
)
from esper.kasmina.lifecycle import advance_active_seed
from esper.simic.telemetry.aggregation import aggregate_ticker_metrics
from esper.kasmina.lifecycle import resolve_target_slot
from esper.simic.training.runner import run_ppo_updates
from esper.simic.training.parallel_env_state import ParallelEnvState
from esper.simic.training.run_state import (
    ActionExecutionResult,
    EnvObservation,
    Placement,
    Reporter,
    RoundState,
    RunProgress,
    RunSetup,
    Subject,
)
from esper.simic.training.action_execution import execute_actions, watch_hosts
from esper.simic.training.batch_ops import train_hosts, validate_hosts
from esper.simic.training.env_factory import begin_round
from esper.simic.training.observation import choose_actions, observe_host
from esper.simic.training.round_end import (
    report_end,
    report_round,
    report_start,
    save_checkpoint,
    update_policy,
)
from esper.simic.training.vectorized_trainer import Seams, VectorizedPPOTrainer


# --- telemetry
# -------------------------------------------------------------------------------------------------------


# --- seeds and bookkeeping
# ------------------------------------------------------------------------------------------


# --- the trainer
# -----------------------------------------------------------------------------------------------------


def train_ppo_vectorized(
    config: TrainingConfig, task_spec: TaskSpec, *, telemetry_config: TelemetryConfig | None = None
) -> TrainingResult:
    """Train hosts of a task for `config.rounds` rounds, and the policy that grows them, from the start or
    from a checkpoint.

    With `config.policy` "heuristic" a rule-based policy acts and nothing but hosts is trained. Events go to
    the hub of `get_hub`. Raises InputError for settings, data or files that cannot be used, before anything
    is written.
    """
    # --- setup ---
    run_started = time.perf_counter()
    device = resolve_device(config.device)
    env_devices = resolve_env_devices(config.devices, device, config.envs)
    amp_dtype = resolve_amp_dtype(config.amp, config.amp_dtype, env_devices)
    placement = Placement(device, env_devices, amp_dtype, resolve_loading(config))
    if telemetry_config is None:
        telemetry_config = TelemetryConfig(
            TelemetryLevel[config.telemetry_level.upper()], gradient_stride=config.gradient_stride
        )
    reporter = Reporter(get_hub(), telemetry_config, AnomalyDetector())
    slot_config = SlotConfig(task_spec.slots, task_spec.topology)
    slots = resolve_slots(config, slot_config)
    data = load_data(
        task_spec,
        config.data_dir,
        download=config.download,
        train_images=config.train_images,
        val_images=config.val_images,
    )
    probe = create_model(
        task_spec,
        slot_config,
        slots,
        generator=derive_generator(config.seed, "probe"),
        device=torch.device("cpu"),
    )
    gates = gate_config(config.gates, config.auto_forward)
    subject = Subject(task_spec, slot_config, slots, probe.host_parameter_count, data, gates)
    del probe
    reward_config = RewardConfig(
        family=RewardFamily(config.reward_family), mode=RewardMode(config.reward_mode)
    )
    setup: RunSetup = RunSetup(config, subject, placement, reporter, reward_config)
    progress: RunProgress = RunProgress(RewardNormalizer())
    agent: PPOAgent | None = None
    rule_based: HeuristicPolicy | None = None
    if config.policy == "heuristic":
        rule_based = HeuristicPolicy(slot_config)
    elif config.resume is None:
        agent = PPOAgent(
            slot_config,
            PPOConfig(epochs=config.ppo_epochs),
            seed=derive_seed(config.seed, "policy"),
            device=device,
        )
    else:
        agent, saved = PPOAgent.load(config.resume, device=device)
        checkpoint = read_progress(config.resume, saved, config.outcome_settings())
        progress.reward_normalizer.load_state_dict(checkpoint.reward_normalizer)
        progress.first_round = checkpoint.rounds
        progress.rolling_accuracies.extend(checkpoint.rolling_accuracies)
        progress.best_accuracy = checkpoint.best_accuracy
        reporter.telemetry.escalated_epochs = checkpoint.escalated_epochs
        reporter.detector.load_state_dict(checkpoint.anomaly_detector)
    if agent is not None and config.compile_mode != "off":
        agent.compile(config.compile_mode)
    val_batches = SharedBatchIterator(data, task_spec.batch_size, env_devices, loading=placement.loading)

    # --- helpers ---
    report_start(setup=setup, progress=progress, agent=agent)
    # An interrupted run can go on from here, whenever that happens.
    save_checkpoint(progress.first_round, agent=agent, setup=setup, progress=progress)

    # --- rounds ---
    VectorizedPPOTrainer(
        seams=Seams(
            SharedBatchIterator=SharedBatchIterator,
            torch_amp=torch_amp,
            collect_per_layer_gradients=collect_per_layer_gradients,
            check_numerical_stability=check_numerical_stability,
        ),
        progress=progress,
        setup=setup,
        agent=agent,
        val_batches=val_batches,
        rule_based=rule_based,
    ).run()

    # --- result ---
    report_end(setup=setup, progress=progress, run_started=run_started)
    return TrainingResult(agent=agent, rounds=tuple(progress.rounds))
