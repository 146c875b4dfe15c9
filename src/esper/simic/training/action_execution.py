"""From sampled actions to what an engine is to do with slots, and what that was worth."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
from esper.simic.agent import HostActions
from esper.simic.decisions import Decision, StepReward
from esper.simic.rewards import (
    RewardConfig,
    RewardFamily,
    RewardInputs,
    ScaffoldCredit,
    compute_loss_reward,
    compute_rent_and_shock_inputs,
    compute_reward,
)
from esper.simic.training.observation import ObservationSpace
from esper.simic.training.parallel_env_state import ParallelEnvState
from esper.simic.training.round_state import EnvObservation, RoundState, StepState


def parse_decisions(host_actions: HostActions, space: ObservationSpace) -> list[Decision]:
    """What was chosen for every env, in words and as the engine takes it."""
    decisions = []
    for env_idx, sampled in enumerate(host_actions.actions):
        action, choices = _parse_sampled_action(env_idx, sampled, space)
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
    env_idx: int, action: FactoredAction, space: ObservationSpace
) -> tuple[SlotAction, dict[str, str]]:
    """What to do with which slot, and the choices of the heads that the operation reads."""
    op = action.lifecycle_op
    slot_id, enabled = resolve_target_slot(action.slot, space.slot_config, space.slots)
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
    reward_config: RewardConfig,
    host_params: int,
) -> tuple[float, dict[str, float], Sequence[ScaffoldCredit]]:
    """The raw reward of one env-step, the parts that sum to it, and the help that was paid for."""
    before, after, signals = seen.host.reports, outcome.reports, seen.host.signals
    rent = compute_rent_and_shock_inputs(after, env_state.alphas)
    env_state.alphas = {slot_id: report.alpha for slot_id, report in after.items()}
    credits = env_state.scaffolds.settle(env_state.epoch, before, after, signals.val_accuracy, reward_config)
    reward_inputs = RewardInputs(
        op=action.op,
        success=outcome.success,
        slot_id=action.slot_id,
        before=before,
        after=after,
        signals=signals,
        host_params=host_params,
        rent=rent,
        escrow=env_state.escrow,
        scaffold_credit=math.fsum(credit.credit for credit in credits),
    )
    if reward_config.family is RewardFamily.LOSS:
        breakdown = compute_loss_reward(reward_inputs, reward_config)
    else:
        breakdown = compute_reward(reward_inputs, reward_config)
    env_state.escrow = dict(breakdown.escrow)
    components = dict(breakdown.components)
    reward = breakdown.total
    if seen.penalty:
        components["rollback"] = -seen.penalty
        reward -= seen.penalty
    return reward, components, credits


def count_step(round_state: RoundState, env_idx: int, reward: StepReward, outcome: ActionOutcome) -> None:
    """Add an env-step to what its step, its env and its round have seen."""
    env_state, step = round_state.env_states[env_idx], round_state.step
    seen, op = step.observations[env_idx], step.decisions[env_idx].action.op
    step.rewards.append(reward)
    env_state.rewards.append(reward.raw)
    round_state.rewards.append(reward.raw)
    for name, value in reward.components.items():
        round_state.components.setdefault(name, []).append(value)
    round_state.action_counts[op.name] += 1
    round_state.action_successes[op.name] += outcome.success
    round_state.mask_hits.update(name for name, hit in seen.masks.masked_heads().items() if hit)


def end_env_step(
    step: StepState,
    env_state: ParallelEnvState,
    outcome: ActionOutcome,
    *,
    at_end: bool,
    pays_at_end: bool,
    space: ObservationSpace,
) -> None:
    """Say whether the episode is over, and keep what the policy's update needs of its last state."""
    step.dones.append(at_end and pays_at_end)
    if at_end:
        if not pays_at_end:
            step.result.truncated_bootstrap_targets.append((env_state.env_idx, env_state.epoch - 1))
        step.result.post_action_signals.append(step.observations[env_state.env_idx].host.signals)
        step.result.post_action_slot_reports.append(dict(outcome.reports))
        step.result.post_action_masks.append(space.masks(outcome.reports))
