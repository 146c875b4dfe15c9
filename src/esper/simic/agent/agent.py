"""The agent: a policy with its optimizer and observation statistics."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from esper.leyline import SlotConfig
from esper.leyline.errors import InputError
from esper.simic.agent.actions import ActionBatch
from esper.simic.agent.advantages import advantages_and_returns
from esper.simic.agent.buffer import RolloutBuffer
from esper.simic.agent.checkpoint import read_checkpoint, write_checkpoint
from esper.simic.agent.config import PPOConfig
from esper.simic.agent.update import LossFunction, PPOUpdateResult, RolloutTensors, ppo_loss, run_update
from esper.simic.control import RunningMeanStd
from esper.tamiyo import Hidden, choose_actions, create_policy, draw_noise, evaluate_actions, feature_size

ROW_BLOCK = 16
"""Environments are computed in blocks of exactly this many rows.

The bits of a matrix product's row depend on how many rows there are; with a fixed number, on that row
alone, so an environment's decisions don't change with its neighbours.
"""


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
        generator = Generator().manual_seed(seed)
        policy = create_policy(size, slot_config.num_slots, self.config.hidden_size, generator)
        self.policy = policy.to(self.device)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=self.config.learning_rate, fused=True)
        self.observations = RunningMeanStd(size, self.device)
        self._loss: LossFunction = ppo_loss

    @property
    def parameter_count(self) -> int:
        """How many numbers the policy learns."""
        return sum(parameter.numel() for parameter in self.policy.parameters())

    def compile(self, mode: str) -> None:
        """Compile policy and loss in a mode of `torch.compile`; bits differ from the plain agent's."""
        self.policy.compile(mode=mode)
        self._loss = torch.compile(ppo_loss, mode=mode)

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
            output = self.policy(
                _pad(self.observations.normalize(features[rows]))[:, None], _pad_hidden(state)
            )
            values.append(output.values[: features[rows].shape[0], 0])
        return torch.cat(values)

    def update(
        self, buffer: RolloutBuffer, bootstrap_values: Tensor, *, entropy_coef: float | None = None
    ) -> PPOUpdateResult:
        """Learn from a complete round, then take its observations into the statistics.

        ValueError if a step of the round is missing.
        """
        buffer.check_complete()
        rewards, dones = buffer.rewards_and_dones()
        advantages, returns = advantages_and_returns(
            rewards,
            buffer.values,
            dones,
            bootstrap_values.clone(),
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
            returns=returns,
        )
        entropy = self.config.entropy_coef if entropy_coef is None else entropy_coef
        result = run_update(self.policy, self.optimizer, rollout, self.config, entropy, self._loss)
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
            extra = dict(content["extra"])
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            problem = str(error).splitlines()[0]
            raise InputError(f"{path}: does not fit this trainer ({problem}); save it again") from None
        return agent, extra

    def _decide_block(
        self, features: Tensor, masks: Mapping[str, Tensor], hidden: Hidden, noise: Tensor | None
    ) -> ActionBatch:
        num_envs = features.shape[0]
        output = self.policy(_pad(self.observations.normalize(features))[:, None], _pad_hidden(hidden))
        logits = {name: head[:, 0] for name, head in output.logits.items()}
        padded_masks = {name: _pad(mask, value=True) for name, mask in masks.items()}
        actions = choose_actions(logits, padded_masks, None if noise is None else _pad(noise))
        log_probs = evaluate_actions(logits, padded_masks, actions).log_probs
        return ActionBatch(
            actions=actions[:num_envs],
            log_probs=log_probs[:num_envs],
            confidences=log_probs[:num_envs].exp(),
            values=output.values[:num_envs, 0],
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
