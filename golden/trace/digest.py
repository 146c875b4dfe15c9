"""Digests of raw tensor bytes: xxh3-128, one per tensor, many tensors per pass.

Loaded by the program under test under a private name, so it imports only torch and xxhash.
"""

from __future__ import annotations

import ctypes
import functools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import attrgetter, is_
from typing import Any

import torch
import xxhash
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

DIGEST_BYTES = 16
# Tensors whose bytes don't lie in logical order are copied into memory that is kept up to this size.
_KEPT_AT_MOST = 8 << 20
# The observer counts calls of the program, not its own; and a method is called fastest by `map`.
_pointer = torch.Tensor.data_ptr
_is_contiguous = torch.Tensor.is_contiguous
_is_negated, _is_complex = torch.Tensor.is_neg, torch.Tensor.is_complex
_is_nested, _is_quantized, _layout = map(attrgetter, ("is_nested", "is_quantized", "layout"))
_ORDINARY = (torch.Tensor, torch.nn.Parameter)


def plain(tensor: torch.Tensor) -> list[torch.Tensor]:
    """``tensor`` as dense local tensors whose bytes say everything.

    Of a sparse one indices, values and size, of a quantized one its integers and what they stand for; one
    that is made of others is what these are, and one without memory (meta, fake, freed) an empty one and its
    size. Empty for one whose values can't be read.
    """
    if type(tensor) not in _ORDINARY:
        if hasattr(tensor, "to_local"):
            tensor = tensor.to_local()
        if hasattr(tensor, "trigger_wait"):
            tensor = tensor.trigger_wait()
        if is_traceable_wrapper_subclass(tensor):
            names, _ = tensor.__tensor_flatten__()
            return [part for name in names for part in plain(getattr(tensor, name))]
    if tensor.is_nested:
        return [part for inside in tensor.unbind() for part in plain(inside)]
    if tensor.layout is not torch.strided:
        return _of_layout(tensor)
    if tensor.is_quantized:
        return [tensor.int_repr(), *_scale(tensor)]
    if not has_memory(tensor):
        if is_opaque(tensor):
            return []
        return [torch.empty(0, dtype=tensor.dtype, device="cpu"), _numbers(tensor.shape)]
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    return [tensor]


def are_plain(tensors: Sequence[torch.Tensor]) -> bool:
    """Tell whether tensors are what `plain` makes of them, for as long as types, dtypes and layouts stay."""
    return (
        all(map(_ORDINARY.__contains__, map(type, tensors)))
        and not any(map(_is_nested, tensors))
        and all(map(is_, map(_layout, tensors), repeat(torch.strided)))
        and not any(map(_is_quantized, tensors))
        and not any(map(_is_complex, tensors))
        and all(map(has_memory, tensors))
    )


def has_memory(tensor: torch.Tensor) -> bool:
    """Tell whether the values of a dense tensor lie somewhere."""
    if tensor.device.type == "meta":
        return False
    try:
        return _pointer(tensor) != 0 or tensor.numel() == 0
    except RuntimeError:
        # A fake tensor is on no device, whatever it says.
        return False


def is_opaque(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor without memory has values somewhere, which its class does not tell."""
    return (
        type(tensor) not in _ORDINARY
        and not isinstance(tensor, FakeTensor)
        and tensor.device.type != "meta"
        and type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
    )


def _of_layout(tensor: torch.Tensor) -> list[torch.Tensor]:
    size = _numbers(tensor.shape)
    if tensor.layout is torch.sparse_coo:
        tensor = tensor.coalesce()
        return [tensor.indices(), *plain(tensor.values()), size]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), *plain(tensor.values()), size]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), *plain(tensor.values()), size]
    return plain(tensor.to_dense())


def _scale(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Return the scales and zero points of a quantized tensor."""
    if tensor.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        scale = torch.tensor([tensor.q_scale()], dtype=torch.float64, device="cpu")
        return [scale, _numbers([tensor.q_zero_point()])]
    axis = _numbers([tensor.q_per_channel_axis()])
    return [tensor.q_per_channel_scales(), tensor.q_per_channel_zero_points(), axis]


def _numbers(found: Sequence[int]) -> torch.Tensor:
    return torch.tensor(list(found), dtype=torch.int64, device="cpu")


# Both ask as C++ does: a tensor of a simulated GPU answers otherwise, and its bytes lie on the host.
def lies_on_host(tensor: torch.Tensor) -> bool:
    """Tell whether the bytes of a tensor lie in the memory of the CPU."""
    return bool(torch.Tensor.is_cpu.__get__(tensor))  # type: ignore[attr-defined]


def lies_on_gpu(tensor: torch.Tensor) -> bool:
    """Tell whether the bytes of a tensor lie in the memory of a GPU."""
    return bool(torch.Tensor.is_cuda.__get__(tensor))  # type: ignore[attr-defined]


def hex_digest(tensor: torch.Tensor) -> str:
    """Return the digest of one contiguous tensor on the CPU (32 hex digits)."""
    return xxhash.xxh3_128_hexdigest(bytes_of(tensor))


def bytes_of(tensor: torch.Tensor) -> Any:
    """Return the bytes of a contiguous tensor on the CPU: a buffer that does not keep them alive."""
    return _at(_pointer(tensor), tensor.numel() * tensor.element_size())


def _at(pointer: int, size: int) -> Any:
    # Not through numpy: that forbids the program to resize the storage ever after.
    # Memory that the program has freed, between two steps say, holds nothing.
    return _array(size).from_address(pointer) if size and pointer else b""


@functools.lru_cache(maxsize=1024)
def _array(size: int) -> Any:
    # Making a type takes longer than hashing what it shows.
    return ctypes.c_char * size


class Flat:
    """Reads the bytes of tensors of given form: where they lie on the CPU, else by one copy per device.

    Bytes are in logical order, whatever the strides. Every tensor must be dense (see `plain`); call under
    ``torch.no_grad()``.
    """

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self._sizes = [tensor.numel() * tensor.element_size() for tensor in tensors]
        on_host = list(map(lies_on_host, tensors))
        self._host = [index for index, here in enumerate(on_host) if here]
        self._pointers = [0] * len(self._host)
        self._memories: list[Any] = [b""] * len(self._host)
        groups: dict[torch.device, dict[torch.dtype, list[int]]] = defaultdict(lambda: defaultdict(list))
        for index, tensor in enumerate(tensors):
            if not on_host[index]:
                groups[tensor.device][tensor.dtype].append(index)
        self._devices = [list(by_type.values()) for by_type in groups.values()]
        # Nothing that `views` gives keeps its memory alive: the caller holds the tensors, this the copies.
        self._copies: list[torch.Tensor] = []
        self._kept: dict[int, torch.Tensor] = {}
        self._room = _KEPT_AT_MOST

    def views(self, tensors: Sequence[torch.Tensor]) -> list[Any]:
        """Return the bytes of each tensor as buffers, valid while the tensors live, till the next call."""
        self._copies = []
        if not self._devices:
            return self._on_host(tensors)
        found: list[Any] = [b""] * len(tensors)
        on_host = self._on_host([tensors[index] for index in self._host])
        for index, view in zip(self._host, on_host, strict=True):
            found[index] = view
        for parts in self._devices:
            flat = [
                torch._C._nn.flatten_dense_tensors([tensors[i] for i in part]).view(torch.uint8)
                for part in parts
            ]
            fetched = (flat[0] if len(flat) == 1 else torch.cat(flat)).cpu()
            self._copies.append(fetched)
            data, start = memoryview(bytes_of(fetched)).cast("B"), 0
            for index in (i for part in parts for i in part):
                found[index] = data[start : start + self._sizes[index]]
                start += self._sizes[index]
        return found

    def _on_host(self, tensors: Sequence[torch.Tensor]) -> list[Any]:
        if not all(map(_is_contiguous, tensors)) or any(map(_is_negated, tensors)):
            tensors = [
                tensor if _is_contiguous(tensor) and not _is_negated(tensor) else self._copied(number, tensor)
                for number, tensor in enumerate(tensors)
            ]
        pointers = list(map(_pointer, tensors))
        if pointers != self._pointers:
            # Most tensors stay where they are, and making a buffer costs more than hashing a small one.
            for number, (pointer, known) in enumerate(zip(pointers, self._pointers, strict=True)):
                if pointer != known:
                    self._memories[number] = _at(pointer, self._sizes[self._host[number]])
            self._pointers = pointers
        return self._memories

    def _copied(self, number: int, tensor: torch.Tensor) -> torch.Tensor:
        """Return a tensor in logical order; where it was before, as far as there is room."""
        kept = self._kept.get(number)
        if kept is not None:
            return kept.copy_(tensor)
        copy = tensor.resolve_neg().clone(memory_format=torch.contiguous_format)
        size = copy.numel() * copy.element_size()
        if size <= self._room:
            self._room -= size
            self._kept[number] = copy
        else:
            self._copies.append(copy)
        return copy

    def digests(self, tensors: Sequence[torch.Tensor]) -> bytes:
        """Return the digests of all tensors, one after another (16 bytes each)."""
        return b"".join(map(xxhash.xxh3_128_digest, self.views(tensors)))


def digests(tensors: Sequence[torch.Tensor]) -> bytes:
    """Return the digests of some tensors, one after another (16 bytes each)."""
    return Flat(tensors).digests(tensors)


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Return the tensors that a value is, or that a list or tuple holds."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return [item for item in items if isinstance(item, torch.Tensor)]


def short_digest(tensors: Iterable[torch.Tensor]) -> str:
    """Return one digest of all that some tensors are made of (16 hex digits)."""
    return xxhash.xxh3_64_hexdigest(digests([part for tensor in tensors for part in plain(tensor.detach())]))


def described(tensor: torch.Tensor) -> str:
    """Return the form of a tensor and its digest."""
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)} {short_digest([tensor])}"
