"""The engine of a run of many processes: each trains a part of the envs, the first asks who decides."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from esper.leyline import ClientProtocol
from esper.leyline.errors import InputError, LostRankError
from esper.leyline.rollout import ActionOutcome, Configuration, HostObservation, RolloutResult, SlotAction
from esper.tolaria.engine import VectorizedEngine
from esper.tolaria.runtime import keep_bits
from esper.tolaria.setup import EngineSetup, Placement


class Ranks:
    """Gathers plain values on rank 0, and scatters them from there, over the process group that is there.

    They are of the host, so they go by gloo, whatever trains the envs. Each rank sends and is sent to by
    itself: a collective could not tell whose connection broke, and here that rank is in the LostRankError.
    """

    def __init__(self) -> None:
        if not (dist.is_available() and dist.is_initialized()):
            raise InputError(
                "--engine distributed: there is no process group; start it with torchrun: "
                "torchrun --standalone --nproc-per-node 2 -m esper.scripts.train ..."
            )
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self._group = None if dist.get_backend() == "gloo" else dist.new_group(backend="gloo")

    def gather(self, mine: Any) -> list[Any] | None:
        """On rank 0 what every rank gave, in their order; None elsewhere."""
        if self.rank:
            self._send({0: mine})
            return None
        return [mine, *self._receive(range(1, self.size))]

    def scatter(self, parts: Sequence[Any] | None) -> Any:
        """This rank's of the parts that rank 0 gives, one for every rank; the others give None."""
        if parts is None:
            [mine] = self._receive([0])
            return mine
        self._send(dict(enumerate(parts[1:], start=1)))
        return parts[0]

    def broadcast(self, value: Any) -> Any:
        """Return rank 0's value on every rank."""
        return self.scatter(None if self.rank else [value] * self.size)

    def _send(self, values: dict[int, Any]) -> None:
        works = []
        for rank, value in values.items():
            content = torch.frombuffer(bytearray(pickle.dumps(value)), dtype=torch.uint8)
            for part in (torch.tensor([content.numel()]), content):
                with _losing(rank):
                    works.append((rank, dist.isend(part, rank, self._group)))
        _finish(works)

    def _receive(self, ranks: Sequence[int]) -> list[Any]:
        sizes = self._vectors(dict.fromkeys(ranks, 1), torch.int64)
        contents = self._vectors(
            {rank: int(size) for rank, size in zip(ranks, sizes, strict=True)}, torch.uint8
        )
        return [pickle.loads(content.numpy().tobytes()) for content in contents]

    def _vectors(self, sizes: dict[int, int], dtype: torch.dtype) -> list[Tensor]:
        """One vector from each of these ranks; all are asked at once."""
        works, vectors = [], []
        for rank, size in sizes.items():
            vectors.append(torch.empty(size, dtype=dtype))
            with _losing(rank):
                works.append((rank, dist.irecv(vectors[-1], rank, self._group)))
        _finish(works)
        return vectors


def _finish(works: Sequence[tuple[int, Any]]) -> None:
    for rank, work in works:
        with _losing(rank):
            work.wait()


@contextmanager
def _losing(rank: int) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        what = "gave no answer in time" if "imed out" in str(error) else "is gone"
        raise LostRankError(f"rank {rank}", what) from error


class DistributedEngine:
    """Spreads envs over the ranks of a process group; each trains its own as `VectorizedEngine` does.

    Rank 0 leads: there the client is asked of the envs of all ranks, in one order, so that any number of
    ranks gives the same bits. The others follow it. InputError without a process group.
    """

    def __init__(self, setup: EngineSetup) -> None:
        self._ranks = Ranks()
        kind, self._parts = setup.host_parallel or ("ddp", 1)
        local_rank = int(os.environ.get("LOCAL_RANK", self._ranks.rank))
        placement = own_placement(setup.placement, local_rank, torch.cuda.device_count())
        keep_bits(placement.policy_device, placement.env_devices)
        parts = None
        if self._parts > 1:
            from esper.tolaria.host_parts import HostParts  # loads what runs without it need not wait for

            _check_batches(self._parts, setup)
            parts = HostParts(kind, self._parts, placement.policy_device.type)
        groups, group = self._ranks.size // self._parts, self._ranks.rank // self._parts
        # Rank 0, which decides as well, has the fewest.
        envs = setup.envs[len(setup.envs) * group // groups : len(setup.envs) * (group + 1) // groups]
        self._engine = VectorizedEngine(replace(setup, envs=envs, placement=placement, parts=parts))

    @property
    def leads(self) -> bool:
        """True on the rank where rollouts begin."""
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
        mine = self._engine.rollout(_SpreadClient(self._ranks, self._parts, client), round_idx)
        groups = (self._ranks.gather(mine) or [mine])[:: self._parts]
        hosts = tuple(chain.from_iterable(group.hosts for group in groups))
        return RolloutResult(hosts, sum(group.images for group in groups), mine.phase_s)


def _check_batches(parts: int, setup: EngineSetup) -> None:
    data, size = setup.subject.data, setup.subject.task_spec.batch_size
    for flag, count in (("--train-images", data.train_size), ("--val-images", data.val_size)):
        least = min(size, count % size or size)
        if least < parts:
            raise InputError(
                f"{flag} {count}: leaves a batch of {least}, too few for the {parts} parts of "
                f"--host-parallel; take {count - least}, or more"
            )


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
    """A client for the envs of one rank, which answers what rank 0's client says of the envs of all.

    `parts` neighbours have the same envs: the first of them tells, and all are answered.
    """

    def __init__(self, ranks: Ranks, parts: int, client: ClientProtocol | None) -> None:
        self._ranks = ranks
        self._parts = parts
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
        gathered = self._gather(outcomes)
        if self._client is not None and gathered is not None:
            self._client.reward_actions([*chain.from_iterable(gathered)])

    def _ask(self, answer: Callable[[list[Any]], Sequence[Any]] | None, mine: Sequence[Any]) -> Sequence[Any]:
        gathered = self._gather(mine)
        if answer is None or gathered is None:
            return self._ranks.scatter(None)
        answers = iter(answer([*chain.from_iterable(gathered)]))
        by_group = [[*islice(answers, len(group))] for group in gathered]
        return self._ranks.scatter([group for group in by_group for _ in range(self._parts)])

    def _gather(self, mine: Sequence[Any]) -> list[Sequence[Any]] | None:
        """On rank 0, what every group of ranks told of its envs."""
        tells = self._ranks.rank % self._parts == 0
        gathered = self._ranks.gather(mine if tells else None)
        return None if gathered is None else gathered[:: self._parts]
