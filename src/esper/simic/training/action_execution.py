"""From sampled actions to what an engine is to do with slots, and what that was worth."""

from __future__ import annotations

import math

from esper.kasmina.lifecycle import resolve_target_slot
from esper.leyline import (
    ALPHA_CURVE_CHOICES,
    ALPHA_SPEED_NAMES,
    ALPHA_TARGET_VALUES,
    BLUEPRINT_NAMES,
    CAUSAL_HEADS,
    HEAD_NAMES,
    OP_WAIT,
    STYLE_NAMES,
    TEMPO_NAMES,
    FactoredAction,
)
from esper.leyline.rollout import ActionOutcome, SlotAction
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
    emit_cf_unavailable,
    emit_counterfactual,
    emit_last_action,
    emit_scaffold_credits,
    emit_with_env_context,
)
from esper.simic.training.helpers import handle_telemetry_escalation
from esper.simic.training.observation import legal_actions
from esper.simic.training.parallel_env_state import ParallelEnvState
from esper.simic.training.run_state import (
    ActionExecutionResult,
    Decision,
    EnvObservation,
    RoundState,
    RunProgress,
    RunSetup,
    StepReward,
)


def parse_decisions(host_actions: HostActions, *, setup: RunSetup) -> list[Decision]:
    """What was chosen for every env, in words and as the engine takes it."""
    decisions = []
    for env_idx, sampled in enumerate(host_actions.actions):
        action, choices = _parse_sampled_action(env_idx, sampled, setup=setup)
        decisions.append(
            Decision(
                action=action,
                choices=choices,
                value=host_actions.values[env_idx],
                log_probs=host_actions.log_probs[env_idx],
                confidences=host_actions.confidences[env_idx],
            )
        )
    return decisions


def _parse_sampled_action(
    env_idx: int, action: FactoredAction, *, setup: RunSetup
) -> tuple[SlotAction, dict[str, str]]:
    """What to do with which slot, and the choices of the heads that the operation reads."""
    op = action.lifecycle_op
    slot_id, enabled = resolve_target_slot(action.slot, setup.subject.slot_config, setup.subject.slots)
    if op is not OP_WAIT and not enabled:
        raise RuntimeError(f"env {env_idx}: the policy chose {op.name} in {slot_id}, not enabled")
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
    return SlotAction(op, None if op is OP_WAIT else slot_id, action), choices


def reward_step(
    env_state: ParallelEnvState,
    seen: EnvObservation,
    action: SlotAction,
    outcome: ActionOutcome,
    *,
    setup: RunSetup,
) -> tuple[float, dict[str, float]]:
    """The raw reward of one env-step, and the parts that sum to it."""
    before, after, signals = seen.host.reports, outcome.reports, seen.host.signals
    rent = compute_rent_and_shock_inputs(after, env_state.alphas)
    env_state.alphas = {slot_id: report.alpha for slot_id, report in after.items()}
    credits = env_state.scaffolds.settle(
        env_state.epoch, before, after, signals.val_accuracy, setup.reward_config
    )
    if setup.reward_config.pays_scaffolds and setup.reporter.telemetry.wants(TelemetryLevel.NORMAL):
        emit_scaffold_credits(setup.reporter.hub, env_state, credits)
    reward_inputs = RewardInputs(
        op=action.op,
        success=outcome.success,
        slot_id=action.slot_id,
        before=before,
        after=after,
        signals=signals,
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
    metrics = seen.host.metrics
    if env_state.matrix is not None:
        emit_counterfactual(setup.reporter.hub, env_state, env_state.matrix)
    elif metrics.seeds:
        emit_cf_unavailable(setup.reporter.hub, env_state, "no seed changes the output", tuple(metrics.seeds))
    emit_with_env_context(setup.reporter.hub, env_state, metrics)
    if seen.turn is not None:
        emit_with_env_context(setup.reporter.hub, env_state, seen.turn)


def reward_action(
    round_state: RoundState, env_idx: int, outcome: ActionOutcome, *, setup: RunSetup, progress: RunProgress
) -> None:
    """Reward, count and report what became of one env's action; step and round grow in place."""
    env_state, step = round_state.env_states[env_idx], round_state.step
    seen, decision = step.observations[env_idx], step.decisions[env_idx]
    op = decision.action.op
    raw, components = reward_step(env_state, seen, decision.action, outcome, setup=setup)
    reward = StepReward(raw, components, progress.reward_normalizer.normalize(raw))
    step.rewards.append(reward)
    env_state.rewards.append(raw)
    round_state.rewards.append(raw)
    for name, value in components.items():
        round_state.components.setdefault(name, []).append(value)
    round_state.action_counts[op.name] += 1
    round_state.action_successes[op.name] += outcome.success
    round_state.mask_hits.update(name for name, hit in seen.masks.masked_heads().items() if hit)
    if setup.reporter.telemetry.wants(TelemetryLevel.NORMAL):
        report_env_step(env_state, seen, setup=setup)
        emit_last_action(setup.reporter.hub, env_state, decision, reward, outcome, seen.masks)
    at_end = env_state.epoch == setup.config.episode_length
    step.dones.append(at_end and setup.reward_config.pays_at_end)
    if at_end:
        if not setup.reward_config.pays_at_end:
            step.result.truncated_bootstrap_targets.append((env_idx, env_state.epoch - 1))
        step.result.post_action_signals.append(seen.host.signals)
        step.result.post_action_slot_reports.append(dict(outcome.reports))
        step.result.post_action_masks.append(legal_actions(outcome.reports, setup=setup))


def end_step(round_state: RoundState, *, setup: RunSetup, progress: RunProgress) -> ActionExecutionResult:
    """Hand the rewards of all envs to the policy's memory, and report what is wrong with hosts."""
    step = round_state.step
    normalised = [reward.normalised for reward in step.rewards]
    round_state.buffer.set_rewards(round_state.env_states[0].epoch - 1, normalised, dones=step.dones)
    progress.env_steps += len(normalised)
    watch_hosts(round_state, setup=setup)
    return step.result


def watch_hosts(round_state: RoundState, *, setup: RunSetup) -> None:
    """Emit what is wrong with hosts after an epoch, and adapt the level of telemetry to it."""
    anomalies: list[AnomalyDetected] = []
    for env_state, seen in zip(round_state.env_states, round_state.step.observations, strict=True):
        for anomaly in seen.anomalies:
            emit_with_env_context(setup.reporter.hub, env_state, anomaly, severity="warning")
            anomalies.append(anomaly)
    handle_telemetry_escalation(
        setup.reporter.hub,
        setup.reporter.telemetry,
        anomalies,
        round_idx=round_state.round_idx,
        epoch=round_state.env_states[0].epoch,
    )
