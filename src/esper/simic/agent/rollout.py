"""Answers of the policy, the decision for one env, and the rollout of one round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from esper.leyline import HEAD_NAMES, FactoredAction, LifecycleOp, SlotConfig, head_sizes
from esper.leyline.rollout import SlotAction
from esper.tamiyo import Hidden, feature_size

HEADS = len(HEAD_NAMES)


@dataclass(frozen=True, slots=True)
class HostActions:
    """Plain numbers, by environment; inner lists are in the order of HEAD_NAMES."""

    actions: list[FactoredAction]
    log_probs: list[list[float]]
    confidences: list[list[float]]
    values: list[float]

    @classmethod
    def certain(cls, actions: Sequence[FactoredAction]) -> HostActions:
        """Actions that nothing else could have been, of a policy that values no state."""
        ones = [1.0] * HEADS
        return cls(
            actions=list(actions),
            log_probs=[[0.0] * HEADS for _ in actions],
            confidences=[ones for _ in actions],
            values=[0.0] * len(actions),
        )


@dataclass(frozen=True, slots=True)
class ActionBatch:
    """On the device: `actions`, `log_probs`, `confidences` [environments, heads], `values` [environments].

    `confidences` are probabilities of the choices; `hidden` is the recurrent state after the step.
    """

    actions: Tensor
    log_probs: Tensor
    confidences: Tensor
    values: Tensor
    hidden: Hidden

    def to_host(self) -> HostActions:
        """Everything but the recurrent state, in one transfer."""
        # Indices are small integers, exact as floats.
        packed = torch.cat(
            [self.actions.to(self.log_probs), self.log_probs, self.confidences, self.values[:, None]], dim=1
        )
        rows = packed.tolist()
        return HostActions(
            actions=[FactoredAction(*(int(index) for index in row[:HEADS])) for row in rows],
            log_probs=[row[HEADS : 2 * HEADS] for row in rows],
            confidences=[row[2 * HEADS : 3 * HEADS] for row in rows],
            values=[row[3 * HEADS] for row in rows],
        )


class RolloutBuffer:
    """Tensors [environments, steps, ...] on the device, but rewards and dones, which come from the host."""

    def __init__(
        self, num_envs: int, num_steps: int, slot_config: SlotConfig, device: torch.device | str = "cpu"
    ) -> None:
        shape = (num_envs, num_steps)
        sizes = head_sizes(slot_config.num_slots)
        self.num_envs, self.num_steps, self.device = num_envs, num_steps, torch.device(device)
        self.features = torch.zeros(*shape, feature_size(slot_config), device=device)
        self.actions = torch.zeros(*shape, len(HEAD_NAMES), dtype=torch.int64, device=device)
        self.log_probs = torch.zeros(*shape, len(HEAD_NAMES), device=device)
        self.values = torch.zeros(*shape, device=device)
        self.masks = {
            name: torch.ones(*shape, size, dtype=torch.bool, device=device) for name, size in sizes.items()
        }
        self.masks["slot"] = torch.ones(
            *shape, len(LifecycleOp), slot_config.num_slots, dtype=torch.bool, device=device
        )
        self._rewards = torch.zeros(*shape)
        self._dones = torch.zeros(*shape)
        self._acted = [False] * num_steps
        self._rewarded = [False] * num_steps

    def add(self, step: int, features: Tensor, masks: Mapping[str, Tensor], batch: ActionBatch) -> None:
        """Store what was seen and done in all environments at `step`; reads nothing from the device."""
        self.features[:, step] = features
        self.actions[:, step] = batch.actions
        self.log_probs[:, step] = batch.log_probs
        self.values[:, step] = batch.values
        for name, stored in self.masks.items():
            stored[:, step] = masks[name]
        self._acted[step] = True

    def set_rewards(
        self, step: int, rewards: Sequence[float], *, dones: Sequence[bool] | None = None
    ) -> None:
        """Store what came of it; `dones` where an episode truly ended, so that nothing follows."""
        self._rewards[:, step] = torch.tensor(rewards)
        if dones is not None:
            self._dones[:, step] = torch.tensor(dones, dtype=torch.float32)
        self._rewarded[step] = True

    def check_complete(self) -> None:
        """ValueError naming the first step that lacks actions or rewards."""
        for step, (acted, rewarded) in enumerate(zip(self._acted, self._rewarded, strict=True)):
            if not (acted and rewarded):
                raise ValueError(f"step {step} of the rollout has no {'rewards' if acted else 'actions'}")

    def rewards_and_dones(self) -> tuple[Tensor, Tensor]:
        """Both [environments, steps], on the device, in one transfer."""
        packed = torch.stack([self._rewards, self._dones]).to(self.device)
        return packed[0], packed[1]


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision for one env: the action, the choices of the heads that its operation reads, and what
    the policy thinks of the state and of every head's choice, in the order of HEAD_NAMES.
    """

    action: SlotAction
    choices: Mapping[str, str]
    value: float
    log_probs: Sequence[float]
    confidences: Sequence[float]


@dataclass(frozen=True, slots=True)
class StepReward:
    """Reward of one env-step: the raw reward, the parts that sum to it, and what the policy is told."""

    raw: float
    components: Mapping[str, float]
    normalised: float
