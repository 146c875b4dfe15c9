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


def digest(data: bytes | memoryview) -> bytes:
    """The xxh3-128 digest of ``data`` (16 bytes)."""
    return xxhash.xxh3_128_digest(data)


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


def raw_bytes(tensors: Sequence[torch.Tensor]) -> list[memoryview]:
    """The bytes of each tensor in logical order, as views; one device-to-host copy per device.

    Every tensor must be dense (see `plain`). Call under ``torch.no_grad()``.
    """
    views: list[memoryview] = [memoryview(b"")] * len(tensors)
    groups: dict[tuple[torch.device, torch.dtype], list[int]] = defaultdict(list)
    for index, tensor in enumerate(tensors):
        if tensor.device.type == "cpu" and tensor.numel() * tensor.element_size() >= _FLATTEN_BELOW_BYTES:
            views[index] = _view(tensor.contiguous().view(-1))
        else:
            groups[tensor.device, tensor.dtype].append(index)

    flat_of_device: dict[torch.device, list[tuple[list[int], torch.Tensor]]] = defaultdict(list)
    for (device, _), members in groups.items():
        flat = torch._utils._flatten_dense_tensors([tensors[i] for i in members])  # type: ignore[no-untyped-call]
        flat_of_device[device].append((members, flat.view(torch.uint8)))

    for device, parts in flat_of_device.items():
        if device.type == "cpu":
            for members, flat in parts:
                _slice(_view(flat), members, tensors, views)
        else:
            whole = _view(torch.cat([flat for _, flat in parts]).cpu())
            _slice(whole, [i for members, _ in parts for i in members], tensors, views)
    return views


def digests(tensors: Sequence[torch.Tensor]) -> bytes:
    """The digests of all tensors, one after another (16 bytes each)."""
    return b"".join([xxhash.xxh3_128_digest(view) for view in raw_bytes(tensors)])


def _view(flat: torch.Tensor) -> memoryview:
    return flat.detach().view(torch.uint8).numpy().data


def _slice(
    whole: memoryview, members: list[int], tensors: Sequence[torch.Tensor], views: list[memoryview]
) -> None:
    start = 0
    for index in members:
        tensor = tensors[index]
        end = start + tensor.numel() * tensor.element_size()
        views[index] = whole[start:end]
        start = end
