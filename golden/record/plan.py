"""A plan to digest the tensors of one optimizer in one pass, made once while they keep their form."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import torch
import xxhash

from ..trace.digest import DIGEST_BYTES, Flat, are_plain, has_memory, lies_on_gpu, plain
from ..trace.kinds import KINDS, SUMS

if TYPE_CHECKING:
    from ..trace.sums import Sums

# Where digests are made: the GPU's on the GPU and all else on the host; all on the host; each where it is.
Where = Literal["auto", "host", "device"]
_dtype, _shape, _layout = attrgetter("dtype"), attrgetter("shape"), attrgetter("layout")
# A number, or -1 for the CPU: compared more quickly than a device.
_device = torch.Tensor.get_device


class Plan:
    """The tensors among some entries, their forms, and where their digests go."""

    def __init__(self, entries: list[Any], titles: list[tuple[str, str]], where: Where = "auto") -> None:
        """Plan for ``entries`` as they are now; ``titles`` has the kind and the name of each."""
        self._types = list(map(type, entries))
        self._positions = [i for i, value in enumerate(entries) if isinstance(value, torch.Tensor)]
        self._extras = [
            (i, title)
            for i, (kind, title) in enumerate(titles)
            if kind == "state" and not isinstance(entries[i], torch.Tensor)
        ]
        self._special = not are_plain([entries[i] for i in self._positions])
        # What can't be read, by name: an object of which no more is known than where it is, for one.
        self.unread = [
            f"state {title} ({type(entries[i]).__name__})"
            for i, title in self._extras
            if _ADDRESS.search(repr(entries[i]))
        ]
        tensors = self.dense(entries)
        self._dtypes, self._shapes = list(map(_dtype, tensors)), list(map(_shape, tensors))
        self._places, self._strided = list(map(_device, tensors)), [torch.strided] * len(tensors)
        there = [where == "device" or (where == "auto" and lies_on_gpu(t)) for t in tensors]
        self._here = [i for i, on_device in enumerate(there) if not on_device]
        self._there = [i for i, on_device in enumerate(there) if on_device]
        self._flat = Flat([tensors[i] for i in self._here])
        self._sums = _sums([tensors[i] for i in self._there])
        self._begun = False
        self.described: dict[str, list[tuple[Any, ...]]] = {kind: [] for kind in KINDS}
        for (kind, title), dtype, shape, on_device in zip(
            self._titles(entries, titles), self._dtypes, self._shapes, there, strict=True
        ):
            row = (title, str(dtype).removeprefix("torch."), list(shape))
            self.described[kind].append((*row, SUMS) if on_device else row)

    def _titles(self, entries: list[Any], titles: list[tuple[str, str]]) -> list[tuple[str, str]]:
        if not self._special:
            return [titles[i] for i in self._positions]
        found = []
        for i in self._positions:
            kind, title = titles[i]
            count = len(plain(entries[i]))
            if not count:
                self.unread.append(f"{kind} {title} ({type(entries[i]).__name__})")
            found += [(kind, title if count == 1 else f"{title}[{part}]") for part in range(count)]
        return found

    def dense(self, entries: list[Any]) -> list[torch.Tensor]:
        """Return the tensors among entries of the form that this plan is for, in order, as dense ones."""
        chosen = [entries[i] for i in self._positions]
        return [part for tensor in chosen for part in plain(tensor)] if self._special else chosen

    def tensors(self, entries: list[Any]) -> list[torch.Tensor] | None:
        """`dense`, or None if the entries have another form."""
        if self._types != list(map(type, entries)):
            return None
        try:
            tensors = self.dense(entries)
            same = self._dtypes == list(map(_dtype, tensors)) and self._shapes == list(map(_shape, tensors))
        except RuntimeError:
            # One that is nested now has no shape.
            return None
        if not same or self._places != list(map(_device, tensors)):
            return None
        if self._strided != list(map(_layout, tensors)):
            return None
        # What a device has freed must not be read there.
        return tensors if all(has_memory(tensors[i]) for i in self._there) else None

    def extras(self, entries: list[Any]) -> dict[str, str]:
        """Return the optimizer state that isn't a tensor, as text."""
        return {f"state {title}": _text(entries[i]) for i, title in self._extras}

    def begin(self, tensors: list[torch.Tensor]) -> None:
        """Have devices begin on the digests of what they hold, which `digests` then waits for."""
        if self._sums is not None:
            self._sums.start([tensors[i] for i in self._there])
            self._begun = True

    def digests(self, tensors: list[torch.Tensor]) -> dict[str, str]:
        """By kind, the digests of its tensors one after another, in hexadecimal."""
        found = self._all(tensors).hex()
        text: dict[str, str] = {}
        start = 0
        for kind in KINDS:
            end = start + len(self.described[kind]) * 2 * DIGEST_BYTES
            text[kind] = found[start:end]
            start = end
        return text

    def _all(self, tensors: list[torch.Tensor]) -> bytes:
        if self._sums is None:
            return self._flat.digests(tensors)
        if not self._begun:
            self.begin(tensors)
        self._begun = False
        of_host = self._flat.digests([tensors[i] for i in self._here])
        found = dict(zip(self._there, self._sums.digests(), strict=True))
        for place, index in enumerate(self._here):
            found[index] = of_host[place * DIGEST_BYTES : (place + 1) * DIGEST_BYTES]
        return b"".join([found[index] for index in range(len(tensors))])

    def titled(self, tensors: list[torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the tensors under the names that a saved state uses."""
        remaining = iter(tensors)
        return {
            f"{kind}/{index}/{name}": next(remaining)
            for kind in KINDS
            for index, (name, *_) in enumerate(self.described[kind])
        }


def _sums(tensors: list[torch.Tensor]) -> Sums | None:
    if not tensors:
        return None
    # Few programs need it here, and each process of several would load it.
    from ..trace.sums import Sums

    return Sums(tensors)


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def _text(value: Any) -> str:
    """Return a value that is no tensor; an array in full, an object without its address."""
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):
        return f"{value.dtype}{list(value.shape)} {xxhash.xxh3_128_hexdigest(value.tobytes())}"
    return _ADDRESS.sub("", repr(value))
