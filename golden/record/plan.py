"""How to digest the tensors of one optimizer in one pass, worked out once while they keep their form."""

from __future__ import annotations

from typing import Any

import torch

from ..trace.digest import DIGEST_BYTES, Flat, plain

KINDS = ("buffers", "grads", "params", "state")
_ORDINARY = (torch.Tensor, torch.nn.Parameter)


class Plan:
    """The tensors among some entries, their forms, and where their digests go."""

    def __init__(self, entries: list[Any], titles: list[tuple[str, str]]) -> None:
        self._types = list(map(type, entries))
        self._positions = [i for i, value in enumerate(entries) if isinstance(value, torch.Tensor)]
        self._extras = [
            (i, title)
            for i, (kind, title) in enumerate(titles)
            if kind == "state" and not isinstance(entries[i], torch.Tensor)
        ]
        self._special = not all(
            type(t := entries[i]) in _ORDINARY and t.layout is torch.strided and not t.is_complex()
            for i in self._positions
        )
        tensors = self.tensors(entries)
        self._forms = [(tensor.dtype, tensor.shape) for tensor in tensors]
        self._flat = Flat(tensors)
        self.described: dict[str, list[tuple[str, str, list[int]]]] = {kind: [] for kind in KINDS}
        for (kind, title), tensor in zip(self._titles(entries, titles), tensors, strict=True):
            self.described[kind].append((title, str(tensor.dtype).removeprefix("torch."), list(tensor.shape)))

    def _titles(self, entries: list[Any], titles: list[tuple[str, str]]) -> list[tuple[str, str]]:
        if not self._special:
            return [titles[i] for i in self._positions]
        found = []
        for i in self._positions:
            kind, title = titles[i]
            count = len(plain(entries[i]))
            found += [(kind, title if count == 1 else f"{title}[{part}]") for part in range(count)]
        return found

    def tensors(self, entries: list[Any]) -> list[torch.Tensor]:
        """The tensors among the entries, in order, as dense ones."""
        chosen = [entries[i] for i in self._positions]
        return [part for tensor in chosen for part in plain(tensor)] if self._special else chosen

    def fits(self, entries: list[Any]) -> bool:
        """Whether the entries still have the form that this plan was made for."""
        return self._types == list(map(type, entries)) and self._forms == [
            (tensor.dtype, tensor.shape) for tensor in self.tensors(entries)
        ]

    def extras(self, entries: list[Any]) -> dict[str, str]:
        """The optimizer state that isn't a tensor, as text."""
        return {f"state {title}": repr(entries[i]) for i, title in self._extras}

    def digests(self, entries: list[Any]) -> dict[str, str]:
        """By kind, the digests of its tensors one after another, in hexadecimal."""
        found = self._flat.digests(self.tensors(entries))
        text: dict[str, str] = {}
        start = 0
        for kind in KINDS:
            end = start + len(self.described[kind]) * DIGEST_BYTES
            text[kind] = found[start:end].hex()
            start = end
        return text

    def named(self, entries: list[Any]) -> dict[str, torch.Tensor]:
        """Copies of the tensors under the names that a saved state uses."""
        tensors = iter(self.tensors(entries))
        return {
            f"{kind}/{index}/{name}": next(tensors).detach().cpu().contiguous().clone()
            for kind in KINDS
            for index, (name, _, _) in enumerate(self.described[kind])
        }

    def size(self, entries: list[Any]) -> int:
        """Bytes of all tensors."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self.tensors(entries))
