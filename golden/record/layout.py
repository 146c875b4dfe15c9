"""Which tensors belong to one optimizer at one step, in a fixed order, with their names."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from ..trace.digest import plain
from .naming import ModuleRegistry, Place

KINDS = ("buffers", "grads", "params", "state")
_ORDINARY = (torch.Tensor, nn.Parameter)


@dataclass(frozen=True)
class EnvRule:
    """How to tell an environment from a model: the k-th module of a class belongs to env k mod count."""

    module: str
    count: int

    def env(self, place: Place, registry: ModuleRegistry) -> int | None:
        """The environment of a tensor at ``place``; None for a tensor of no environment."""
        for module in place.chain:
            if type(module).__name__ == self.module:
                return registry.creation_index(module) % self.count
        return None


@dataclass(frozen=True)
class Names:
    """Names for what one optimizer holds."""

    env: int | None
    roots: tuple[str, ...]
    params: tuple[str, ...]
    buffers: tuple[tuple[weakref.ref[nn.Module], str, str], ...]


def name_optimizer(params: list[torch.Tensor], registry: ModuleRegistry, rule: EnvRule | None) -> Names:
    """Names of the parameters of one optimizer and of the buffers of the models they belong to."""
    places = [registry.place(parameter) for parameter in params]
    roots = list({id(p.root): p.root for p in places if p is not None}.values())
    labels = {id(r): f"{type(r).__name__}#{registry.creation_index(r)}" for r in roots}
    several = len(roots) > 1

    def full(root: nn.Module, name: str) -> str:
        return f"{labels[id(root)]}/{name}" if several else name

    envs = {rule.env(p, registry) if p is not None else None for p in places} if rule else {None}
    buffers = [
        (weakref.ref(module), name, full(root, f"{path}.{name}" if path else name))
        for root in roots
        for path, module in _modules(root)
        for name, value in module._buffers.items()
        if value is not None
    ]
    names = tuple(
        full(p.root, p.name) if p is not None else f"(parameter {i} of no module)"
        for i, p in enumerate(places)
    )
    registry.forget_places()
    return Names(
        env=envs.pop() if len(envs) == 1 else None,
        roots=tuple(labels.values()),
        params=names,
        buffers=tuple(buffers),
    )


def _modules(root: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    for path, module in root.named_modules():
        yield path.replace("_orig_mod.", "").removesuffix("_orig_mod").rstrip("."), module


@dataclass(frozen=True)
class Snapshot:
    """The tensors of one step by kind, in order; ``owners`` tells whose they are.

    ``extra`` is the optimizer state that isn't a tensor.
    """

    tensors: Mapping[str, list[torch.Tensor]]
    owners: Mapping[str, list[tuple[int, str]]]
    extra: list[tuple[int, str, str]]

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal keys mean an equal layout."""
        return tuple(
            (tuple(self.owners[kind]), tuple([(t.dtype, t.shape) for t in self.tensors[kind]]))
            for kind in KINDS
        )

    def describe(self, names: Names) -> dict[str, list[tuple[str, str, list[int]]]]:
        """Name, dtype and shape of every tensor by kind."""
        return {
            kind: [
                (_title(kind, owner, key, names), str(t.dtype).removeprefix("torch."), list(t.shape))
                for (owner, key), t in zip(self.owners[kind], self.tensors[kind], strict=True)
            ]
            for kind in KINDS
        }


def _title(kind: str, owner: int, key: str, names: Names) -> str:
    base = names.buffers[owner][2] if kind == "buffers" else names.params[owner]
    return f"{base}.{key}" if key else base


def snapshot(
    params: list[torch.Tensor],
    state: Mapping[torch.Tensor, Mapping[str, Any]],
    buffers: Iterable[torch.Tensor | None],
) -> Snapshot:
    """The tensors of an optimizer and of its models as they are now."""
    tensors: dict[str, list[torch.Tensor]] = {kind: [] for kind in KINDS}
    owners: dict[str, list[tuple[int, str]]] = {kind: [] for kind in KINDS}
    extra: list[tuple[int, str, str]] = []

    def add(kind: str, owner: int, key: str, tensor: torch.Tensor) -> None:
        if type(tensor) in _ORDINARY and tensor.layout is torch.strided and not tensor.is_complex():
            tensors[kind].append(tensor)
            owners[kind].append((owner, key))
            return
        parts = plain(tensor)
        for index, part in enumerate(parts):
            tensors[kind].append(part)
            owners[kind].append((owner, key if len(parts) == 1 else f"{key}[{index}]"))

    for index, buffer in enumerate(buffers):
        if buffer is not None:
            add("buffers", index, "", buffer)
    for index, parameter in enumerate(params):
        add("params", index, "", parameter)
        if parameter.grad is not None:
            add("grads", index, "", parameter.grad)
        for key, value in state.get(parameter, {}).items():
            if isinstance(value, torch.Tensor):
                add("state", index, str(key), value)
            else:
                extra.append((index, str(key), repr(value)))
    return Snapshot(tensors, owners, extra)


def parameters(optimizer: Optimizer) -> list[torch.Tensor]:
    """All parameters of an optimizer in group order."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def settings(optimizer: Optimizer, extra: list[tuple[int, str, str]]) -> dict[str, str]:
    """Learning rates and the like, and the state that isn't a tensor, as text."""
    found = {
        f"group {index} {key}": repr(value)
        for index, group in enumerate(optimizer.param_groups)
        for key, value in group.items()
        if key != "params" and isinstance(value, (int, float, str, tuple, list, type(None)))
    }
    found.update({f"state {index}.{key}": value for index, key, value in extra})
    return found
