"""The processes of a distributed run: how the first of them asks and tells the others."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from esper.leyline.errors import InputError, LostRankError


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
        """What rank 0 gives, on every rank."""
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
