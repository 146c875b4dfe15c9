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
from esper.simic.training.config import TrainingConfig, resolve_loading, resolve_slots
from esper.simic.training.result import RoundResult, TrainingProgress, TrainingResult, read_progress
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
from esper.tolaria.models import (
    backward,
    count_correct,
    create_model,
    create_optimizer,
    mean_loss,
    reset_momentum,
    step_optimizers,
    summed_loss,
)
from esper.tolaria.runtime import (
    CUDATimer,
    derive_generator,
    derive_seed,
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

ROLLING_ROUNDS = 10
DEGRADATION_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Subject:
    """What is trained: hosts of a task, the slots that seeds may grow in, and the data."""

    task_spec: TaskSpec
    slot_config: SlotConfig
    slots: tuple[str, ...]
    host_params: int
    data: TrainingData
    gates: GateConfig

    @property
    def max_configurations(self) -> int:
        """The most configurations of any validation pass."""
        return most_coalitions(len(self.slots), SAMPLED_ORDERS)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the policy and each env's host compute, the lower precision of the hosts, if any, and how batches
    reach them.
    """

    policy_device: torch.device
    env_devices: tuple[torch.device, ...]
    amp_dtype: torch.dtype | None
    loading: Loading


@dataclass(frozen=True, slots=True)
class Reporter:
    """Where events go, how much is told, and what counts as trouble."""

    hub: TelemetryHub
    telemetry: TelemetryConfig
    detector: AnomalyDetector


@dataclass(frozen=True, slots=True)
class RunSetup:
    """What a run is made of and what stays as it is from the first round to the last."""

    config: TrainingConfig
    subject: Subject
    placement: Placement
    reporter: Reporter
    reward_config: RewardConfig


@dataclass(slots=True)
class ParallelEnvState:
    """One env: its host with optimizers, its random state, and what it has counted.

    Totals are sums on the device, float64: of losses and of correct answers, [2] in training; in
    validation [1 + C], the loss of the host as it is, then the correct answers of each of C
    configurations.
    """

    env_idx: int
    round_idx: int
    device: torch.device
    model: MorphogeneticModel
    host_optimizer: torch.optim.Optimizer
    scaler: torch_amp.GradScaler | None
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
    comparison: Comparison = field(default_factory=Comparison)
    matrix: CounterfactualMatrix | None = None
    scaffolds: ScaffoldLedger = field(default_factory=ScaffoldLedger)
    escrow: dict[str, float] = field(default_factory=dict)
    alphas: dict[str, float] = field(default_factory=dict)
    rewards: list[float] = field(default_factory=list)
    best_accuracy: float = 0.0
    val_accuracy: float = 0.0
    rollbacks: int = 0

    @property
    def optimizers(self) -> list[torch.optim.Optimizer]:
        """The host's optimizer, then one for every live seed."""
        return [self.host_optimizer, *self.seed_optimizers.values()]


@dataclass(slots=True)
class RoundState:
    """One round: its envs, what the policy remembers of it, and what is counted over all envs."""

    round_idx: int
    entropy_coef: float
    env_states: list[ParallelEnvState]
    train_batches: SharedBatchIterator
    buffer: RolloutBuffer
    hidden: Hidden | None
    started: float
    phase_s: dict[str, float]
    action_counts: Counter[str] = field(default_factory=Counter)
    action_successes: Counter[str] = field(default_factory=Counter)
    mask_hits: Counter[str] = field(default_factory=Counter)
    rewards: list[float] = field(default_factory=list)
    components: dict[str, list[float]] = field(default_factory=dict)
    images: int = 0


@dataclass(slots=True)
class RunProgress:
    """How far a run has come, and what outlives a round besides the agent."""

    reward_normalizer: RewardNormalizer
    first_round: int = 0
    rolling_accuracies: deque[float] = field(default_factory=lambda: deque(maxlen=ROLLING_ROUNDS))
    best_accuracy: float = 0.0
    final_accuracy: float = 0.0
    env_steps: int = 0
    rounds: list[RoundResult] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class EnvObservation:
    """What is known of one env when its next action is chosen.

    `penalty` is what a rollback in this epoch costs; `signals` are of the host that is there now. `turn` is
    a plateau that was reached or ended.
    """

    metrics: EpochCompleted
    matrix: CounterfactualMatrix | None
    turn: PlateauDetected | ImprovementDetected | None
    anomalies: list[AnomalyDetected]
    penalty: float
    signals: TrainingSignals
    reports: dict[str, SeedStateReport]
    masks: ActionMasks


@dataclass(frozen=True, slots=True)
class ActionExecutionResult:
    """What one step of actions leaves for the end of the episode.

    `truncated_bootstrap_targets` are (env, step) of episodes that the time limit cut off: the states after
    them still have a value. Each list of post-action state has one entry per env.
    """

    truncated_bootstrap_targets: list[tuple[int, int]] = field(default_factory=list)
    post_action_signals: list[TrainingSignals] = field(default_factory=list)
    post_action_slot_reports: list[dict[str, SeedStateReport]] = field(default_factory=list)
    post_action_masks: list[ActionMasks] = field(default_factory=list)


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


def _emit_counterfactual(
    hub: TelemetryHub, env_state: ParallelEnvState, matrix: CounterfactualMatrix
) -> None:
    """Emit what validation without some seeds said of each."""
    _emit_with_env_context(
        hub,
        env_state,
        CounterfactualComputed(
            accuracies=matrix.by_name(),
            contributions=matrix.contributions(),
            interactions={"+".join(pair): value for pair, value in matrix.interactions().items()},
        ),
    )


def _emit_shapley(
    hub: TelemetryHub, env_state: ParallelEnvState, matrix: CounterfactualMatrix, shares: ShapleyValues
) -> None:
    """Emit the seeds' shares of what they added together."""
    _emit_with_env_context(
        hub,
        env_state,
        ShapleyComputed(
            method=shares.method,
            values=dict(shares.values),
            standard_errors=dict(shares.standard_errors),
            full_accuracy=matrix.full,
            bare_accuracy=matrix.bare,
            configurations=len(matrix.accuracies),
        ),
    )


def _emit_scaffold_credits(
    hub: TelemetryHub, env_state: ParallelEnvState, credits: Sequence[ScaffoldCredit]
) -> None:
    """Emit which seeds got credit for the help that they gave."""
    for credit in credits:
        _emit_with_env_context(
            hub,
            env_state,
            ScaffoldCredited(
                seed_id=credit.seed_id,
                beneficiary=credit.beneficiary,
                boost=credit.boost,
                delay=credit.delay,
                credit=credit.credit,
            ),
            slot=credit.slot_id,
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


def _apply_slot_telemetry(model: MorphogeneticModel, on_telemetry: Callable[[str, Payload], None]) -> None:
    """Have all slots of a model report to a callback."""
    model.set_telemetry(on_telemetry)


# --- seeds and bookkeeping
# ------------------------------------------------------------------------------------------


def _advance_active_seed(model: MorphogeneticModel, slot_id: str) -> bool:
    """Move the seed of a slot to its next stage, where it has one and may; whether it moved."""
    report = model.slot_reports().get(slot_id)
    if report is None or report.stage is SeedStage.FOSSILIZED:
        return False
    return model.slot(slot_id).advance()


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
    def make_telemetry_callback(env_state: ParallelEnvState) -> Callable[[str, Payload], None]:
        """A callback for the slots of one env, which puts their payloads into the env's place in the run, if
        they are wanted then: the level can change while seeds live.
        """

        def on_telemetry(slot_id: str, payload: Payload) -> None:
            is_gate = isinstance(payload, SeedGateEvaluated)
            if setup.reporter.telemetry.wants(TelemetryLevel.DEBUG if is_gate else TelemetryLevel.NORMAL):
                _emit_with_env_context(setup.reporter.hub, env_state, payload, slot=slot_id)

        return on_telemetry

    def configure_slot_telemetry(env_state: ParallelEnvState) -> None:
        """Connect the slots of an env to the hub."""
        _apply_slot_telemetry(env_state.model, make_telemetry_callback(env_state))

    def create_env_state(env_idx: int, round_idx: int) -> ParallelEnvState:
        """A fresh host with everything that belongs to it; a function of the seed, the round and the
        env's index.
        """
        env_device = setup.placement.env_devices[env_idx]
        model = create_model(
            setup.subject.task_spec,
            setup.subject.slot_config,
            setup.subject.slots,
            generator=derive_generator(setup.config.seed, round_idx, env_idx, "weights"),
            device=env_device,
            gates=setup.subject.gates,
        )
        host_optimizer = create_optimizer(
            model.host_parameters(), setup.subject.task_spec, learning_rate=setup.subject.task_spec.host_lr
        )
        env_state = ParallelEnvState(
            env_idx=env_idx,
            round_idx=round_idx,
            device=env_device,
            model=model,
            host_optimizer=host_optimizer,
            scaler=make_scaler(setup.placement.amp_dtype, env_device),
            signal_tracker=SignalTracker(setup.config.episode_length),
            governor=Governor(
                setup.subject.task_spec.num_classes,
                GovernorConfig(absolute_threshold=setup.config.governor_threshold),
            ),
            data_generator=derive_generator(setup.config.seed, round_idx, env_idx, "data"),
            action_generator=derive_generator(setup.config.seed, round_idx, env_idx, "action"),
            stream=make_stream(env_device),
            train_totals=torch.zeros(2, dtype=torch.float64, device=env_device),
            val_totals=torch.zeros(
                1 + setup.subject.max_configurations, dtype=torch.float64, device=env_device
            ),
        )
        chance = 1.0 / setup.subject.task_spec.num_classes
        env_state.governor.keep(model.snapshot, 0, -math.log(chance), chance)
        configure_slot_telemetry(env_state)
        return env_state

    def begin_round(round_idx: int) -> RoundState:
        """Fresh hosts, and batches that follow each env's own order."""
        started = time.perf_counter()
        steps = _calculate_entropy_anneal_steps(setup.config.entropy_anneal_episodes, setup.config.envs)
        annealed = min(1.0, round_idx / steps) if steps > 0 else 0.0
        entropy_coef = setup.config.entropy_start + annealed * (
            setup.config.entropy_end - setup.config.entropy_start
        )
        setup.reporter.hub.emit(
            TelemetryEvent(
                data=RoundStarted(
                    env_seeds=tuple(
                        derive_seed(setup.config.seed, round_idx, env_idx)
                        for env_idx in range(setup.config.envs)
                    ),
                    entropy_coef=entropy_coef,
                ),
                round=round_idx,
            )
        )
        env_states = [create_env_state(env_idx, round_idx) for env_idx in range(setup.config.envs)]
        return RoundState(
            round_idx=round_idx,
            entropy_coef=entropy_coef,
            env_states=env_states,
            train_batches=SharedBatchIterator(
                setup.subject.data,
                setup.subject.task_spec.batch_size,
                setup.placement.env_devices,
                [env_state.data_generator for env_state in env_states],
                setup.placement.loading,
            ),
            buffer=RolloutBuffer(
                setup.config.envs,
                setup.config.episode_length,
                setup.subject.slot_config,
                setup.placement.policy_device,
            ),
            hidden=None if agent is None else agent.initial_hidden(setup.config.envs),
            started=started,
            phase_s=dict.fromkeys(("train", "validate", "decide", "act", "update"), 0.0),
        )

    @torch.compiler.disable
    def _collect_gradient_telemetry_for_batch(env_state: ParallelEnvState) -> Tensor:
        """Gradient norms [1 + live seeds] of one batch, left on the device."""
        model = env_state.model
        live = model.live_slots()
        of_host = collect_host_gradients_async(model.host_parameters())
        of_seeds = collect_seed_gradients_async(
            {slot_id: model.seed_parameters(slot_id) for slot_id in live}, env_state.device
        )
        return torch.cat([of_host[None], of_seeds])

    def _parse_sampled_action(
        env_state: ParallelEnvState, action: FactoredAction
    ) -> tuple[LifecycleOp, str | None, dict[str, str]]:
        """The operation, the slot that it acts on (None for a wait), and the choices of the heads it
        reads.
        """
        op = action.lifecycle_op
        slot_id, enabled = _resolve_target_slot(action.slot, setup.subject.slot_config, setup.subject.slots)
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
        telemetry = setup.reporter.telemetry
        optimizers = env_state.optimizers
        with on_stream(env_state.stream, inputs, targets):
            env_state.host_optimizer.zero_grad(set_to_none=True)
            for optimizer in env_state.seed_optimizers.values():
                optimizer.zero_grad(set_to_none=True)
            with torch_amp.autocast(
                env_state.device.type,
                dtype=setup.placement.amp_dtype,
                enabled=setup.placement.amp_dtype is not None,
            ):
                logits = env_state.model(inputs)
            loss = mean_loss(logits, targets)
            backward(loss, optimizers, env_state.scaler)
            if telemetry.wants(TelemetryLevel.DEBUG) and batch_idx % telemetry.gradient_stride == 0:
                env_state.gradient_norms.append(_collect_gradient_telemetry_for_batch(env_state))
            step_optimizers(optimizers, env_state.scaler)
            correct = count_correct(logits, targets)
            env_state.train_totals += torch.stack(
                [loss.detach().double() * targets.numel(), correct.double()]
            )

    def process_val_batch(env_state: ParallelEnvState, inputs: Tensor, targets: Tensor) -> None:
        """Loss and correct answers of an env's host as it is, on one batch; adds to the env's totals."""
        with on_stream(env_state.stream, inputs, targets), torch.inference_mode():
            with torch_amp.autocast(
                env_state.device.type,
                dtype=setup.placement.amp_dtype,
                enabled=setup.placement.amp_dtype is not None,
            ):
                logits = env_state.model(inputs)
            loss = summed_loss(logits, targets)
            correct = count_correct(logits, targets)
            env_state.val_totals[:2] += torch.stack([loss.double(), correct.double()])

    def process_fused_val_batch(env_state: ParallelEnvState, inputs: Tensor, targets: Tensor) -> None:
        """Loss of an env's host as it is, and correct answers of all its configurations, in one pass."""
        configurations = env_state.comparison.overrides
        with on_stream(env_state.stream, inputs, targets), torch.inference_mode():
            with torch_amp.autocast(
                env_state.device.type,
                dtype=setup.placement.amp_dtype,
                enabled=setup.placement.amp_dtype is not None,
            ):
                logits = env_state.model.fused_forward(inputs, configurations)
            loss = summed_loss(logits[0], targets)
            correct = count_correct(logits, targets)
            env_state.val_totals[: 1 + len(configurations)] += torch.cat(
                [loss.double()[None], correct.double()]
            )

    def train_hosts(round_state: RoundState, epoch: int) -> list[list[float]]:
        """One epoch of every host, batch first, then envs; summed losses and correct answers [envs][2]."""
        env_states = round_state.env_states
        for env_state in env_states:
            env_state.epoch = epoch
            env_state.model.train()
            env_state.train_totals.zero_()
        for batch_idx, env_batches in enumerate(round_state.train_batches):
            for env_state, (inputs, targets) in zip(env_states, env_batches, strict=True):
                process_train_batch(env_state, inputs, targets, batch_idx)
        synchronise([env_state.stream for env_state in env_states])
        if setup.reporter.telemetry.wants(TelemetryLevel.DEBUG):
            report_gradient_norms(env_states)
        round_state.images += len(env_states) * setup.subject.data.train_size
        return to_host([env_state.train_totals for env_state in env_states], setup.placement.policy_device)

    def report_gradient_norms(env_states: Sequence[ParallelEnvState]) -> None:
        """Emit what the batches of an epoch have left, in one transfer for all envs."""
        gradient_norms = split_gradient_norms(
            [
                torch.stack(env_state.gradient_norms).mean(0).to(setup.placement.policy_device)
                for env_state in env_states
            ],
            [env_state.model.live_slots() for env_state in env_states],
        )
        for env_state, norms in zip(env_states, gradient_norms, strict=True):
            _emit_with_env_context(
                setup.reporter.hub,
                env_state,
                HostGradientNorms(host=norms.host, seeds=norms.seeds, batches=len(env_state.gradient_norms)),
            )
            env_state.gradient_norms.clear()

    def validate_hosts(round_state: RoundState) -> list[list[float]]:
        """Every host as it is and, in the same pass, without some of the seeds that change its output; summed
        loss, then correct answers by configuration [envs][1 + C].
        """
        env_states = round_state.env_states
        for env_state in env_states:
            env_state.model.eval()
            env_state.val_totals.zero_()
            env_state.comparison = choose_configurations(env_state)
        for env_batches in val_batches:
            for env_state, (inputs, targets) in zip(env_states, env_batches, strict=True):
                if env_state.comparison.slots:
                    process_fused_val_batch(env_state, inputs, targets)
                else:
                    process_val_batch(env_state, inputs, targets)
        synchronise([env_state.stream for env_state in env_states])
        round_state.images += len(env_states) * setup.subject.data.val_size
        return to_host([env_state.val_totals for env_state in env_states], setup.placement.policy_device)

    def choose_configurations(env_state: ParallelEnvState) -> Comparison:
        """Which seeds to switch off; in the last epoch of an episode as many as its Shapley values take."""
        contributing = env_state.model.contributing_slots()
        if env_state.epoch < setup.config.episode_length:
            return Comparison.of_epoch(contributing)
        generator = derive_generator(setup.config.seed, env_state.round_idx, env_state.env_idx, "attribution")
        return Comparison.of_last_epoch(contributing, generator)

    def measure_contributions(
        env_state: ParallelEnvState, accuracies: Sequence[float]
    ) -> CounterfactualMatrix | None:
        """Take in what validation said of each seed, and of each two; None where no seed takes part."""
        comparison, model = env_state.comparison, env_state.model
        matrix = comparison.matrix(accuracies) if comparison.slots else None
        model.record_epoch(accuracies[0], {} if matrix is None else matrix.contributions())
        if matrix is not None:
            env_state.scaffolds.record(env_state.epoch, matrix.interactions(), model.slot_reports())
        env_state.matrix = matrix
        return matrix

    def watch_host(env_state: ParallelEnvState, metrics: EpochCompleted) -> Healthy[ModelSnapshot] | None:
        """Keep a healthy host; put the last healthy one back in place of one that broke, and give what
        was put back.
        """
        model = env_state.model
        verdict = env_state.governor.judge(metrics.val_loss, metrics.val_accuracy)
        healthy = env_state.governor.healthy
        if verdict is None:
            env_state.governor.keep(model.snapshot, env_state.epoch, metrics.val_loss, metrics.val_accuracy)
        elif verdict.rollback and healthy is not None:
            pruned = model.restore(healthy.state, f"rollback: {verdict.symptom}")
            for slot_id in pruned:
                env_state.seed_optimizers.pop(slot_id, None)
            for optimizer in env_state.optimizers:
                reset_momentum(optimizer)
            env_state.governor.rolled_back()
            env_state.rollbacks += 1
            _emit_with_env_context(
                setup.reporter.hub,
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
            return healthy
        return None

    def observe_host(
        env_state: ParallelEnvState, train_totals: Sequence[float], val_totals: Sequence[float]
    ) -> EnvObservation:
        """What an epoch of one env came to: metrics, contributions, the watchdog's word, signals and masks."""
        data, model = setup.subject.data, env_state.model
        accuracies = [correct / data.val_targets for correct in val_totals[1:]]
        matrix = measure_contributions(env_state, accuracies)
        metrics = EpochCompleted(
            train_loss=train_totals[0] / data.train_targets,
            train_accuracy=train_totals[1] / data.train_targets,
            val_loss=val_totals[0] / data.val_targets,
            val_accuracy=accuracies[0],
            train_samples=data.train_targets,
            val_samples=data.val_targets,
            seeds={slot_id: report.stage.name for slot_id, report in model.slot_reports().items()},
            total_params=model.total_parameters,
        )
        train_loss, train_accuracy = metrics.train_loss, metrics.train_accuracy
        val_loss, val_accuracy = metrics.val_loss, metrics.val_accuracy
        penalty = 0.0
        restored = watch_host(env_state, metrics)
        if restored is not None:
            # The policy is to see the host that it has now, not the one that broke.
            train_loss = val_loss = restored.loss
            train_accuracy = val_accuracy = restored.accuracy
            penalty = DEFAULT_GOVERNOR_DEATH_PENALTY
        env_state.val_accuracy = val_accuracy
        env_state.best_accuracy = max(env_state.best_accuracy, val_accuracy)
        before = None if env_state.epoch == 1 else env_state.signal_tracker.peek()
        signals = env_state.signal_tracker.update(
            epoch=env_state.epoch,
            train_loss=train_loss,
            train_accuracy=train_accuracy,
            val_loss=val_loss,
            val_accuracy=val_accuracy,
        )
        reports = model.slot_reports()
        return EnvObservation(
            metrics=metrics,
            matrix=matrix,
            turn=detect_progress(before, signals),
            anomalies=setup.reporter.detector.check_host(metrics.train_loss, metrics.val_loss),
            penalty=penalty,
            signals=signals,
            reports=reports,
            masks=legal_actions(reports),
        )

    def legal_actions(reports: Mapping[str, SeedStateReport]) -> ActionMasks:
        """Which choices an env has."""
        return compute_action_masks(
            build_slot_states(reports, setup.subject.slot_config),
            slot_config=setup.subject.slot_config,
            enabled_slots=setup.subject.slots,
            max_seeds=setup.config.max_seeds,
        )

    def batch_signals_to_features(
        signals: Sequence[TrainingSignals], reports: Sequence[Mapping[str, SeedStateReport]]
    ) -> Tensor:
        """Observation features [envs, features] of all envs."""
        return batch_obs_to_features(
            signals,
            reports,
            setup.subject.slot_config,
            host_params=setup.subject.host_params,
            device=setup.placement.policy_device,
        )

    def choose_actions(round_state: RoundState, observations: Sequence[EnvObservation]) -> HostActions:
        """One batched policy call and one transfer of all heads; or what the rules say."""
        if agent is None:
            return HostActions.certain(
                [rule_based.decide(seen.signals, seen.reports, seen.masks) for seen in observations]
            )
        features = batch_signals_to_features(
            [seen.signals for seen in observations], [seen.reports for seen in observations]
        )
        masks = stack_action_masks([seen.masks for seen in observations], setup.placement.policy_device)
        noise = agent.draw_noise([env_state.action_generator for env_state in round_state.env_states])
        decision = agent.get_action(features, masks, round_state.hidden, noise)
        round_state.buffer.add(observations[0].signals.epoch - 1, features, masks, decision)
        round_state.hidden = decision.hidden
        return decision.to_host()

    def execute_action(
        env_state: ParallelEnvState,
        op: LifecycleOp,
        target_slot: str | None,
        action: FactoredAction,
        val_accuracy: float,
    ) -> bool:
        """Do to a slot what was chosen; whether that had an effect."""
        model = env_state.model
        curve = ALPHA_CURVE_CHOICES[action.alpha_curve]
        if target_slot is None:
            return True
        if op is OP_GERMINATE:
            grown = model.germinate_by_action(target_slot, action, val_accuracy)
            if grown:
                env_state.seed_optimizers[target_slot] = create_optimizer(
                    model.seed_parameters(target_slot),
                    setup.subject.task_spec,
                    learning_rate=setup.subject.task_spec.seed_lr,
                )
            return grown
        if op is OP_SET_ALPHA_TARGET:
            return model.slot(target_slot).retarget(
                ALPHA_TARGET_VALUES[action.alpha_target],
                steps=ALPHA_SPEED_STEPS[action.alpha_speed],
                curve=curve.curve,
                steepness=curve.steepness,
            )
        if op is OP_PRUNE:
            return model.slot(target_slot).prune(
                "policy",
                steps=ALPHA_SPEED_STEPS[action.alpha_speed],
                curve=curve.curve,
                steepness=curve.steepness,
            )
        if op is OP_FOSSILIZE:
            return model.slot(target_slot).fossilize()
        if op is OP_ADVANCE:
            return _advance_active_seed(model, target_slot)
        raise RuntimeError(f"no way to execute {op.name}")

    def end_env_step(env_state: ParallelEnvState) -> None:
        """Let every slot tick once; seeds that are gone need no optimizer."""
        env_state.model.step_epoch()
        live = env_state.model.live_slots()
        for slot_id in [slot_id for slot_id in env_state.seed_optimizers if slot_id not in live]:
            del env_state.seed_optimizers[slot_id]

    def reward_step(
        env_state: ParallelEnvState,
        seen: EnvObservation,
        op: LifecycleOp,
        target_slot: str | None,
        success: bool,
    ) -> tuple[float, dict[str, float]]:
        """The raw reward of one env-step, and the parts that sum to it."""
        after = env_state.model.slot_reports()
        rent = compute_rent_and_shock_inputs(after, env_state.alphas)
        env_state.alphas = {slot_id: report.alpha for slot_id, report in after.items()}
        credits = env_state.scaffolds.settle(
            env_state.epoch, seen.reports, after, seen.signals.val_accuracy, setup.reward_config
        )
        if setup.reward_config.pays_scaffolds and setup.reporter.telemetry.wants(TelemetryLevel.NORMAL):
            _emit_scaffold_credits(setup.reporter.hub, env_state, credits)
        reward_inputs = RewardInputs(
            op=op,
            success=success,
            slot_id=target_slot,
            before=seen.reports,
            after=after,
            signals=seen.signals,
            host_params=setup.subject.host_params,
            rent=rent,
            escrow=env_state.escrow,
            scaffold_credit=math.fsum(credit.credit for credit in credits),
        )
        if setup.reward_config.family is RewardFamily.LOSS:
            breakdown = compute_loss_reward(reward_inputs, setup.reward_config)
        else:
            breakdown = compute_reward(reward_inputs, setup.reward_config)
        env_state.escrow = dict(breakdown.escrow)
        components = dict(breakdown.components)
        reward = breakdown.total
        if seen.penalty:
            components["rollback"] = -seen.penalty
            reward -= seen.penalty
        return reward, components

    def report_env_step(env_state: ParallelEnvState, seen: EnvObservation) -> None:
        """Emit what an epoch of one env came to, before what was done about it."""
        if seen.matrix is not None:
            _emit_counterfactual(setup.reporter.hub, env_state, seen.matrix)
        elif seen.metrics.seeds:
            _emit_cf_unavailable(
                setup.reporter.hub, env_state, "no seed changes the output", tuple(seen.metrics.seeds)
            )
        _emit_with_env_context(setup.reporter.hub, env_state, seen.metrics)
        if seen.turn is not None:
            _emit_with_env_context(setup.reporter.hub, env_state, seen.turn)

    def execute_actions(
        round_state: RoundState, observations: Sequence[EnvObservation], host_actions: HostActions
    ) -> ActionExecutionResult:
        """Act, env by env; reward, count and report each; the counts of the round grow in place."""
        step = observations[0].signals.epoch - 1
        normalised: list[float] = []
        dones: list[bool] = []
        result = ActionExecutionResult()
        for env_idx, env_state in enumerate(round_state.env_states):
            seen = observations[env_idx]
            action = host_actions.actions[env_idx]
            op, target_slot, choices = _parse_sampled_action(env_state, action)
            success = execute_action(env_state, op, target_slot, action, seen.signals.val_accuracy)
            end_env_step(env_state)
            reward, components = reward_step(env_state, seen, op, target_slot, success)
            normalised.append(progress.reward_normalizer.normalize(reward))
            env_state.rewards.append(reward)
            round_state.rewards.append(reward)
            for name, value in components.items():
                round_state.components.setdefault(name, []).append(value)
            round_state.action_counts[op.name] += 1
            round_state.action_successes[op.name] += success
            round_state.mask_hits.update(name for name, hit in seen.masks.masked_heads().items() if hit)
            if setup.reporter.telemetry.wants(TelemetryLevel.NORMAL):
                report_env_step(env_state, seen)
                _emit_last_action(
                    setup.reporter.hub,
                    env_state,
                    op=op,
                    target_slot=target_slot,
                    choices=choices,
                    success=success,
                    reward=reward,
                    normalised_reward=normalised[-1],
                    reward_components=components,
                    value=host_actions.values[env_idx],
                    log_probs=host_actions.log_probs[env_idx],
                    confidences=host_actions.confidences[env_idx],
                    masks=seen.masks,
                )
            at_end = env_state.epoch == setup.config.episode_length
            dones.append(at_end and setup.reward_config.pays_at_end)
            if at_end:
                reports = env_state.model.slot_reports()
                if not setup.reward_config.pays_at_end:
                    result.truncated_bootstrap_targets.append((env_idx, step))
                result.post_action_signals.append(env_state.signal_tracker.peek())
                result.post_action_slot_reports.append(reports)
                result.post_action_masks.append(legal_actions(reports))
        round_state.buffer.set_rewards(step, normalised, dones=dones)
        progress.env_steps += len(normalised)
        return result

    def watch_hosts(round_state: RoundState, observations: Sequence[EnvObservation]) -> None:
        """Emit what is wrong with hosts after an epoch, and adapt the level of telemetry to it."""
        anomalies: list[AnomalyDetected] = []
        for env_state, seen in zip(round_state.env_states, observations, strict=True):
            for anomaly in seen.anomalies:
                _emit_with_env_context(setup.reporter.hub, env_state, anomaly, severity="warning")
                anomalies.append(anomaly)
        _handle_telemetry_escalation(
            setup.reporter.hub,
            setup.reporter.telemetry,
            anomalies,
            round_idx=round_state.round_idx,
            epoch=observations[0].signals.epoch,
        )

    def update_policy(
        round_state: RoundState, last: ActionExecutionResult
    ) -> tuple[PPOUpdateResult, float] | None:
        """Learn from the round; None for a policy that does not learn.

        The states after the last actions count where the time limit cut an episode off, and not where its end
        was paid for.
        """
        if agent is None:
            return None
        features = batch_signals_to_features(last.post_action_signals, last.post_action_slot_reports)
        bootstrap_values = agent.bootstrap_values(features, round_state.hidden)
        updated = _run_ppo_updates(
            agent,
            round_state.buffer,
            bootstrap_values,
            entropy_coef=round_state.entropy_coef,
            timer=CUDATimer(setup.placement.policy_device),
        )
        progress.reward_normalizer.update(round_state.rewards)
        return updated

    def report_update(
        round_state: RoundState, update: PPOUpdateResult, update_s: float
    ) -> list[AnomalyDetected]:
        """Emit what a policy update did; what is wrong with it."""
        layer_stats = collect_per_layer_gradients(agent.policy)
        stability = check_numerical_stability(agent.policy)
        _emit_ppo_update_event(
            setup.reporter.hub,
            round_state.round_idx,
            update,
            entropy_coef=round_state.entropy_coef,
            grad_norm_surrogate=_compute_grad_norm_surrogate(layer_stats),
            duration_s=update_s,
        )
        anomalies = setup.reporter.detector.check_update(update, stability)
        gradient_health = _aggregate_layer_gradient_health(layer_stats)
        wanted = bool(anomalies) or setup.reporter.telemetry.wants(TelemetryLevel.DEBUG)
        if gradient_health is not None and wanted:
            setup.reporter.hub.emit(
                TelemetryEvent(data=gradient_health, round=round_state.round_idx, severity="debug")
            )
        return anomalies

    def report_episodes(round_state: RoundState) -> dict[str, float]:
        """Emit what every env came to, and the round's means and sums."""
        for env_state in round_state.env_states:
            if env_state.matrix is not None and setup.reporter.telemetry.wants(TelemetryLevel.NORMAL):
                shares = env_state.comparison.shapley(env_state.matrix)
                _emit_shapley(setup.reporter.hub, env_state, env_state.matrix, shares)
            _emit_with_env_context(
                setup.reporter.hub,
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
                    host_params=setup.subject.host_params,
                ),
            )
        return _aggregate_ticker_metrics(round_state.env_states)

    def report_round(round_state: RoundState, updated: tuple[PPOUpdateResult, float] | None) -> None:
        """Emit a finished round, count it, and adapt the level of telemetry to what was found."""
        hub, round_idx = setup.reporter.hub, round_state.round_idx
        env_steps = len(round_state.rewards)
        ticker = report_episodes(round_state)
        progress.final_accuracy = ticker["mean_accuracy"]
        progress.best_accuracy = max(progress.best_accuracy, ticker["best_accuracy"])
        if progress.rolling_accuracies:
            _check_performance_degradation(
                hub, round_idx, progress.final_accuracy, statistics.fmean(progress.rolling_accuracies)
            )
        progress.rolling_accuracies.append(progress.final_accuracy)
        if setup.reporter.telemetry.wants(TelemetryLevel.NORMAL):
            _emit_mask_hit_rates(hub, round_idx, round_state.mask_hits, env_steps)
            _emit_action_distribution(hub, round_idx, round_state.action_counts, round_state.action_successes)
            _emit_reward_summary(hub, round_idx, round_state.rewards, round_state.components)
        anomalies = [] if updated is None else report_update(round_state, *updated)
        _emit_anomaly_diagnostics(hub, round_idx, anomalies)
        _handle_telemetry_escalation(hub, setup.reporter.telemetry, anomalies, round_idx=round_idx)
        _emit_batch_completed(
            hub, round_idx, ticker, round_state.env_states, statistics.fmean(progress.rolling_accuracies)
        )
        _emit_throughput(
            hub,
            round_idx,
            env_steps=env_steps,
            images=round_state.images,
            duration_s=time.perf_counter() - round_state.started,
            phase_s=round_state.phase_s,
        )
        progress.rounds.append(
            RoundResult(
                accuracies=tuple(env_state.val_accuracy for env_state in round_state.env_states),
                returns=tuple(math.fsum(env_state.rewards) for env_state in round_state.env_states),
                policy_metrics={} if updated is None else dict(updated[0].metrics),
            )
        )
        for env_state in round_state.env_states:
            # Slots and their env know each other; let go, so that hosts are freed as soon as they are replaced.
            _apply_slot_telemetry(env_state.model, None)

    def save_checkpoint(rounds: int) -> None:
        """Write all that the next round follows from, if that was asked for."""
        if agent is None or setup.config.save is None:
            return
        agent.save(
            setup.config.save,
            TrainingProgress(
                settings=setup.config.outcome_settings(),
                rounds=rounds,
                reward_normalizer=progress.reward_normalizer.state_dict(),
                rolling_accuracies=list(progress.rolling_accuracies),
                best_accuracy=progress.best_accuracy,
                escalated_epochs=setup.reporter.telemetry.escalated_epochs,
                anomaly_detector=setup.reporter.detector.state_dict(),
            ).model_dump(),
        )

    def report_start() -> None:
        """Emit the run as configured."""
        setup.reporter.hub.emit(
            TelemetryEvent(
                data=RunStarted(
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
                    device=", ".join(
                        dict.fromkeys(str(env_device) for env_device in setup.placement.env_devices)
                    ),
                    config=setup.config.outcome_settings(),
                )
            )
        )

    def report_end() -> None:
        """Emit what the run came to."""
        setup.reporter.hub.emit(
            TelemetryEvent(
                data=RunCompleted(
                    rounds=len(progress.rounds),
                    env_steps=progress.env_steps,
                    best_accuracy=progress.best_accuracy,
                    final_accuracy=progress.final_accuracy,
                    duration_s=time.perf_counter() - run_started,
                )
            )
        )

    report_start()
    # An interrupted run can go on from here, whenever that happens.
    save_checkpoint(progress.first_round)

    # --- rounds ---
    for round_idx in range(progress.first_round, setup.config.rounds):
        round_state = begin_round(round_idx)
        seconds = round_state.phase_s
        last = ActionExecutionResult()
        for epoch in range(1, setup.config.episode_length + 1):
            with timed(seconds, "train"):
                train_totals = train_hosts(round_state, epoch)
            with timed(seconds, "validate"):
                val_totals = validate_hosts(round_state)
            with timed(seconds, "decide"):
                observations = [
                    observe_host(*parts)
                    for parts in zip(round_state.env_states, train_totals, val_totals, strict=True)
                ]
                host_actions = choose_actions(round_state, observations)
            with timed(seconds, "act"):
                last = execute_actions(round_state, observations, host_actions)
                watch_hosts(round_state, observations)
        with timed(seconds, "update"):
            updated = update_policy(round_state, last)
        report_round(round_state, updated)
        save_checkpoint(round_idx + 1)

    # --- result ---
    report_end()
    return TrainingResult(agent=agent, rounds=tuple(progress.rounds))
