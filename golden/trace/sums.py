"""Digests of tensors made where the tensors are: four sums of products for each row of words.

The bytes of a tensor in logical order are words of 32 bits, in rows of `ROW`, the last one filled with zeros.
Of a row come four sums of its words, each word times a fixed odd number of 64 bits for its place, modulo
2**64 (multilinear hashing; Lemire and Kaser, "Strongly universal string hashing is fast", 2014). Integers add
up to the same in any order, so neither the device, nor its threads, nor what else is digested in the pass
changes them. The digest is xxh3-128 over the sums of all rows, which the host computes, seeded by the number
of bytes.

Loaded by the program under test under a private name, so it imports only torch and xxhash.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
import xxhash

from .digest import bytes_of

ROW = 2048
SUMS = 4
_WORD_BYTES = 4
_ROW_BYTES = ROW * _WORD_BYTES
_ROW_SUMS_BYTES = SUMS * 8
# Their products take 32 bytes a word: 64 MiB.
_ROWS_AT_ONCE = 1024
_MASK = (1 << 64) - 1
_is_negated = torch.Tensor.is_neg
# Others can't all be put together: they are read as integers of their width.
_ORDINARY = frozenset(
    {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
    | {torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128}
)
_OF_WIDTH = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def multipliers() -> list[list[int]]:
    """Return the factors of words, by sum and place: splitmix64 from zero, with the lowest bit set."""
    state, rows = 0, []
    for _ in range(SUMS):
        row = []
        for _ in range(ROW):
            state = (state + 0x9E3779B97F4A7C15) & _MASK
            z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
            row.append((z ^ (z >> 31)) | 1)
        rows.append(row)
    return rows


@functools.cache
def _table(device: torch.device) -> torch.Tensor:
    signed = [[m - (1 << 64) if m >> 63 else m for m in row] for row in multipliers()]
    return torch.tensor(signed, dtype=torch.int64, device=device)


@dataclass(frozen=True, slots=True)
class _Batch:
    """Tensors of one type that are read in one go, each with zeros up to a whole row; or a large one."""

    indices: tuple[int, ...]
    fills: tuple[torch.Tensor, ...]
    row: int

    def words(self, tensors: Sequence[torch.Tensor]) -> Iterator[torch.Tensor]:
        """Yield rows of words, not too many at once."""
        chosen = [tensors[index] for index in self.indices]
        if any(map(_is_negated, chosen)):
            chosen = [tensor.resolve_neg() for tensor in chosen]
        if len(chosen) > 1:
            parts: list[torch.Tensor] = [*chosen, *chosen]
            parts[::2], parts[1::2] = chosen, self.fills
            yield _words(torch._C._nn.flatten_dense_tensors(parts))
            return
        # Not copied as a whole: it may be most of what the device holds.
        flat = chosen[0].detach().contiguous().view(-1)
        size = _ROW_BYTES // flat.element_size()
        whole = flat.numel() // size * size
        for start in range(0, whole, size * _ROWS_AT_ONCE):
            yield _words(flat[start : min(whole, start + size * _ROWS_AT_ONCE)])
        if whole < flat.numel():
            yield _words(torch._C._nn.flatten_dense_tensors([flat[whole:], *self.fills]))


def _words(flat: torch.Tensor) -> torch.Tensor:
    if flat.data_ptr() % _WORD_BYTES or flat.storage_offset() * flat.element_size() % _WORD_BYTES:
        flat = flat.clone()
    return flat.view(torch.int32).view(-1, ROW)


class _OfDevice:
    """The tensors of one device."""

    def __init__(self, device: torch.device, tensors: Sequence[torch.Tensor], indices: Sequence[int]) -> None:
        self.device = device
        self.indices = indices
        self.rows = 0
        self.spans: list[tuple[int, int]] = [(0, 0)] * len(indices)
        self._batches: list[_Batch] = []
        self._fetched = torch.empty(0)
        self._arrived: torch.cuda.Event | None = None
        by_type: dict[torch.dtype, list[int]] = defaultdict(list)
        for place, index in enumerate(indices):
            by_type[tensors[index].dtype].append(place)
        for dtype, places in by_type.items():
            zeros = torch.zeros(_ROW_BYTES // dtype.itemsize, dtype=dtype, device=device)
            batch: list[tuple[int, torch.Tensor]] = []
            begun = self.rows
            for place in places:
                tensor = tensors[indices[place]]
                rows = -(-tensor.numel() // len(zeros))
                if batch and self.rows + rows - begun > _ROWS_AT_ONCE:
                    self._close(batch, begun)
                    batch, begun = [], self.rows
                batch.append((indices[place], zeros[: rows * len(zeros) - tensor.numel()]))
                self.spans[place] = (self.rows * _ROW_SUMS_BYTES, (self.rows + rows) * _ROW_SUMS_BYTES)
                self.rows += rows
            self._close(batch, begun)

    def _close(self, batch: Sequence[tuple[int, torch.Tensor]], row: int) -> None:
        if self.rows > row:
            indices, fills = zip(*batch, strict=True)
            self._batches.append(_Batch(indices, fills, row))

    def start(self, tensors: Sequence[torch.Tensor]) -> None:
        """Have the device compute the sums, and copy them to the host when it gets there."""
        table = _table(self.device)
        sums = torch.empty((self.rows, SUMS), dtype=torch.int64, device=self.device)
        for batch in self._batches:
            row = batch.row
            for words in batch.words(tensors):
                torch.sum(words.unsqueeze(1) * table, dim=2, out=sums[row : row + len(words)])
                row += len(words)
        self._fetched = sums.to("cpu", non_blocking=True)
        if self.device.type == "cuda":
            self._arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._arrived.record(torch.cuda.current_stream(self.device))

    def bytes(self) -> memoryview:
        """Return the sums of all rows, once they are there; valid until the next start."""
        if self._arrived is not None:
            self._arrived.synchronize()
        return memoryview(bytes_of(self._fetched)).cast("B")


class Sums:
    """Digests tensors of given form and device in one pass for each device: start it, then ask for them.

    Every tensor must be dense (see `plain`); call under ``torch.no_grad()``.
    """

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self._sizes = [tensor.numel() * tensor.element_size() for tensor in tensors]
        self._others = [index for index, tensor in enumerate(tensors) if tensor.dtype not in _ORDINARY]
        tensors = self._readable(tensors)
        devices: dict[torch.device, list[int]] = defaultdict(list)
        for index, tensor in enumerate(tensors):
            devices[tensor.device].append(index)
        self._devices = [_OfDevice(device, tensors, indices) for device, indices in devices.items()]

    def start(self, tensors: Sequence[torch.Tensor]) -> None:
        """Begin on the tensors as they are now; nothing is waited for."""
        tensors = self._readable(tensors)
        for device in self._devices:
            device.start(tensors)

    def _readable(self, tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        if not self._others:
            return tensors
        found = list(tensors)
        for index in self._others:
            found[index] = found[index].detach().view(_OF_WIDTH[found[index].element_size()])
        return found

    def digests(self) -> list[bytes]:
        """Return the digests of the tensors that were begun on (16 bytes each)."""
        found = [b""] * len(self._sizes)
        for device in self._devices:
            data = device.bytes()
            for index, (start, stop) in zip(device.indices, device.spans, strict=True):
                found[index] = xxhash.xxh3_128_digest(data[start:stop], seed=self._sizes[index])
        return found
