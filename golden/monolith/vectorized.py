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

if TYPE_CHECKING:
    from esper.tamiyo import ActionMasks, SignalTracker

ROLLING_ROUNDS = 10
DEGRADATION_SHARE = 0.1
KL_ALARM = 0.5


@dataclass(slots=True)
class ParallelEnvState:
    """One env: its host with optimizers, its random state, and what it has counted.

    Totals are sums on the device, float64: of losses and of correct answers, [2] in training; in
    validation [1 + C], the loss of the host as it is, then the correct answers of each of C
    configurations.
    """

    env_idx: int
    round_idx: int
    model: MorphogeneticModel
    host_optimizer: torch.optim.Optimizer
    signal_tracker: SignalTracker
    governor: Governor[ModelSnapshot]
    data_generator: torch.Generator
    action_generator: torch.Generator
    stream: torch.cuda.Stream | None
    train_totals: Tensor
    val_totals: Tensor
    epoch: int = 0
    seed_optimizers: dict[str, torch.optim.Optimizer] = field(default_factory=dict)
    gradient_norms: list[Tensor] = field(default_factory=list)
    configurations: list[dict[str, float]] = field(default_factory=list)
    alphas: dict[str, float] = field(default_factory=dict)
    rewards: list[float] = field(default_factory=list)
    best_accuracy: float = 0.0
    val_accuracy: float = 0.0
    rollbacks: int = 0


# --- telemetry
# -------------------------------------------------------------------------------------------------------


def _emit_with_env_context(
    hub: TelemetryHub,
    env_state: ParallelEnvState,
    data: Payload,
    *,
    slot: str | None = None,
    severity: Severity = "info",
) -> None:
    """Emit a payload as an event of an env, at the round and epoch where the env stands."""
    hub.emit(
        TelemetryEvent(
            data=data,
            round=env_state.round_idx,
            epoch=env_state.epoch,
            env=env_state.env_idx,
            slot=slot,
            severity=severity,
        )
    )


def _emit_batch_completed(
    hub: TelemetryHub,
    round_idx: int,
    ticker: Mapping[str, float],
    env_states: Sequence[ParallelEnvState],
    rolling_accuracy: float,
) -> None:
    """Emit what a round of all envs came to."""
    hub.emit(
        TelemetryEvent(
            data=BatchCompleted(
                env_accuracies=tuple(env_state.val_accuracy for env_state in env_states),
                mean_accuracy=ticker["mean_accuracy"],
                rolling_accuracy=rolling_accuracy,
                mean_return=ticker["mean_return"],
                env_steps=int(ticker["env_steps"]),
                seeds_germinated=int(ticker["germinated"]),
                seeds_fossilized=int(ticker["fossilized"]),
                seeds_pruned=int(ticker["pruned"]),
            ),
            round=round_idx,
        )
    )


def _emit_last_action(
    hub: TelemetryHub,
    env_state: ParallelEnvState,
    *,
    op: LifecycleOp,
    target_slot: str | None,
    choices: Mapping[str, str],
    success: bool,
    reward: float,
    normalised_reward: float,
    reward_components: Mapping[str, float],
    value: float,
    log_probs: Sequence[float],
    confidences: Sequence[float],
    masks: ActionMasks,
) -> None:
    """Emit the decision of one env-step; the log-probability is that of the heads which the operation
    reads.
    """
    relevant = CAUSAL_HEADS[op]
    _emit_with_env_context(
        hub,
        env_state,
        LastAction(
            operation=op.name,
            target_slot=target_slot,
            heads=dict(choices),
            success=success,
            reward=reward,
            normalised_reward=normalised_reward,
            reward_components=dict(reward_components),
            value=value,
            log_prob=sum(log_probs[HEAD_INDEX[name]] for name in HEAD_NAMES if name in relevant),
            op_confidence=confidences[HEAD_INDEX["op"]],
            masked=dict(masks.masked_heads()),
        ),
        slot=target_slot,
    )


def _compute_grad_norm_surrogate(stats: Sequence[LayerGradientStats]) -> float | None:
    """The policy's gradient norm as its last minibatch left it, which is after clipping; None without
    gradients.
    """
    if not stats:
        return None
    return math.sqrt(sum(layer.norm**2 for layer in stats))


def _aggregate_layer_gradient_health(stats: Sequence[LayerGradientStats]) -> LayerGradientHealth | None:
    """Spread of the layers' gradient norms, and how many of them vanish, explode or are no number."""
    if not stats:
        return None
    norms = [layer.norm for layer in stats]
    finite = [norm for norm in norms if math.isfinite(norm)]
    return LayerGradientHealth(
        layers=len(norms),
        norm_min=min(finite, default=math.nan),
        norm_mean=statistics.fmean(finite) if finite else math.nan,
        norm_max=max(finite, default=math.nan),
        vanishing=sum(norm < VANISHING_NORM for norm in finite),
        exploding=sum(norm > EXPLODING_NORM for norm in finite),
        nonfinite=len(norms) - len(finite),
    )


def _emit_ppo_update_event(
    hub: TelemetryHub,
    round_idx: int,
    update: PPOUpdateResult,
    *,
    entropy_coef: float,
    grad_norm_surrogate: float | None,
    duration_s: float,
) -> None:
    """Emit what a policy update did."""
    hub.emit(
        TelemetryEvent(
            data=PPOUpdateCompleted(
                skipped=update.skipped,
                stopped_early=update.stopped_early,
                epochs=update.epochs,
                metrics=dict(update.metrics),
                entropy_coef=entropy_coef,
                grad_norm_surrogate=grad_norm_surrogate,
                duration_s=duration_s,
            ),
            round=round_idx,
            severity="warning" if update.skipped else "info",
        )
    )


def _emit_action_distribution(
    hub: TelemetryHub, round_idx: int, counts: Counter[str], successes: Counter[str]
) -> None:
    """Emit how often each operation was chosen in a round, and how often it succeeded."""
    names = [op.name for op in LifecycleOp]
    hub.emit(
        TelemetryEvent(
            data=ActionDistribution(
                counts={name: counts[name] for name in names},
                successes={name: successes[name] for name in names},
            ),
            round=round_idx,
        )
    )


def _emit_cf_unavailable(
    hub: TelemetryHub, env_state: ParallelEnvState, reason: str, slots: Sequence[str]
) -> None:
    """Emit that an env's seeds got no contribution this epoch."""
    _emit_with_env_context(hub, env_state, CounterfactualUnavailable(reason=reason, slots=tuple(slots)))


def _emit_throughput(
    hub: TelemetryHub,
    round_idx: int,
    *,
    env_steps: int,
    images: int,
    duration_s: float,
    phase_s: Mapping[str, float],
) -> None:
    """Emit the work done in a round and the time it took."""
    hub.emit(
        TelemetryEvent(
            data=Throughput(
                env_steps=env_steps,
                images=images,
                env_steps_per_s=env_steps / duration_s,
                images_per_s=images / duration_s,
                duration_s=duration_s,
                phase_s=dict(phase_s),
            ),
            round=round_idx,
        )
    )


def _emit_reward_summary(
    hub: TelemetryHub, round_idx: int, rewards: Sequence[float], components: Mapping[str, Sequence[float]]
) -> None:
    """Emit mean and spread of a round's raw rewards; a component's mean is over all env-steps."""
    hub.emit(
        TelemetryEvent(
            data=RewardSummary(
                mean=statistics.fmean(rewards),
                std=statistics.pstdev(rewards),
                minimum=min(rewards),
                maximum=max(rewards),
                components={name: math.fsum(values) / len(rewards) for name, values in components.items()},
            ),
            round=round_idx,
        )
    )


def _emit_mask_hit_rates(hub: TelemetryHub, round_idx: int, hits: Counter[str], decisions: int) -> None:
    """Emit, by action head, in how many decisions the mask took a choice away."""
    hub.emit(
        TelemetryEvent(
            data=MaskHitRates(
                hits={name: hits[name] for name in HEAD_NAMES},
                total=dict.fromkeys(HEAD_NAMES, decisions),
            ),
            round=round_idx,
        )
    )


def _check_performance_degradation(
    hub: TelemetryHub, round_idx: int, accuracy: float, rolling_accuracy: float
) -> bool:
    """Emit a warning where a round's accuracy fell behind the rolling average; whether it did."""
    drop = (rolling_accuracy - accuracy) / rolling_accuracy if rolling_accuracy > 0 else 0.0
    if drop <= DEGRADATION_SHARE:
        return False
    hub.emit(
        TelemetryEvent(
            data=PerformanceDegradation(
                accuracy=accuracy,
                rolling_accuracy=rolling_accuracy,
                drop=drop,
                threshold=DEGRADATION_SHARE,
            ),
            round=round_idx,
            severity="warning",
        )
    )
    return True


def _apply_slot_telemetry(
    model: MorphogeneticModel, on_telemetry: Callable[[str, Payload], None] | None
) -> None:
    """Have all slots of a model report to a callback, or to nobody."""
    model.set_telemetry(on_telemetry)


# --- seeds and bookkeeping
# ------------------------------------------------------------------------------------------


def _advance_active_seed(model: MorphogeneticModel, slot_id: str) -> bool:
    """Move the seed of a slot to its next stage, where it has one and may; whether it moved."""
    report = model.slot_reports().get(slot_id)
    if report is None or report.stage is SeedStage.FOSSILIZED:
        return False
    return model.advance(slot_id)


def _resolve_target_slot(
    slot_index: int, slot_config: SlotConfig, enabled_slots: Sequence[str]
) -> tuple[str, bool]:
    """The slot of an index of the slot head, and whether seeds may grow in it."""
    slot_id = slot_config.slot_ids[slot_index]
    return slot_id, slot_id in enabled_slots


def _calculate_entropy_anneal_steps(anneal_episodes: int, envs: int) -> int:
    """Policy updates over which the entropy bonus falls: one update follows `envs` episodes, rounded up."""
    return -(-anneal_episodes // envs)


def _aggregate_ticker_metrics(env_states: Sequence[ParallelEnvState]) -> dict[str, float]:
    """Means and sums over the envs of a round: what a one-line display of the round needs."""
    return {
        "mean_accuracy": statistics.fmean(env_state.val_accuracy for env_state in env_states),
        "best_accuracy": max(env_state.best_accuracy for env_state in env_states),
        "mean_return": statistics.fmean(math.fsum(env_state.rewards) for env_state in env_states),
        "env_steps": sum(len(env_state.rewards) for env_state in env_states),
        "germinated": sum(env_state.model.germinated for env_state in env_states),
        "fossilized": sum(env_state.model.fossilized for env_state in env_states),
        "pruned": sum(env_state.model.pruned for env_state in env_states),
        "rollbacks": sum(env_state.rollbacks for env_state in env_states),
    }


def _run_ppo_updates(
    agent: PPOAgent,
    buffer: RolloutBuffer,
    bootstrap_values: Tensor,
    *,
    entropy_coef: float,
    timer: CUDATimer,
) -> tuple[PPOUpdateResult, float]:
    """Update the policy from a rollout; what came of it, and the seconds it took."""
    timer.start()
    update = agent.update(buffer, bootstrap_values, entropy_coef=entropy_coef)
    timer.stop()
    return update, timer.elapsed()


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


def _emit_anomaly_diagnostics(
    hub: TelemetryHub, round_idx: int, anomalies: Sequence[AnomalyDetected]
) -> None:
    """Emit one event per anomaly."""
    for anomaly in anomalies:
        hub.emit(TelemetryEvent(data=anomaly, round=round_idx, severity="warning"))


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
    def make_telemetry_callback(env_state: ParallelEnvState) -> Callable[[str, Payload], None]:
        """A callback for the slots of one env, which puts their payloads into the env's place in the run."""

        def on_telemetry(slot_id: str, payload: Payload) -> None:
            if isinstance(payload, SeedGateEvaluated) and not telemetry.wants(TelemetryLevel.DEBUG):
                return
            _emit_with_env_context(hub, env_state, payload, slot=slot_id)

        return on_telemetry

    def configure_slot_telemetry(env_state: ParallelEnvState) -> None:
        """Connect the slots of an env to the hub, if their telemetry is wanted."""
        if telemetry.wants(TelemetryLevel.NORMAL):
            _apply_slot_telemetry(env_state.model, make_telemetry_callback(env_state))
        else:
            _apply_slot_telemetry(env_state.model, None)

    def create_env_state(env_idx: int, round_idx: int) -> ParallelEnvState:
        """A fresh host with everything that belongs to it; a function of the seed, the round and the
        env's index.
        """
        model = create_model(
            task_spec,
            slot_config,
            slots,
            generator=derive_generator(config.seed, round_idx, env_idx, "weights"),
            device=device,
        )
        host_optimizer = create_optimizer(model.host_parameters(), task_spec, learning_rate=task_spec.host_lr)
        env_state = ParallelEnvState(
            env_idx=env_idx,
            round_idx=round_idx,
            model=model,
            host_optimizer=host_optimizer,
            signal_tracker=SignalTracker(max_epochs),
            governor=Governor(task_spec.num_classes),
            data_generator=derive_generator(config.seed, round_idx, env_idx, "data"),
            action_generator=derive_generator(config.seed, round_idx, env_idx, "action"),
            stream=make_stream(device),
            train_totals=torch.zeros(2, dtype=torch.float64, device=device),
            val_totals=torch.zeros(1 + max_configurations, dtype=torch.float64, device=device),
        )
        chance = 1.0 / task_spec.num_classes
        env_state.governor.keep(model.snapshot, 0, -math.log(chance), chance)
        configure_slot_telemetry(env_state)
        return env_state

    @torch.compiler.disable
    def _collect_gradient_telemetry_for_batch(env_state: ParallelEnvState) -> Tensor:
        """Gradient norms [1 + live seeds] of one batch, left on the device."""
        model = env_state.model
        live = model.live_slots()
        return collect_host_gradients_async(
            model.host_parameters(),
            {slot_id: model.seed_parameters(slot_id) for slot_id in slots if slot_id in live},
        )

    def _parse_sampled_action(
        env_state: ParallelEnvState, action: FactoredAction
    ) -> tuple[LifecycleOp, str | None, dict[str, str]]:
        """The operation, the slot that it acts on (None for a wait), and the choices of the heads it
        reads.
        """
        op = action.lifecycle_op
        slot_id, enabled = _resolve_target_slot(action.slot, slot_config, slots)
        if op is not OP_WAIT and not enabled:
            raise RuntimeError(
                f"env {env_state.env_idx}: the policy chose {op.name} in {slot_id}, not enabled"
            )
        names = {
            "slot": slot_id,
            "blueprint": BLUEPRINT_NAMES[action.blueprint],
            "style": STYLE_NAMES[action.style],
            "tempo": TEMPO_NAMES[action.tempo],
            "alpha_target": str(ALPHA_TARGET_VALUES[action.alpha_target]),
            "alpha_speed": ALPHA_SPEED_NAMES[action.alpha_speed],
            "alpha_curve": ALPHA_CURVE_CHOICES[action.alpha_curve].name,
            "op": op.name,
        }
        choices = {name: names[name] for name in HEAD_NAMES if name in CAUSAL_HEADS[op]}
        return op, (None if op is OP_WAIT else slot_id), choices

    def process_train_batch(
        env_state: ParallelEnvState, inputs: Tensor, targets: Tensor, batch_idx: int
    ) -> None:
        """Forward, backward and optimizer steps of one env's batch; adds to the env's totals on the
        device.
        """
        with on_stream(env_state.stream, inputs, targets):
            env_state.host_optimizer.zero_grad(set_to_none=True)
            for optimizer in env_state.seed_optimizers.values():
                optimizer.zero_grad(set_to_none=True)
            with torch_amp.autocast(device.type, dtype=amp_dtype, enabled=use_amp):
                logits = env_state.model(inputs)
            loss = F.cross_entropy(logits.float(), targets)
            loss.backward()
            if telemetry.wants(TelemetryLevel.DEBUG) and batch_idx % telemetry.gradient_stride == 0:
                env_state.gradient_norms.append(_collect_gradient_telemetry_for_batch(env_state))
            env_state.host_optimizer.step()
            for optimizer in env_state.seed_optimizers.values():
                optimizer.step()
            correct = (logits.argmax(1) == targets).sum()
            env_state.train_totals += torch.stack([loss.detach().double() * len(targets), correct.double()])

    def process_val_batch(env_state: ParallelEnvState, inputs: Tensor, targets: Tensor) -> None:
        """Loss and correct answers of an env's host as it is, on one batch; adds to the env's totals."""
        with on_stream(env_state.stream, inputs, targets), torch.inference_mode():
            with torch_amp.autocast(device.type, dtype=amp_dtype, enabled=use_amp):
                logits = env_state.model(inputs)
            loss = F.cross_entropy(logits.float(), targets, reduction="sum")
            correct = (logits.argmax(1) == targets).sum()
            env_state.val_totals[:2] += torch.stack([loss.double(), correct.double()])

    def process_fused_val_batch(env_state: ParallelEnvState, inputs: Tensor, targets: Tensor) -> None:
        """Loss of an env's host as it is, and correct answers of all its configurations, in one pass."""
        configurations = env_state.configurations
        with on_stream(env_state.stream, inputs, targets), torch.inference_mode():
            with torch_amp.autocast(device.type, dtype=amp_dtype, enabled=use_amp):
                logits = env_state.model.fused_forward(inputs, configurations)
            loss = F.cross_entropy(logits[0].float(), targets, reduction="sum")
            correct = (logits.argmax(2) == targets).sum(1)
            env_state.val_totals[: 1 + len(configurations)] += torch.cat(
                [loss.double()[None], correct.double()]
            )

    def batch_signals_to_features(
        signals: Sequence[TrainingSignals], reports: Sequence[Mapping[str, SeedStateReport]]
    ) -> Tensor:
        """Observation features [envs, features] of all envs."""
        return batch_obs_to_features(signals, reports, slot_config, host_params=host_params, device=device)

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
    for round_idx in range(first_round, config.rounds):
        round_started = time.perf_counter()
        phase_s = dict.fromkeys(("train", "validate", "decide", "act", "update"), 0.0)
        if entropy_anneal_steps > 0:
            annealed = min(1.0, round_idx / entropy_anneal_steps)
        else:
            annealed = 0.0
        entropy_coef = config.entropy_start + annealed * (config.entropy_end - config.entropy_start)
        hub.emit(
            TelemetryEvent(
                data=RoundStarted(
                    env_seeds=tuple(
                        derive_seed(config.seed, round_idx, env_idx) for env_idx in range(n_envs)
                    ),
                    entropy_coef=entropy_coef,
                ),
                round=round_idx,
            )
        )
        env_states: list[ParallelEnvState] = []
        for env_idx in range(n_envs):
            env_states.append(create_env_state(env_idx, round_idx))
        streams = [env_state.stream for env_state in env_states]
        train_batches = SharedBatchIterator(
            data,
            task_spec.batch_size,
            env_devices,
            [env_state.data_generator for env_state in env_states],
        )
        buffer = RolloutBuffer(n_envs, max_epochs, slot_config, device)
        hidden = agent.initial_hidden(n_envs)
        action_counts: Counter[str] = Counter()
        action_successes: Counter[str] = Counter()
        mask_hits: Counter[str] = Counter()
        round_rewards: list[float] = []
        round_components: dict[str, list[float]] = {}
        images_seen = 0

        for epoch in range(1, max_epochs + 1):
            # Train: batch first, then envs.
            phase_started = time.perf_counter()
            for env_state in env_states:
                env_state.epoch = epoch
                env_state.model.train()
                env_state.train_totals.zero_()
                env_state.val_totals.zero_()
            for batch_idx, env_batches in enumerate(train_batches):
                for env_idx in range(n_envs):
                    inputs, targets = env_batches[env_idx]
                    process_train_batch(env_states[env_idx], inputs, targets, batch_idx)
            synchronise(streams)
            train_results = torch.stack([env_state.train_totals for env_state in env_states]).tolist()
            if telemetry.wants(TelemetryLevel.DEBUG):
                gradient_norms = split_gradient_norms(
                    [torch.stack(env_state.gradient_norms).mean(0) for env_state in env_states],
                    [env_state.model.live_slots() for env_state in env_states],
                )
                for env_state, norms in zip(env_states, gradient_norms, strict=True):
                    _emit_with_env_context(
                        hub,
                        env_state,
                        HostGradientNorms(
                            host=norms.host, seeds=norms.seeds, batches=len(env_state.gradient_norms)
                        ),
                    )
                    env_state.gradient_norms.clear()
            phase_s["train"] += time.perf_counter() - phase_started

            # Validate: every host as it is and, in the same pass, without each seed that changes its output.
            phase_started = time.perf_counter()
            for env_state in env_states:
                env_state.model.eval()
                contributing = env_state.model.contributing_slots()
                env_state.configurations = [{}, *({slot_id: 0.0} for slot_id in contributing)]
                if len(contributing) > 1:
                    env_state.configurations.append(dict.fromkeys(contributing, 0.0))
            for env_batches in val_batches:
                for env_idx in range(n_envs):
                    inputs, targets = env_batches[env_idx]
                    if len(env_states[env_idx].configurations) > 1:
                        process_fused_val_batch(env_states[env_idx], inputs, targets)
                    else:
                        process_val_batch(env_states[env_idx], inputs, targets)
            synchronise(streams)
            val_results = torch.stack([env_state.val_totals for env_state in env_states]).tolist()
            images_seen += n_envs * (data.train_size + data.val_size)
            phase_s["validate"] += time.perf_counter() - phase_started

            # Contributions, the watchdog, signals and masks.
            phase_started = time.perf_counter()
            epoch_metrics: list[EpochCompleted] = []
            counterfactuals: list[CounterfactualComputed | None] = []
            penalties: list[float] = []
            all_signals: list[TrainingSignals] = []
            all_reports: list[dict[str, SeedStateReport]] = []
            all_masks: list[ActionMasks] = []
            for env_idx in range(n_envs):
                env_state = env_states[env_idx]
                model = env_state.model
                train_loss = train_results[env_idx][0] / data.train_size
                train_accuracy = train_results[env_idx][1] / data.train_size
                val_loss = val_results[env_idx][0] / data.val_size
                accuracies = [correct / data.val_size for correct in val_results[env_idx][1:]]
                val_accuracy = accuracies[0]

                contributions: dict[str, float] = {}
                counterfactual: CounterfactualComputed | None = None
                switched = [
                    slot_id
                    for override in env_state.configurations
                    if len(override) == 1
                    for slot_id in override
                ]
                if switched:
                    by_name = {"+".join(switched): val_accuracy}
                    for index, slot_id in enumerate(switched, start=1):
                        others = [other for other in switched if other != slot_id]
                        by_name["+".join(others) or "none"] = accuracies[index]
                        contributions[slot_id] = val_accuracy - accuracies[index]
                    if len(switched) > 1:
                        by_name["none"] = accuracies[len(switched) + 1]
                    counterfactual = CounterfactualComputed(
                        accuracies=by_name, contributions=dict(contributions)
                    )
                counterfactuals.append(counterfactual)
                model.record_epoch(val_accuracy, contributions)
                epoch_metrics.append(
                    EpochCompleted(
                        train_loss=train_loss,
                        train_accuracy=train_accuracy,
                        val_loss=val_loss,
                        val_accuracy=val_accuracy,
                        train_samples=data.train_size,
                        val_samples=data.val_size,
                        seeds={
                            slot_id: report.stage.name for slot_id, report in model.slot_reports().items()
                        },
                        total_params=model.total_parameters,
                    )
                )

                penalty = 0.0
                verdict = env_state.governor.judge(val_loss, val_accuracy)
                healthy = env_state.governor.healthy
                if verdict is None:
                    env_state.governor.keep(model.snapshot, epoch, val_loss, val_accuracy)
                elif verdict.rollback and healthy is not None:
                    pruned = model.restore(healthy.state, f"rollback: {verdict.symptom}")
                    for slot_id in pruned:
                        env_state.seed_optimizers.pop(slot_id, None)
                    reset_momentum(env_state.host_optimizer)
                    for optimizer in env_state.seed_optimizers.values():
                        reset_momentum(optimizer)
                    env_state.governor.rolled_back()
                    env_state.rollbacks += 1
                    penalty = DEFAULT_GOVERNOR_DEATH_PENALTY
                    _emit_with_env_context(
                        hub,
                        env_state,
                        GovernorRollback(
                            reason=verdict.symptom,
                            loss=verdict.loss,
                            restored_epoch=healthy.epoch,
                            consecutive=verdict.consecutive,
                            pruned_slots=pruned,
                        ),
                        severity="warning",
                    )
                    # The policy is to see the host that it has now, not the one that broke.
                    train_loss = val_loss = healthy.loss
                    train_accuracy = val_accuracy = healthy.accuracy
                penalties.append(penalty)
                env_state.val_accuracy = val_accuracy
                env_state.best_accuracy = max(env_state.best_accuracy, val_accuracy)

                all_signals.append(
                    env_state.signal_tracker.update(
                        epoch=epoch,
                        train_loss=train_loss,
                        train_accuracy=train_accuracy,
                        val_loss=val_loss,
                        val_accuracy=val_accuracy,
                    )
                )
                reports = model.slot_reports()
                all_reports.append(reports)
                all_masks.append(
                    compute_action_masks(
                        build_slot_states(reports, slot_config),
                        slot_config=slot_config,
                        enabled_slots=slots,
                        max_seeds=config.max_seeds,
                    )
                )

            # Decide: one batched policy call, one transfer of all heads.
            features = batch_signals_to_features(all_signals, all_reports)
            masks = stack_action_masks(all_masks, device)
            noise = agent.draw_noise([env_state.action_generator for env_state in env_states])
            decision = agent.get_action(features, masks, hidden, noise)
            buffer.add(epoch - 1, features, masks, decision)
            hidden = decision.hidden
            host_actions = decision.to_host()
            phase_s["decide"] += time.perf_counter() - phase_started

            # Act, env by env; then every slot ticks once.
            phase_started = time.perf_counter()
            step_rewards: list[float] = []
            for env_idx in range(n_envs):
                env_state = env_states[env_idx]
                model = env_state.model
                signals = all_signals[env_idx]
                action = host_actions.actions[env_idx]
                op, target_slot, choices = _parse_sampled_action(env_state, action)
                if target_slot is None:
                    success = True
                elif op is OP_GERMINATE:
                    success = model.germinate_by_action(target_slot, action, signals.val_accuracy)
                    if success:
                        env_state.seed_optimizers[target_slot] = create_optimizer(
                            model.seed_parameters(target_slot), task_spec, learning_rate=task_spec.seed_lr
                        )
                elif op is OP_SET_ALPHA_TARGET:
                    curve = ALPHA_CURVE_CHOICES[action.alpha_curve]
                    success = model.set_alpha_target(
                        target_slot,
                        ALPHA_TARGET_VALUES[action.alpha_target],
                        steps=ALPHA_SPEED_STEPS[action.alpha_speed],
                        curve=curve.curve,
                        steepness=curve.steepness,
                    )
                elif op is OP_PRUNE:
                    curve = ALPHA_CURVE_CHOICES[action.alpha_curve]
                    success = model.prune(
                        target_slot,
                        "policy",
                        steps=ALPHA_SPEED_STEPS[action.alpha_speed],
                        curve=curve.curve,
                        steepness=curve.steepness,
                    )
                elif op is OP_FOSSILIZE:
                    success = model.fossilize(target_slot)
                elif op is OP_ADVANCE:
                    success = _advance_active_seed(model, target_slot)
                else:
                    raise RuntimeError(f"no way to execute {op.name}")
                model.step_epoch()
                live = model.live_slots()
                for slot_id in [slot_id for slot_id in env_state.seed_optimizers if slot_id not in live]:
                    del env_state.seed_optimizers[slot_id]

                reports_after = model.slot_reports()
                rent = compute_rent_and_shock_inputs(reports_after, env_state.alphas)
                env_state.alphas = {slot_id: report.alpha for slot_id, report in reports_after.items()}
                reward_inputs = RewardInputs(
                    op=op,
                    success=success,
                    slot_id=target_slot,
                    before=all_reports[env_idx],
                    after=reports_after,
                    signals=signals,
                    host_params=host_params,
                    rent=rent,
                )
                if reward_config.family is RewardFamily.LOSS:
                    breakdown = compute_loss_reward(reward_inputs, reward_config)
                else:
                    breakdown = compute_reward(reward_inputs, reward_config)
                components = dict(breakdown.components)
                reward = breakdown.total
                if penalties[env_idx]:
                    components["rollback"] = -penalties[env_idx]
                    reward -= penalties[env_idx]
                normalised_reward = reward_normalizer.normalize(reward)
                step_rewards.append(normalised_reward)
                env_state.rewards.append(reward)
                round_rewards.append(reward)
                for name, value in components.items():
                    round_components.setdefault(name, []).append(value)
                action_counts[op.name] += 1
                action_successes[op.name] += success
                mask_hits.update(name for name, hit in all_masks[env_idx].masked_heads().items() if hit)

                if telemetry.wants(TelemetryLevel.NORMAL):
                    counterfactual = counterfactuals[env_idx]
                    if counterfactual is not None:
                        _emit_with_env_context(hub, env_state, counterfactual)
                    elif epoch_metrics[env_idx].seeds:
                        _emit_cf_unavailable(
                            hub, env_state, "no seed changes the output", tuple(epoch_metrics[env_idx].seeds)
                        )
                    _emit_with_env_context(hub, env_state, epoch_metrics[env_idx])
                    _emit_last_action(
                        hub,
                        env_state,
                        op=op,
                        target_slot=target_slot,
                        choices=choices,
                        success=success,
                        reward=reward,
                        normalised_reward=normalised_reward,
                        reward_components=components,
                        value=host_actions.values[env_idx],
                        log_probs=host_actions.log_probs[env_idx],
                        confidences=host_actions.confidences[env_idx],
                        masks=all_masks[env_idx],
                    )
            buffer.set_rewards(epoch - 1, step_rewards)
            total_env_steps += n_envs
            phase_s["act"] += time.perf_counter() - phase_started

        # Update: the episode ends by its time limit, so the state after the last action still has a value.
        phase_started = time.perf_counter()
        post_action_signals = [env_state.signal_tracker.peek() for env_state in env_states]
        post_action_slot_reports = [env_state.model.slot_reports() for env_state in env_states]
        bootstrap_values = agent.bootstrap_values(
            batch_signals_to_features(post_action_signals, post_action_slot_reports), hidden
        )
        update, update_s = _run_ppo_updates(
            agent, buffer, bootstrap_values, entropy_coef=entropy_coef, timer=update_timer
        )
        reward_normalizer.update(round_rewards)
        phase_s["update"] += time.perf_counter() - phase_started

        # Report.
        layer_stats = collect_per_layer_gradients(agent.policy)
        stability = check_numerical_stability(agent.policy)
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

        for env_state in env_states:
            _emit_with_env_context(
                hub,
                env_state,
                EpisodeCompleted(
                    final_accuracy=env_state.val_accuracy,
                    best_accuracy=env_state.best_accuracy,
                    episode_return=math.fsum(env_state.rewards),
                    germinated=env_state.model.germinated,
                    fossilized=env_state.model.fossilized,
                    pruned=env_state.model.pruned,
                    rollbacks=env_state.rollbacks,
                    total_params=env_state.model.total_parameters,
                    host_params=host_params,
                ),
            )
        ticker = _aggregate_ticker_metrics(env_states)
        final_accuracy = ticker["mean_accuracy"]
        best_accuracy = max(best_accuracy, ticker["best_accuracy"])
        if rolling_accuracies:
            _check_performance_degradation(
                hub, round_idx, final_accuracy, statistics.fmean(rolling_accuracies)
            )
        rolling_accuracies.append(final_accuracy)
        if telemetry.wants(TelemetryLevel.NORMAL):
            _emit_mask_hit_rates(hub, round_idx, mask_hits, n_envs * max_epochs)
            _emit_action_distribution(hub, round_idx, action_counts, action_successes)
            _emit_reward_summary(hub, round_idx, round_rewards, round_components)
        _emit_ppo_update_event(
            hub,
            round_idx,
            update,
            entropy_coef=entropy_coef,
            grad_norm_surrogate=_compute_grad_norm_surrogate(layer_stats),
            duration_s=update_s,
        )
        gradient_health = _aggregate_layer_gradient_health(layer_stats)
        if gradient_health is not None and telemetry.wants(TelemetryLevel.DEBUG):
            hub.emit(TelemetryEvent(data=gradient_health, round=round_idx, severity="debug"))
        _emit_anomaly_diagnostics(hub, round_idx, anomalies)
        _handle_telemetry_escalation(hub, telemetry, round_idx, anomalies)
        _emit_batch_completed(hub, round_idx, ticker, env_states, statistics.fmean(rolling_accuracies))
        _emit_throughput(
            hub,
            round_idx,
            env_steps=n_envs * max_epochs,
            images=images_seen,
            duration_s=time.perf_counter() - round_started,
            phase_s=phase_s,
        )
        round_results.append(
            RoundResult(
                accuracies=tuple(env_state.val_accuracy for env_state in env_states),
                returns=tuple(math.fsum(env_state.rewards) for env_state in env_states),
                policy_metrics=dict(update.metrics),
            )
        )
        if config.save is not None:
            agent.save(
                config.save,
                TrainingProgress(
                    settings=settings,
                    rounds=round_idx + 1,
                    reward_normalizer=reward_normalizer.state_dict(),
                    rolling_accuracies=list(rolling_accuracies),
                    best_accuracy=best_accuracy,
                    escalated_rounds=telemetry.escalated_rounds,
                ).model_dump(),
            )

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
