"""Recurrent PPO: the agent, its advantages, its loss and its update."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer

from esper.leyline import SlotConfig
from esper.leyline.errors import InputError
from esper.simic.agent.checkpoint import read_checkpoint, write_checkpoint
from esper.simic.agent.config import PPOConfig
from esper.simic.agent.rollout import ActionBatch, RolloutBuffer
from esper.simic.control import RunningMeanStd
from esper.tamiyo import (
    FactoredRecurrentActorCritic,
    Hidden,
    PolicyOutput,
    choose_actions,
    create_policy,
    draw_noise,
    evaluate_actions,
    feature_size,
)

ROW_BLOCK = 16
"""Environments are computed in blocks of exactly this many rows.

The bits of a matrix product's row depend on how many rows there are; with a fixed number, on that row
alone, so an environment's decisions don't change with its neighbours.
"""


@dataclass(frozen=True, slots=True)
class PPOUpdateResult:
    """The `epochs` in which optimizer steps were taken, and means of the metrics over these steps.

    `skipped` is the reason why a step was refused; `stopped_early` says that the policy moved far enough.
    """

    skipped: str | None
    epochs: int
    stopped_early: bool
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RolloutTensors:
    """A rollout as the loss reads it, all [environments, steps, ...]; features and returns normalised."""

    features: Tensor
    masks: Mapping[str, Tensor]
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor

    def of(self, envs: Tensor) -> RolloutTensors:
        """The part of some environments."""
        masks = {name: mask[envs] for name, mask in self.masks.items()}
        names = ("features", "actions", "log_probs", "advantages", "returns")
        return RolloutTensors(masks=masks, **{name: getattr(self, name)[envs] for name in names})


@dataclass(frozen=True, slots=True)
class ReturnScale:
    """Mean and standard deviation of a round's discounted returns: the units in which values are learnt."""

    mean: float = 0.0
    std: float = 1.0

    @classmethod
    def of(cls, rewards: Tensor, dones: Tensor, discount: float) -> ReturnScale:
        """The scale of one round's rewards [environments, steps]; 0 and 1 if they are no numbers.

        It follows from this round alone: if rewards come in other units than in the round before, the values
        learnt so far, which are relative to a round, stay right.
        """
        returns = torch.zeros_like(rewards)
        running = torch.zeros_like(rewards[:, 0])
        for step in reversed(range(rewards.shape[1])):
            running = rewards[:, step] + discount * (1.0 - dones[:, step]) * running
            returns[:, step] = running
        mean, std = torch.stack([returns.mean(), returns.std(correction=0)]).tolist()
        return cls(mean, max(std, MIN_RETURN_STD)) if math.isfinite(mean + std) else cls()

    def normalize(self, values: Tensor) -> Tensor:
        """Values in units of the scale."""
        return (values - self.mean) / self.std

    def restore(self, values: Tensor) -> Tensor:
        """Values in units of rewards."""
        return values * self.std + self.mean


MIN_RETURN_STD = 1e-2
ADAM_EPSILON = 1e-5

METRICS = (
    "policy_loss",
    "value_loss",
    "entropy",
    "approx_kl",
    "clip_fraction",
    "explained_variance",
    "grad_norm",
)


def ppo_loss(
    policy: FactoredRecurrentActorCritic,
    rollout: RolloutTensors,
    config: PPOConfig,
    entropy_coef: float,
) -> tuple[Tensor, list[Tensor]]:
    """The loss, and detached scalars in the order of METRICS but the last.

    Every head has its own ratio and clipping; heads that the operation did not read have no part in it.
    """
    output = policy(rollout.features, policy.initial_hidden(rollout.features.shape[0]))
    evaluation = evaluate_actions(output.logits, rollout.masks, rollout.actions)
    log_ratio = (evaluation.log_probs - rollout.log_probs) * evaluation.relevant
    ratio = log_ratio.exp()
    advantages = rollout.advantages[..., None]
    clipped = ratio.clamp(1.0 - config.clip, 1.0 + config.clip)
    gain = torch.minimum(ratio * advantages, clipped * advantages) * evaluation.relevant
    policy_loss = -gain.sum(dim=-1).mean()
    errors = rollout.returns - output.values
    value_loss = 0.5 * errors.square().mean()
    entropy = (evaluation.entropies * evaluation.relevant).sum(dim=-1).mean()
    loss = policy_loss + config.value_coef * value_loss - entropy_coef * entropy
    with torch.no_grad():
        # Schulman's low-variance estimate, http://joschu.net/blog/kl-approx.html
        kl = ((ratio - 1.0 - log_ratio) * evaluation.relevant).sum(dim=-1).mean()
        outside = ((ratio - 1.0).abs() > config.clip).to(ratio.dtype) * evaluation.relevant
        clip_fraction = outside.sum() / evaluation.relevant.sum().clamp_min(1.0)
        spread = rollout.returns.var(correction=0).clamp_min(MIN_RETURN_STD**2)
        explained = 1.0 - errors.var(correction=0) / spread
    return loss, [
        policy_loss.detach(),
        value_loss.detach(),
        entropy.detach(),
        kl,
        clip_fraction,
        explained,
    ]


LossFunction = Callable[
    [FactoredRecurrentActorCritic, RolloutTensors, PPOConfig, float], tuple[Tensor, list[Tensor]]
]


def run_update(
    policy: FactoredRecurrentActorCritic,
    optimizer: Optimizer,
    rollout: RolloutTensors,
    config: PPOConfig,
    entropy_coef: float,
    generator: Generator,
    loss_function: LossFunction = ppo_loss,
) -> PPOUpdateResult:
    """Take one optimizer step for each minibatch of each epoch; one read from the device per step.

    Stops before a step when the policy has moved further than the target KL allows, or if a loss or gradient
    is not finite; gradients of the last minibatch stay on the parameters.
    """
    parameters = list(policy.parameters())
    history: list[list[float]] = []
    reason, stopped_early = None, False
    for epoch, minibatch in minibatches(rollout, config, generator):
        optimizer.zero_grad(set_to_none=True)
        loss, scalars = loss_function(policy, minibatch, config, entropy_coef)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(parameters, config.max_grad_norm)
        row = torch.stack([*scalars, norm, loss.detach()]).tolist()
        if not all(math.isfinite(value) for value in row):
            reason = f"loss or gradient not finite in epoch {epoch}"
            break
        if history and row[METRICS.index("approx_kl")] > config.target_kl:
            stopped_early = True
            break
        optimizer.step()
        history.append(row[: len(METRICS)])
    steps = len(history)
    means = {name: math.fsum(row[i] for row in history) / steps for i, name in enumerate(METRICS) if steps}
    epochs = -(-steps // groups(rollout, config))
    return PPOUpdateResult(reason, epochs, stopped_early, means)


def groups(rollout: RolloutTensors, config: PPOConfig) -> int:
    """The number of minibatches of an epoch: an environment's steps stay together."""
    return min(config.minibatches, rollout.features.shape[0])


def minibatches(
    rollout: RolloutTensors, config: PPOConfig, generator: Generator
) -> Iterator[tuple[int, RolloutTensors]]:
    """Shuffle the environments of every epoch into minibatches."""
    envs = rollout.features.shape[0]
    for epoch in range(config.epochs):
        if groups(rollout, config) == 1:
            yield epoch, rollout
            continue
        order = torch.randperm(envs, generator=generator).to(rollout.features.device)
        for part in order.tensor_split(groups(rollout, config)):
            yield epoch, rollout.of(part)


def advantages_and_returns(
    rewards: Tensor,
    values: Tensor,
    dones: Tensor,
    bootstrap_values: Tensor,
    *,
    discount: float,
    gae_lambda: float,
) -> tuple[Tensor, Tensor]:
    """Advantages and returns [environments, steps] (Schulman et al., 2015, arXiv:1506.02438).

    `dones` is 1 where an episode truly ended; one cut off goes on with `bootstrap_values` [environments].
    """
    advantages = torch.zeros_like(rewards)
    running = torch.zeros_like(bootstrap_values)
    next_values = bootstrap_values
    for step in reversed(range(rewards.shape[1])):
        goes_on = 1.0 - dones[:, step]
        error = rewards[:, step] + discount * next_values * goes_on - values[:, step]
        running = error + discount * gae_lambda * goes_on * running
        advantages[:, step] = running
        next_values = values[:, step]
    return advantages, advantages + values


class PPOAgent:
    """Decides for all environments at once, and learns from whole rounds."""

    def __init__(
        self,
        slot_config: SlotConfig,
        config: PPOConfig | None = None,
        *,
        seed: int,
        device: torch.device | str = "cpu",
    ) -> None:
        self.slot_config = slot_config
        self.config = config or PPOConfig()
        self.device = torch.device(device)
        size = feature_size(slot_config)
        self.generator = Generator().manual_seed(seed)
        policy = create_policy(size, slot_config.num_slots, self.config.hidden_size, self.generator)
        self.policy = policy.to(self.device)
        self.optimizer = torch.optim.Adam(
            self.policy.parameters(), lr=self.config.learning_rate, eps=ADAM_EPSILON, fused=True
        )
        self.observations = RunningMeanStd(size, self.device)
        self.returns = ReturnScale()
        self._loss: LossFunction = ppo_loss
        self._compiled = False

    @property
    def parameter_count(self) -> int:
        """How many numbers the policy learns."""
        return sum(parameter.numel() for parameter in self.policy.parameters())

    def compile(self, mode: str) -> None:
        """Compile policy and loss in a mode of `torch.compile`; bits differ from the plain agent's."""
        self.policy.compile(mode=mode)
        compiled = torch.compile(ppo_loss, mode=mode)

        def loss(*arguments: Any) -> tuple[Tensor, list[Tensor]]:
            torch.compiler.cudagraph_mark_step_begin()
            result: tuple[Tensor, list[Tensor]] = compiled(*arguments)
            return result

        self._loss, self._compiled = loss, True

    def initial_hidden(self, num_envs: int) -> Hidden:
        """The recurrent state at the start of a round."""
        return self.policy.initial_hidden(num_envs)

    def draw_noise(self, generators: Sequence[Generator]) -> Tensor:
        """Noise for one `get_action`, [environments, choices]: one draw from each environment's generator."""
        return draw_noise(generators, self.slot_config.num_slots).to(self.device)

    @torch.inference_mode()
    def get_action(
        self, features: Tensor, masks: Mapping[str, Tensor], hidden: Hidden, noise: Tensor | None = None
    ) -> ActionBatch:
        """Decide in all environments: sampled with `noise`, the most likely choices without."""
        blocks = [
            self._decide_block(
                features[rows],
                {name: mask[rows] for name, mask in masks.items()},
                Hidden(hidden.h[:, rows], hidden.c[:, rows]),
                None if noise is None else noise[rows],
            )
            for rows in _blocks(features.shape[0])
        ]
        return _join(blocks)

    @torch.inference_mode()
    def bootstrap_values(self, features: Tensor, hidden: Hidden) -> Tensor:
        """Values [environments] of the states after the last step, for rounds that were cut off."""
        values = []
        for rows in _blocks(features.shape[0]):
            state = Hidden(hidden.h[:, rows], hidden.c[:, rows])
            output = self._run_policy(features[rows], state)
            values.append(output.values[: features[rows].shape[0], 0])
        return self.returns.restore(torch.cat(values))

    def update(
        self, buffer: RolloutBuffer, bootstrap_values: Tensor, *, entropy_coef: float | None = None
    ) -> PPOUpdateResult:
        """Learn from a complete round, then take its observations into the statistics.

        ValueError if a step of the round is missing.
        """
        buffer.check_complete()
        rewards, dones = buffer.rewards_and_dones()
        known, self.returns = self.returns, ReturnScale.of(rewards, dones, self.config.discount)
        advantages, returns = advantages_and_returns(
            rewards,
            self.returns.restore(known.normalize(buffer.values)),
            dones,
            self.returns.restore(known.normalize(bootstrap_values)),
            discount=self.config.discount,
            gae_lambda=self.config.gae_lambda,
        )
        spread = advantages.std(correction=0)
        rollout = RolloutTensors(
            features=self.observations.normalize(buffer.features),
            masks=buffer.masks,
            actions=buffer.actions,
            log_probs=buffer.log_probs,
            advantages=(advantages - advantages.mean()) / (spread + 1e-8),
            returns=self.returns.normalize(returns),
        )
        entropy = self.config.entropy_coef if entropy_coef is None else entropy_coef
        result = run_update(
            self.policy, self.optimizer, rollout, self.config, entropy, self.generator, self._loss
        )
        self.observations.update(buffer.features.flatten(0, 1))
        return result

    def save(self, path: Path, extra: Mapping[str, Any] | None = None) -> None:
        """Write the agent, and `extra` (tensors and plain values), atomically. OutputError, in one line, if
        that can't be done; an earlier file is intact then.
        """
        write_checkpoint(
            path,
            {
                "slot_ids": list(self.slot_config.slot_ids),
                "config": dataclasses.asdict(self.config),
                "policy": self.policy.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "observations": self.observations.state_dict(),
                "returns": dataclasses.asdict(self.returns),
                "generator": self.generator.get_state(),
                "extra": dict(extra or {}),
            },
        )

    @classmethod
    def load(cls, path: Path, device: torch.device | str = "cpu") -> tuple[PPOAgent, dict[str, Any]]:
        """The saved agent and its `extra`; InputError, in one line, if the file can't be used."""
        content = read_checkpoint(path, device)
        try:
            agent = cls(
                SlotConfig(tuple(content["slot_ids"])), PPOConfig(**content["config"]), seed=0, device=device
            )
            agent.policy.load_state_dict(content["policy"])
            agent.optimizer.load_state_dict(content["optimizer"])
            agent.observations.load_state_dict(content["observations"])
            agent.returns = ReturnScale(**content["returns"])
            agent.generator.set_state(content["generator"].cpu())
            extra = dict(content["extra"])
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            problem = str(error).splitlines()[0]
            raise InputError(f"{path}: does not fit this trainer ({problem}); save it again") from None
        return agent, extra

    def _run_policy(self, features: Tensor, hidden: Hidden) -> PolicyOutput:
        """One step of a block of environments."""
        if self._compiled:
            torch.compiler.cudagraph_mark_step_begin()
        output = self.policy(_pad(self.observations.normalize(features))[:, None], _pad_hidden(hidden))
        if not self._compiled:
            return output
        # A replayed CUDA graph writes into the tensors of its last run, which the rollout still needs.
        logits = {name: head.clone() for name, head in output.logits.items()}
        return PolicyOutput(logits, output.values.clone(), Hidden(*(part.clone() for part in output.hidden)))

    def _decide_block(
        self, features: Tensor, masks: Mapping[str, Tensor], hidden: Hidden, noise: Tensor | None
    ) -> ActionBatch:
        num_envs = features.shape[0]
        output = self._run_policy(features, hidden)
        logits = {name: head[:, 0] for name, head in output.logits.items()}
        padded_masks = {name: _pad(mask, value=True) for name, mask in masks.items()}
        actions = choose_actions(logits, padded_masks, None if noise is None else _pad(noise))
        log_probs = evaluate_actions(logits, padded_masks, actions).log_probs
        return ActionBatch(
            actions=actions[:num_envs],
            log_probs=log_probs[:num_envs],
            confidences=log_probs[:num_envs].exp(),
            values=self.returns.restore(output.values[:num_envs, 0]),
            hidden=Hidden(output.hidden.h[:, :num_envs], output.hidden.c[:, :num_envs]),
        )


def _blocks(num_envs: int) -> list[slice]:
    return [slice(start, min(start + ROW_BLOCK, num_envs)) for start in range(0, num_envs, ROW_BLOCK)]


def _pad(rows: Tensor, value: float = 0.0) -> Tensor:
    missing = ROW_BLOCK - rows.shape[0]
    return F.pad(rows, (0, 0) * (rows.dim() - 1) + (0, missing), value=value) if missing else rows


def _pad_hidden(hidden: Hidden) -> Hidden:
    return Hidden(_pad(hidden.h[0])[None], _pad(hidden.c[0])[None])


def _join(blocks: Sequence[ActionBatch]) -> ActionBatch:
    if len(blocks) == 1:
        return blocks[0]
    return ActionBatch(
        actions=torch.cat([block.actions for block in blocks]),
        log_probs=torch.cat([block.log_probs for block in blocks]),
        confidences=torch.cat([block.confidences for block in blocks]),
        values=torch.cat([block.values for block in blocks]),
        hidden=Hidden(
            torch.cat([block.hidden.h for block in blocks], dim=1),
            torch.cat([block.hidden.c for block in blocks], dim=1),
        ),
    )
