"""The engine of a run of many processes: each trains a part of the envs, the first asks who decides."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import torch

from esper.leyline import ClientProtocol
from esper.leyline.rollout import ActionOutcome, Configuration, HostObservation, RolloutResult, SlotAction
from esper.tolaria.engine import VectorizedEngine
from esper.tolaria.ranks import Ranks
from esper.tolaria.setup import EngineSetup, Placement


class DistributedEngine:
    """Spreads envs over the ranks of a process group; each trains its own as `VectorizedEngine` does.

    Rank 0 leads: there the client is asked of the envs of all ranks, in one order, so that any number of
    ranks gives the same bits. The others follow it. InputError without a process group.
    """

    def __init__(self, setup: EngineSetup) -> None:
        self._ranks = Ranks()
        part = self._ranks.part(len(setup.envs))
        local_rank = int(os.environ.get("LOCAL_RANK", self._ranks.rank))
        self._engine = VectorizedEngine(
            replace(
                setup,
                envs=setup.envs[part.start : part.stop],
                placement=own_placement(setup.placement, local_rank, torch.cuda.device_count()),
            )
        )

    @property
    def leads(self) -> bool:
        """Whether rollouts begin here."""
        return self._ranks.rank == 0

    def rollout(self, client: ClientProtocol, round_idx: int) -> RolloutResult:
        """Train fresh hosts on all ranks for an episode, and do with their slots what the client says."""
        self._ranks.broadcast(round_idx)
        return self._take_part(client, round_idx)

    def follow(self) -> None:
        """Take part in every rollout that rank 0 begins, until it closes its engine."""
        while (round_idx := self._ranks.broadcast(None)) is not None:
            self._take_part(None, round_idx)

    def close(self) -> None:
        """Let the ranks that follow go."""
        self._ranks.broadcast(None)

    def _take_part(self, client: ClientProtocol | None, round_idx: int) -> RolloutResult:
        mine = self._engine.rollout(_SpreadClient(self._ranks, client), round_idx)
        parts = self._ranks.gather(mine) or [mine]
        hosts = tuple(chain.from_iterable(part.hosts for part in parts))
        return RolloutResult(hosts, sum(part.images for part in parts), mine.phase_s)


def own_placement(placement: Placement, local_rank: int, cuda_devices: int) -> Placement:
    """All envs of a rank on one device: the processes of a machine take those of the run in turn, and all
    CUDA devices where none was named by its number.
    """
    devices = list(dict.fromkeys(placement.env_devices))
    device = devices[local_rank % len(devices)]
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", local_rank % cuda_devices)
    return replace(placement, policy_device=device, env_devices=(device,) * len(placement.env_devices))


class _SpreadClient:
    """A client for the envs of one rank, which answers what rank 0's client says of the envs of all."""

    def __init__(self, ranks: Ranks, client: ClientProtocol | None) -> None:
        self._ranks = ranks
        self._client = client

    def begin_round(self, round_idx: int) -> None:
        if self._client is not None:
            self._client.begin_round(round_idx)

    def begin_epoch(self, epoch: int) -> int | None:
        stride: int | None = self._ranks.broadcast(self._client and self._client.begin_epoch(epoch))
        return stride

    def choose_configurations(
        self, contributing_slots: Sequence[Sequence[str]]
    ) -> Sequence[Sequence[Configuration]]:
        return self._ask(self._client and self._client.choose_configurations, contributing_slots)

    def measure_contributions(self, accuracies: Sequence[Sequence[float]]) -> Sequence[Mapping[str, float]]:
        return self._ask(self._client and self._client.measure_contributions, accuracies)

    def choose_actions(self, observations: Sequence[HostObservation]) -> Sequence[SlotAction]:
        return self._ask(self._client and self._client.choose_actions, observations)

    def reward_actions(self, outcomes: Sequence[ActionOutcome]) -> None:
        gathered = self._ranks.gather(outcomes)
        if self._client is not None and gathered is not None:
            self._client.reward_actions([*chain.from_iterable(gathered)])

    def _ask(self, answer: Callable[[list[Any]], Sequence[Any]] | None, mine: Sequence[Any]) -> Sequence[Any]:
        gathered = self._ranks.gather(mine)
        if answer is None or gathered is None:
            return self._ranks.scatter(None)
        answers = iter(answer([*chain.from_iterable(gathered)]))
        return self._ranks.scatter([[*islice(answers, len(part))] for part in gathered])
