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
from typing import TYPE_CHECKING

import torch
import torch.amp as torch_amp
import torch.nn.functional as F
from torch import Tensor

from esper.kasmina import ModelSnapshot, MorphogeneticModel
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
from esper.leyline.task import TaskSpec
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
    LastAction,
    LayerGradientHealth,
    MaskHitRates,
    Payload,
    PerformanceDegradation,
    PPOUpdateCompleted,
    RewardSummary,
    RoundStarted,
    RunCompleted,
    RunStarted,
    SeedGateEvaluated,
    Severity,
    TelemetryEvent,
    TelemetryLevelChanged,
    Throughput,
)
from esper.nissa import TelemetryHub, get_hub
from esper.simic.agent import PPOAgent, PPOConfig, PPOUpdateResult, RolloutBuffer
from esper.simic.control import RewardNormalizer
from esper.simic.rewards import (
    RewardConfig,
    RewardFamily,
    RewardInputs,
    RewardMode,
    compute_loss_reward,
    compute_rent_and_shock_inputs,
    compute_reward,
)
from esper.simic.telemetry import (
    EXPLODING_NORM,
    VANISHING_NORM,
    LayerGradientStats,
    TelemetryConfig,
    TelemetryLevel,
    check_numerical_stability,
    collect_per_layer_gradients,
    split_gradient_norms,
)
from esper.simic.training.checkpoint import TrainingProgress, read_progress
from esper.simic.training.config import TrainingConfig, resolve_slots
from esper.simic.training.result import RoundResult, TrainingResult
from esper.tolaria.data import SharedBatchIterator, load_images
from esper.tolaria.governor import Governor
from esper.tolaria.optimizers import create_optimizer, reset_momentum
from esper.tolaria.runtime import (
    CUDATimer,
    make_stream,
    on_stream,
    resolve_amp_dtype,
    resolve_device,
    synchronise,
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
    _emit_last_action,
    _emit_mask_hit_rates,
    _emit_ppo_update_event,
    _emit_reward_summary,
    _emit_throughput,
    _emit_with_env_context,
)
from esper.simic.training.helpers import _calculate_entropy_anneal_steps, _emit_anomaly_diagnostics, _handle_telemetry_escalation
from esper.kasmina.lifecycle import advance_active_seed
from esper.simic.telemetry.aggregation import aggregate_ticker_metrics
from esper.kasmina.lifecycle import resolve_target_slot
from esper.simic.training.runner import run_ppo_updates
from esper.simic.training.parallel_env_state import ParallelEnvState
from esper.simic.training.action_execution import _parse_sampled_action
from esper.simic.training.batch_ops import batch_signals_to_features, process_train_batch, process_val_batch
from esper.simic.training.counterfactual_eval import process_fused_val_batch
from esper.simic.training.env_factory import create_env_state
from esper.simic.training.vectorized_trainer import (
    Devices,
    LateImports,
    Progress,
    RunSettings,
    Seams,
    VectorizedPPOTrainer,
)

if TYPE_CHECKING:
    from esper.tamiyo import ActionMasks, SignalTracker

ROLLING_ROUNDS = 10
KL_ALARM = 0.5


# --- telemetry
# -------------------------------------------------------------------------------------------------------


# --- seeds and bookkeeping
# ------------------------------------------------------------------------------------------


# --- the trainer
# -----------------------------------------------------------------------------------------------------


def train_ppo_vectorized(
    config: TrainingConfig, task_spec: TaskSpec, *, telemetry_config: TelemetryConfig | None = None
) -> TrainingResult:
    """Train a policy on a task for `config.rounds` rounds, from the start or from a checkpoint.

    Events go to the hub of `get_hub`. Raises InputError for settings, data or files that cannot be
    used, before anything is written.
    """
    # Imported here so that loading this module for its names alone stays cheap.
    from esper.simic.telemetry import collect_host_gradients_async
    from esper.tamiyo import (
        SignalTracker,
        batch_obs_to_features,
        build_slot_states,
        compute_action_masks,
        stack_action_masks,
    )
    from esper.tolaria.models import create_model

    # --- setup ---
    run_started = time.perf_counter()
    device = resolve_device(config.device)
    amp_dtype = resolve_amp_dtype(config.amp, device)
    use_amp = amp_dtype is not None
    slot_config = SlotConfig(task_spec.slots)
    slots = resolve_slots(config, slot_config)
    n_envs = config.envs
    max_epochs = config.episode_length
    if telemetry_config is None:
        telemetry_config = TelemetryConfig(
            TelemetryLevel[config.telemetry_level.upper()], gradient_stride=config.gradient_stride
        )
    telemetry: TelemetryConfig = telemetry_config
    hub = get_hub()

    data = load_images(
        config.data_dir,
        download=config.download,
        train_images=config.train_images,
        val_images=config.val_images,
    )
    env_devices = [device] * n_envs
    val_batches = SharedBatchIterator(data, task_spec.batch_size, env_devices)
    # One more than leave-one-out of every slot: the host as it is, and the host without any seed.
    max_configurations = len(slots) + 2

    reward_config = RewardConfig(
        family=RewardFamily(config.reward_family), mode=RewardMode(config.reward_mode)
    )
    settings = config.outcome_settings()
    if config.resume is None:
        agent = PPOAgent(
            slot_config,
            PPOConfig(epochs=config.ppo_epochs),
            seed=derive_seed(config.seed, "policy"),
            device=device,
        )
        reward_normalizer = RewardNormalizer()
        first_round = 0
        rolling_accuracies: deque[float] = deque(maxlen=ROLLING_ROUNDS)
        best_accuracy = 0.0
    else:
        agent, saved = PPOAgent.load(config.resume, device=device)
        progress = read_progress(config.resume, saved, settings)
        reward_normalizer = RewardNormalizer()
        reward_normalizer.load_state_dict(progress.reward_normalizer)
        first_round = progress.rounds
        rolling_accuracies = deque(progress.rolling_accuracies, maxlen=ROLLING_ROUNDS)
        best_accuracy = progress.best_accuracy
        telemetry.escalated_rounds = progress.escalated_rounds
    entropy_anneal_steps = _calculate_entropy_anneal_steps(config.entropy_anneal_episodes, n_envs)
    update_timer = CUDATimer(device)

    probe = create_model(
        task_spec,
        slot_config,
        slots,
        generator=derive_generator(config.seed, "probe"),
        device=torch.device("cpu"),
    )
    host_params = probe.host_parameter_count
    del probe
    round_results: list[RoundResult] = []
    total_env_steps = 0
    final_accuracy = 0.0

    # --- helpers ---
    hub.emit(
        TelemetryEvent(
            data=RunStarted(
                task=task_spec.name,
                seed=config.seed,
                first_round=first_round,
                rounds=config.rounds,
                envs=n_envs,
                episode_length=max_epochs,
                slots=slots,
                host_params=host_params,
                policy_params=agent.parameter_count,
                train_images=data.train_size,
                val_images=data.val_size,
                device=str(device),
                config=settings,
            )
        )
    )

    # --- rounds ---
    total_env_steps, final_accuracy, best_accuracy = VectorizedPPOTrainer(
        run_settings=RunSettings(
            config=config,
            task_spec=task_spec,
            settings=settings,
            slot_config=slot_config,
            slots=slots,
            reward_config=reward_config,
            n_envs=n_envs,
            max_epochs=max_epochs,
            max_configurations=max_configurations,
            first_round=first_round,
            entropy_anneal_steps=entropy_anneal_steps,
            host_params=host_params,
            KL_ALARM=KL_ALARM,
        ),
        devices=Devices(
            device=device,
            env_devices=env_devices,
            amp_dtype=amp_dtype,
            use_amp=use_amp,
            update_timer=update_timer,
        ),
        progress=Progress(
            round_results=round_results,
            rolling_accuracies=rolling_accuracies,
            best_accuracy=best_accuracy,
            final_accuracy=final_accuracy,
            total_env_steps=total_env_steps,
            reward_normalizer=reward_normalizer,
        ),
        late_imports=LateImports(
            create_model=create_model,
            SignalTracker=SignalTracker,
            batch_obs_to_features=batch_obs_to_features,
            build_slot_states=build_slot_states,
            compute_action_masks=compute_action_masks,
            stack_action_masks=stack_action_masks,
            collect_host_gradients_async=collect_host_gradients_async,
        ),
        seams=Seams(
            SharedBatchIterator=SharedBatchIterator,
            torch_amp=torch_amp,
            collect_per_layer_gradients=collect_per_layer_gradients,
            check_numerical_stability=check_numerical_stability,
        ),
        hub=hub,
        telemetry=telemetry,
        data=data,
        agent=agent,
        val_batches=val_batches,
    ).run()

    # --- result ---
    hub.emit(
        TelemetryEvent(
            data=RunCompleted(
                rounds=len(round_results),
                env_steps=total_env_steps,
                best_accuracy=best_accuracy,
                final_accuracy=final_accuracy,
                duration_s=time.perf_counter() - run_started,
            )
        )
    )
    return TrainingResult(agent=agent, rounds=tuple(round_results))
