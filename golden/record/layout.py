"""Tensors of one optimizer, in a fixed order, with their names."""

from __future__ import annotations

import collections
import operator
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.optim import Optimizer

from .hooks import identity
from .naming import ModuleRegistry, Place, walk

_NO_STATE: dict[str, Any] = {}


@dataclass(frozen=True)
class EnvRule:
    """The rule that tells environments from models: the k-th module of a class is that of env k mod count.

    The first ``skip`` ones belong to none.
    """

    module: str
    count: int
    skip: int = 0

    def env(self, place: Place, registry: ModuleRegistry) -> int | None:
        """Return the environment of a tensor at ``place``; None for a tensor of no environment."""
        for module in place.chain:
            if type(module).__name__ == self.module:
                index = registry.creation_index(module) - self.skip
                return index % self.count if index >= 0 else None
        return None


class Names(NamedTuple):
    """Names for what one optimizer holds.

    They hold while the registry gives the ``version`` of what is ``below``: the identities of the outermost
    modules, or None if a parameter is of no module.
    """

    env: int | None
    below: list[int] | None
    version: list[int]
    roots: tuple[str, ...]
    params: tuple[str, ...]
    buffers: tuple[tuple[weakref.ref[nn.Module], str, str], ...]

    def buffer_values(self) -> list[torch.Tensor | None]:
        """Return the buffers as they are now."""
        return [m._buffers.get(name) if (m := module()) else None for module, name, _ in self.buffers]


def name_optimizer(params: list[torch.Tensor], registry: ModuleRegistry, rule: EnvRule | None) -> Names:
    """Return names of the parameters of one optimizer and of the buffers of the models they belong to."""
    places = [registry.place(parameter) for parameter in params]
    roots = list({identity(p.root): p.root for p in places if p is not None}.values())
    labels = {identity(r): registry.label(r) for r in roots}
    several = len(roots) > 1

    def full(root: nn.Module, name: str) -> str:
        return f"{labels[identity(root)]}/{name}" if several else name

    envs = {rule.env(p, registry) if p is not None else None for p in places} if rule else {None}
    buffers = [
        (weakref.ref(chain[-1]), name, full(root, f"{prefix}{name}"))
        for root in roots
        for prefix, chain in walk(root)
        for name, value in chain[-1]._buffers.items()
        if value is not None
    ]
    names = tuple(
        full(p.root, p.name) if p is not None else f"(parameter {i} of no module)"
        for i, p in enumerate(places)
    )
    below = None if None in places else list(map(identity, roots))
    return Names(
        env=envs.pop() if len(envs) == 1 else None,
        below=below,
        version=registry.version(below),
        roots=tuple(labels.values()),
        params=names,
        buffers=tuple(buffers),
    )


def parameters(optimizer: Optimizer) -> list[torch.Tensor]:
    """Return all parameters of an optimizer in group order."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def gather(
    params: list[torch.Tensor],
    state: Mapping[torch.Tensor, Mapping[str, Any]],
    buffers: list[torch.Tensor | None],
) -> list[Any]:
    """Return buffers, gradients, parameters and optimizer state as they are now; absent ones are None."""
    return [
        *buffers,
        *[parameter.grad for parameter in params],
        *params,
        *_values([value for held in _states(params, state) for value in held.values()]),
    ]


_BAGS = frozenset([list, tuple, dict, collections.deque, collections.OrderedDict, collections.defaultdict])


def _values(found: list[Any]) -> list[Any]:
    if _BAGS.isdisjoint(map(type, found)):
        return found
    return [value for each in found for _, value in _inside("", each)]


def _inside(name: str, value: Any) -> list[tuple[str, Any]]:
    """Return a value under its name; of a collection that holds a tensor, all that is in it by path."""
    if type(value) not in _BAGS:
        return [(name, value)]
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = [part for key, item in items for part in _inside(f"{name}.{key}", item)]
    if not any(isinstance(part, torch.Tensor) for _, part in found):
        return [(name, value)]
    # A plan has the names of what was there when it was made.
    return [*found, (f"{name}.keys", list(map(str, value)))] if isinstance(value, dict) else found


def _states(
    params: list[torch.Tensor], state: Mapping[torch.Tensor, Mapping[str, Any]]
) -> Iterable[Mapping[str, Any]]:
    """Return the state that an optimizer keeps for each of its parameters, in their order."""
    # Looking up a tensor calls Python code; most optimizers fill their state in the order of parameters.
    if len(state) == len(params) and all(map(operator.is_, state, params)):
        return state.values()
    return [state.get(parameter, _NO_STATE) for parameter in params]


def titles(
    params: list[torch.Tensor], state: Mapping[torch.Tensor, Mapping[str, Any]], names: Names
) -> list[tuple[str, str]]:
    """Return kind and name of every entry of `gather`."""
    return [
        *[("buffers", name) for _, _, name in names.buffers],
        *[("grads", name) for name in names.params],
        *[("params", name) for name in names.params],
        *[
            ("state", title)
            for name, parameter in zip(names.params, params, strict=True)
            for key, value in state.get(parameter, _NO_STATE).items()
            for title, _ in _inside(f"{name}.{key}", value)
        ],
    ]


def settings(optimizer: Optimizer) -> dict[str, str]:
    """Return learning rates and the like of an optimizer as text, by name."""
    return {
        f"group {index} {key}": repr(value)
        for index, group in enumerate(optimizer.param_groups)
        for key, value in group.items()
        if key != "params" and isinstance(value, (int, float, str, tuple, list, type(None)))
    }
