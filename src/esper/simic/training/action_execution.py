"""One step of the agent: what it observes, what it decides, and how that is rewarded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from esper.kasmina.lifecycle import resolve_target_slot
from esper.leyline import (
    ALPHA_CURVE_CHOICES,
    ALPHA_SPEED_NAMES,
    ALPHA_TARGET_VALUES,
    BLUEPRINT_NAMES,
    CAUSAL_HEADS,
    DEFAULT_GOVERNOR_DEATH_PENALTY,
    HEAD_NAMES,
    OP_WAIT,
    STYLE_NAMES,
    TEMPO_NAMES,
    FactoredAction,
    SeedStateReport,
    SlotConfig,
    TrainingSignals,
)
from esper.leyline.rollout import ActionOutcome, HostObservation, SlotAction
from esper.simic.agent import HostActions, PPOAgent
from esper.simic.agent.rollout import Decision, StepReward
from esper.simic.rewards import (
    RewardConfig,
    RewardFamily,
    RewardInputs,
    ScaffoldCredit,
    compute_loss_reward,
    compute_rent_and_shock_inputs,
    compute_reward,
)
from esper.simic.telemetry import AnomalyDetector, detect_progress
from esper.simic.training.round_state import EnvObservation, ParallelEnvState, RoundState, StepState
from esper.tamiyo import (
    ActionMasks,
    HeuristicPolicy,
    batch_obs_to_features,
    build_slot_states,
    compute_action_masks,
    stack_action_masks,
)


@dataclass(frozen=True, slots=True)
class ObservationSpace:
    """Slots of a host, those of them that seeds may grow in, how many at one time, the parameters of a host
    without seeds, and the device of the policy.
    """

    slot_config: SlotConfig
    slots: tuple[str, ...]
    max_seeds: int | None
    host_params: int
    device: torch.device

    def masks(self, reports: Mapping[str, SeedStateReport]) -> ActionMasks:
        """Which choices an env has."""
        return compute_action_masks(
            build_slot_states(reports, self.slot_config),
            slot_config=self.slot_config,
            enabled_slots=self.slots,
            max_seeds=self.max_seeds,
        )

    def features(
        self, signals: Sequence[TrainingSignals], reports: Sequence[Mapping[str, SeedStateReport]]
    ) -> Tensor:
        """Observation features [envs, features] of all envs."""
        return batch_obs_to_features(
            signals, reports, self.slot_config, host_params=self.host_params, device=self.device
        )


def observe_env(
    env_state: ParallelEnvState, host: HostObservation, *, space: ObservationSpace, detector: AnomalyDetector
) -> EnvObservation:
    """Interpret an epoch of one env: turns, anomalies, what a rollback costs, and the choices there are."""
    if env_state.matrix is not None:
        env_state.scaffolds.record(env_state.epoch, env_state.matrix.interactions(), host.measured)
    return EnvObservation(
        host=host,
        turn=detect_progress(host.before, host.signals),
        anomalies=detector.check_host(host.metrics.train_loss, host.metrics.val_loss),
        penalty=DEFAULT_GOVERNOR_DEATH_PENALTY if host.rolled_back else 0.0,
        masks=space.masks(host.reports),
    )


def choose_actions(
    round_state: RoundState,
    observations: Sequence[EnvObservation],
    *,
    policy: PPOAgent | HeuristicPolicy,
    space: ObservationSpace,
) -> HostActions:
    """One batched policy call and one transfer of all heads; or what the rules say."""
    hosts = [seen.host for seen in observations]
    if isinstance(policy, HeuristicPolicy):
        return HostActions.certain(
            [policy.decide(seen.host.signals, seen.host.reports, seen.masks) for seen in observations]
        )
    features = space.features([host.signals for host in hosts], [host.reports for host in hosts])
    masks = stack_action_masks([seen.masks for seen in observations], space.device)
    noise = policy.draw_noise([env_state.action_generator for env_state in round_state.env_states])
    decision = policy.get_action(features, masks, round_state.hidden, noise)
    round_state.buffer.add(hosts[0].signals.epoch - 1, features, masks, decision)
    round_state.hidden = decision.hidden
    return decision.to_host()


def parse_decisions(host_actions: HostActions, space: ObservationSpace) -> list[Decision]:
    """Return the choices for every env, in words and as the engine takes them."""
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
    """Return the operation, its slot, and the choices of the heads that the operation reads."""
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
