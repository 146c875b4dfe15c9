"""Digests of raw tensor bytes: xxh3-128, one per tensor, many tensors per pass.

Loaded by the program under test under a private name, so it imports only torch and xxhash.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import torch
import xxhash

DIGEST_BYTES = 16
_KNOWN_TO_NUMPY = (torch.float32, torch.float64, torch.int64, torch.uint8)
# Above this size the copy to a buffer costs more than a few Python calls.
_COPY_BELOW_BYTES = 1 << 14
# The observer counts calls of the program, not its own.
_numpy: Any = torch.Tensor.numpy


def plain(tensor: torch.Tensor) -> list[torch.Tensor]:
    """``tensor`` as dense local tensors whose bytes say everything (sparse: indices, values)."""
    if hasattr(tensor, "to_local"):
        tensor = tensor.to_local()
    if tensor.layout == torch.sparse_coo:
        tensor = tensor.coalesce()
        return [tensor.indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.is_quantized:
        tensor = tensor.int_repr()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    return [tensor]


class Flat:
    """Reads the bytes of tensors of given form, most of them through one flat buffer per device.

    On the CPU small ones are copied to a buffer that is kept: what `views` gives holds until the next call.
    On an accelerator there is one copy to the host per device. Bytes are in logical order, whatever the
    strides. Every tensor must be dense (see `plain`); call under ``torch.no_grad()``.
    """

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self._count = len(tensors)
        self._alone: list[int] = []
        self._small: list[int] = []
        groups: dict[torch.device, dict[torch.dtype, list[int]]] = defaultdict(lambda: defaultdict(list))
        sizes = [tensor.numel() * tensor.element_size() for tensor in tensors]
        for index, tensor in enumerate(tensors):
            if tensor.device.type != "cpu":
                groups[tensor.device][tensor.dtype].append(index)
            elif sizes[index] < _COPY_BELOW_BYTES:
                self._small.append(index)
            else:
                self._alone.append(index)
        self._devices = [list(by_type.values()) for by_type in groups.values()]
        self._bounds: list[list[tuple[int, int, int]]] = []
        for parts in self._devices:
            start, bounds = 0, []
            for index in (i for part in parts for i in part):
                bounds.append((index, start, start + sizes[index]))
                start += sizes[index]
            self._bounds.append(bounds)
        self._keep(tensors, sizes)

    def _keep(self, tensors: Sequence[torch.Tensor], sizes: Sequence[int]) -> None:
        """The buffers for small tensors on the CPU: as tensors to copy to, and as bytes to read."""
        self._small.sort(key=lambda index: str(tensors[index].dtype))
        self._targets: list[torch.Tensor] = []
        self._slices: list[memoryview] = []
        for _, part in groupby(self._small, key=lambda index: tensors[index].dtype):
            group = [tensors[index] for index in part]
            buffer = torch.empty(sum(tensor.numel() for tensor in group), dtype=group[0].dtype)
            self._targets += torch._C._nn.unflatten_dense_tensors(buffer, group)
            data = memoryview(_bytes(buffer)).cast("B")
            start = 0
            for index in self._small[len(self._slices) : len(self._targets)]:
                self._slices.append(data[start : start + sizes[index]])
                start += sizes[index]

    def views(self, tensors: Sequence[torch.Tensor]) -> list[Any]:
        """The bytes of each tensor, in what holds a buffer of them."""
        found: list[Any] = [b""] * self._count
        if self._small:
            torch._foreach_copy_(self._targets, [tensors[i] for i in self._small])
            for index, data in zip(self._small, self._slices, strict=True):
                found[index] = data
        for index in self._alone:
            found[index] = _bytes(tensors[index].contiguous())
        for parts, bounds in zip(self._devices, self._bounds, strict=True):
            flat = [
                torch._C._nn.flatten_dense_tensors([tensors[i] for i in part]).view(torch.uint8)
                for part in parts
            ]
            data = memoryview(_bytes((flat[0] if len(flat) == 1 else torch.cat(flat)).cpu())).cast("B")
            for index, start, end in bounds:
                found[index] = data[start:end]
        return found

    def digests(self, tensors: Sequence[torch.Tensor]) -> bytes:
        """The digests of all tensors, one after another (16 bytes each)."""
        return b"".join([xxhash.xxh3_128_digest(view) for view in self.views(tensors)])


def digests(tensors: Sequence[torch.Tensor]) -> bytes:
    """The digests of some tensors, one after another (16 bytes each)."""
    return Flat(tensors).digests(tensors)


def _bytes(tensor: torch.Tensor) -> Any:
    """The memory of a contiguous tensor, as anything that holds a buffer."""
    if tensor.dtype in _KNOWN_TO_NUMPY:
        return _numpy(tensor.detach())
    return _numpy(tensor.detach().view(-1).view(torch.uint8))
