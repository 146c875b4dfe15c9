"""The loop of `train_ppo_vectorized` in esper.simic.training.vectorized."""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from esper.leyline import (
    ALPHA_CURVE_CHOICES,
    ALPHA_SPEED_STEPS,
    ALPHA_TARGET_VALUES,
    DEFAULT_GOVERNOR_DEATH_PENALTY,
    OP_ADVANCE,
    OP_FOSSILIZE,
    OP_GERMINATE,
    OP_PRUNE,
    OP_SET_ALPHA_TARGET,
)
from esper.leyline.telemetry import (
    AnomalyDetected,
    CounterfactualComputed,
    EpisodeCompleted,
    EpochCompleted,
    GovernorRollback,
    HostGradientNorms,
    RoundStarted,
    TelemetryEvent,
)
from esper.simic.agent import RolloutBuffer
from esper.simic.rewards import (
    RewardFamily,
    RewardInputs,
    compute_loss_reward,
    compute_rent_and_shock_inputs,
    compute_reward,
)
from esper.simic.telemetry import TelemetryLevel, split_gradient_norms
from esper.simic.telemetry.emitters import (
    _aggregate_layer_gradient_health,
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
from esper.simic.training.action_execution import _parse_sampled_action
from esper.simic.training.batch_ops import batch_signals_to_features, process_train_batch, process_val_batch
from esper.simic.training.checkpoint import TrainingProgress
from esper.simic.training.counterfactual_eval import process_fused_val_batch
from esper.simic.training.env_factory import create_env_state
from esper.simic.training.helpers import _emit_anomaly_diagnostics, _handle_telemetry_escalation
from esper.kasmina.lifecycle import advance_active_seed
from esper.simic.telemetry.aggregation import aggregate_ticker_metrics
from esper.simic.training.runner import run_ppo_updates
from esper.simic.training.result import RoundResult
from esper.tolaria.optimizers import create_optimizer, reset_momentum
from esper.tolaria.runtime import synchronise
from esper.tolaria.seeding import derive_seed

if TYPE_CHECKING:
    from esper.leyline import SeedStateReport, TrainingSignals
    from esper.leyline.task import TaskSpec
    from esper.simic.telemetry import TelemetryConfig
    from esper.simic.training.config import TrainingConfig
    from esper.simic.training.parallel_env_state import ParallelEnvState
    from esper.tamiyo import ActionMasks


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What the loop of `train_ppo_vectorized` needs."""

    config: TrainingConfig
    task_spec: TaskSpec
    settings: Any
    slot_config: Any
    slots: Any
    reward_config: Any
    n_envs: Any
    max_epochs: Any
    max_configurations: Any
    first_round: Any
    entropy_anneal_steps: Any
    host_params: Any
    KL_ALARM: Any


@dataclass(frozen=True, slots=True)
class Devices:
    """What the loop of `train_ppo_vectorized` needs."""

    device: Any
    env_devices: Any
    amp_dtype: Any
    use_amp: Any
    update_timer: Any


@dataclass(frozen=True, slots=True)
class Progress:
    """What the loop of `train_ppo_vectorized` needs."""

    round_results: list[RoundResult]
    rolling_accuracies: Any
    best_accuracy: Any
    final_accuracy: Any
    total_env_steps: Any
    reward_normalizer: Any


@dataclass(frozen=True, slots=True)
class LateImports:
    """What the loop of `train_ppo_vectorized` needs."""

    create_model: Any
    SignalTracker: Any
    batch_obs_to_features: Any
    build_slot_states: Any
    compute_action_masks: Any
    stack_action_masks: Any
    collect_host_gradients_async: Any


@dataclass(frozen=True, slots=True)
class Seams:
    """What the loop of `train_ppo_vectorized` needs."""

    SharedBatchIterator: Any
    torch_amp: Any
    collect_per_layer_gradients: Any
    check_numerical_stability: Any


@dataclass(frozen=True, slots=True)
class VectorizedPPOTrainer:
    """Rounds of training: fresh hosts, their epochs in lockstep, and one update of the policy."""

    run_settings: RunSettings
    devices: Devices
    progress: Progress
    late_imports: LateImports
    seams: Seams
    hub: Any
    telemetry: TelemetryConfig
    data: Any
    agent: Any
    val_batches: Any

    def run(self) -> tuple[Any, Any, Any]:
        """Run the loop; total_env_steps, final_accuracy, best_accuracy as it leaves them."""
        first_round = self.run_settings.first_round
        config = self.run_settings.config
        entropy_anneal_steps = self.run_settings.entropy_anneal_steps
        hub = self.hub
        n_envs = self.run_settings.n_envs
        create_model = self.late_imports.create_model
        task_spec = self.run_settings.task_spec
        slot_config = self.run_settings.slot_config
        slots = self.run_settings.slots
        device = self.devices.device
        SignalTracker = self.late_imports.SignalTracker
        max_epochs = self.run_settings.max_epochs
        max_configurations = self.run_settings.max_configurations
        telemetry = self.telemetry
        data = self.data
        env_devices = self.devices.env_devices
        agent = self.agent
        amp_dtype = self.devices.amp_dtype
        use_amp = self.devices.use_amp
        collect_host_gradients_async = self.late_imports.collect_host_gradients_async
        val_batches = self.val_batches
        compute_action_masks = self.late_imports.compute_action_masks
        build_slot_states = self.late_imports.build_slot_states
        batch_obs_to_features = self.late_imports.batch_obs_to_features
        host_params = self.run_settings.host_params
        stack_action_masks = self.late_imports.stack_action_masks
        reward_config = self.run_settings.reward_config
        reward_normalizer = self.progress.reward_normalizer
        total_env_steps = self.progress.total_env_steps
        update_timer = self.devices.update_timer
        final_accuracy = self.progress.final_accuracy
        best_accuracy = self.progress.best_accuracy
        rolling_accuracies = self.progress.rolling_accuracies
        round_results = self.progress.round_results
        settings = self.run_settings.settings
        SharedBatchIterator = self.seams.SharedBatchIterator
        torch_amp = self.seams.torch_amp
        collect_per_layer_gradients = self.seams.collect_per_layer_gradients
        check_numerical_stability = self.seams.check_numerical_stability
        KL_ALARM = self.run_settings.KL_ALARM

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
                env_states.append(create_env_state(
                    env_idx,
                    round_idx,
                    create_model=create_model,
                    task_spec=task_spec,
                    slot_config=slot_config,
                    slots=slots,
                    config=config,
                    device=device,
                    SignalTracker=SignalTracker,
                    max_epochs=max_epochs,
                    max_configurations=max_configurations,
                    telemetry=telemetry,
                    hub=hub,
                ))
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
                        process_train_batch(
                            env_states[env_idx],
                            inputs,
                            targets,
                            batch_idx,
                            torch_amp=torch_amp,
                            device=device,
                            amp_dtype=amp_dtype,
                            use_amp=use_amp,
                            telemetry=telemetry,
                            collect_host_gradients_async=collect_host_gradients_async,
                            slots=slots,
                        )
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
                            process_fused_val_batch(
                                env_states[env_idx],
                                inputs,
                                targets,
                                torch_amp=torch_amp,
                                device=device,
                                amp_dtype=amp_dtype,
                                use_amp=use_amp,
                            )
                        else:
                            process_val_batch(
                                env_states[env_idx],
                                inputs,
                                targets,
                                torch_amp=torch_amp,
                                device=device,
                                amp_dtype=amp_dtype,
                                use_amp=use_amp,
                            )
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
                features = batch_signals_to_features(
                    all_signals,
                    all_reports,
                    batch_obs_to_features=batch_obs_to_features,
                    slot_config=slot_config,
                    host_params=host_params,
                    device=device,
                )
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
                    op, target_slot, choices = _parse_sampled_action(
                        env_state,
                        action,
                        slot_config=slot_config,
                        slots=slots,
                    )
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
                        success = advance_active_seed(model, target_slot)
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
                batch_signals_to_features(
                    post_action_signals,
                    post_action_slot_reports,
                    batch_obs_to_features=batch_obs_to_features,
                    slot_config=slot_config,
                    host_params=host_params,
                    device=device,
                ), hidden
            )
            update, update_s = run_ppo_updates(
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
            ticker = aggregate_ticker_metrics(env_states)
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
        return total_env_steps, final_accuracy, best_accuracy
