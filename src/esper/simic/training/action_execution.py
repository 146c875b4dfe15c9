"""From sampled actions to what is done with slots, and what that is worth."""

from __future__ import annotations

import math
from collections.abc import Sequence

from esper.leyline import (
    ALPHA_CURVE_CHOICES,
    ALPHA_SPEED_NAMES,
    ALPHA_SPEED_STEPS,
    ALPHA_TARGET_VALUES,
    BLUEPRINT_NAMES,
    CAUSAL_HEADS,
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
)
from esper.leyline.telemetry import AnomalyDetected
from esper.simic.agent import HostActions
from esper.simic.rewards import (
    RewardFamily,
    RewardInputs,
    compute_loss_reward,
    compute_rent_and_shock_inputs,
    compute_reward,
)
from esper.simic.telemetry import TelemetryLevel
from esper.simic.telemetry.emitters import (
    _emit_cf_unavailable,
    _emit_counterfactual,
    _emit_last_action,
    _emit_scaffold_credits,
    _emit_with_env_context,
)
from esper.simic.training.helpers import _handle_telemetry_escalation
from esper.kasmina.lifecycle import advance_active_seed
from esper.kasmina.lifecycle import resolve_target_slot
from esper.simic.training.observation import legal_actions
from esper.simic.training.parallel_env_state import ParallelEnvState
from esper.simic.training.run_state import (
    ActionExecutionResult,
    EnvObservation,
    RoundState,
    RunProgress,
    RunSetup,
)
from esper.tolaria.optimizers import create_optimizer


def _parse_sampled_action(
    env_state: ParallelEnvState,
    action: FactoredAction,
    *,
    setup: RunSetup,
) -> tuple[LifecycleOp, str | None, dict[str, str]]:
    """The operation, the slot that it acts on (None for a wait), and the choices of the heads it
    reads.
    """
    op = action.lifecycle_op
    slot_id, enabled = resolve_target_slot(action.slot, setup.subject.slot_config, setup.subject.slots)
    if op is not OP_WAIT and not enabled:
        raise RuntimeError(f"env {env_state.env_idx}: the policy chose {op.name} in {slot_id}, not enabled")
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


def execute_action(
    env_state: ParallelEnvState,
    op: LifecycleOp,
    target_slot: str | None,
    action: FactoredAction,
    val_accuracy: float,
    *,
    setup: RunSetup,
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
        return model.set_alpha_target(
            target_slot,
            ALPHA_TARGET_VALUES[action.alpha_target],
            steps=ALPHA_SPEED_STEPS[action.alpha_speed],
            curve=curve.curve,
            steepness=curve.steepness,
        )
    if op is OP_PRUNE:
        return model.prune(
            target_slot,
            "policy",
            steps=ALPHA_SPEED_STEPS[action.alpha_speed],
            curve=curve.curve,
            steepness=curve.steepness,
        )
    if op is OP_FOSSILIZE:
        return model.fossilize(target_slot)
    if op is OP_ADVANCE:
        return advance_active_seed(model, target_slot)
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
    *,
    setup: RunSetup,
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


def report_env_step(env_state: ParallelEnvState, seen: EnvObservation, *, setup: RunSetup) -> None:
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
    round_state: RoundState,
    observations: Sequence[EnvObservation],
    host_actions: HostActions,
    *,
    setup: RunSetup,
    progress: RunProgress,
) -> ActionExecutionResult:
    """Act, env by env; reward, count and report each; the counts of the round grow in place."""
    step = observations[0].signals.epoch - 1
    normalised: list[float] = []
    dones: list[bool] = []
    result = ActionExecutionResult()
    for env_idx, env_state in enumerate(round_state.env_states):
        seen = observations[env_idx]
        action = host_actions.actions[env_idx]
        op, target_slot, choices = _parse_sampled_action(env_state, action, setup=setup)
        success = execute_action(env_state, op, target_slot, action, seen.signals.val_accuracy, setup=setup)
        end_env_step(env_state)
        reward, components = reward_step(env_state, seen, op, target_slot, success, setup=setup)
        normalised.append(progress.reward_normalizer.normalize(reward))
        env_state.rewards.append(reward)
        round_state.rewards.append(reward)
        for name, value in components.items():
            round_state.components.setdefault(name, []).append(value)
        round_state.action_counts[op.name] += 1
        round_state.action_successes[op.name] += success
        round_state.mask_hits.update(name for name, hit in seen.masks.masked_heads().items() if hit)
        if setup.reporter.telemetry.wants(TelemetryLevel.NORMAL):
            report_env_step(env_state, seen, setup=setup)
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
            result.post_action_masks.append(legal_actions(reports, setup=setup))
    round_state.buffer.set_rewards(step, normalised, dones=dones)
    progress.env_steps += len(normalised)
    return result


def watch_hosts(round_state: RoundState, observations: Sequence[EnvObservation], *, setup: RunSetup) -> None:
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
