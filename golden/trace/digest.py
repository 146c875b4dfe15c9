"""Digests of raw tensor bytes: xxh3-128, one per tensor, many tensors per pass.

Loaded by the program under test under a private name, so it imports only torch and xxhash.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch
import xxhash

DIGEST_BYTES = 16
# Above this size the copy into a flat buffer costs more than one more Python call.
_FLATTEN_BELOW_BYTES = 1 << 18


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
    """Reads the bytes of tensors of given form through one flat buffer per device and dtype.

    On an accelerator there is one copy to the host per device. Bytes are in logical order, whatever the
    strides. Every tensor must be dense (see `plain`); call under ``torch.no_grad()``.
    """

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self._count = len(tensors)
        self._alone: list[int] = []
        groups: dict[torch.device, dict[torch.dtype, list[int]]] = defaultdict(lambda: defaultdict(list))
        sizes = [tensor.numel() * tensor.element_size() for tensor in tensors]
        for index, tensor in enumerate(tensors):
            if tensor.device.type == "cpu" and sizes[index] >= _FLATTEN_BELOW_BYTES:
                self._alone.append(index)
            else:
                groups[tensor.device][tensor.dtype].append(index)
        self._devices = [(device, list(by_type.values())) for device, by_type in groups.items()]
        self._bounds: list[list[tuple[int, int, int]]] = []
        for _, parts in self._devices:
            start, bounds = 0, []
            for index in (i for part in parts for i in part):
                bounds.append((index, start, start + sizes[index]))
                start += sizes[index]
            self._bounds.append(bounds)

    def views(self, tensors: Sequence[torch.Tensor]) -> list[memoryview]:
        """The bytes of each tensor."""
        found: list[memoryview] = [memoryview(b"")] * self._count
        for index in self._alone:
            found[index] = _bytes(tensors[index].contiguous().view(-1))
        for (device, parts), bounds in zip(self._devices, self._bounds, strict=True):
            flat = [
                torch._C._nn.flatten_dense_tensors([tensors[i] for i in part]).view(torch.uint8)
                for part in parts
            ]
            whole = flat[0] if len(flat) == 1 else torch.cat(flat)
            data = _bytes(whole if device.type == "cpu" else whole.cpu())
            for index, start, end in bounds:
                found[index] = data[start:end]
        return found

    def digests(self, tensors: Sequence[torch.Tensor]) -> bytes:
        """The digests of all tensors, one after another (16 bytes each)."""
        return b"".join([xxhash.xxh3_128_digest(view) for view in self.views(tensors)])


def digests(tensors: Sequence[torch.Tensor]) -> bytes:
    """The digests of some tensors, one after another (16 bytes each)."""
    return Flat(tensors).digests(tensors)


def _bytes(flat: torch.Tensor) -> memoryview:
    return flat.detach().view(torch.uint8).numpy().data
