"""Names for tensors and environments, found without touching the program.

Modules announce themselves through torch's global registration hooks; nothing runs per forward.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.modules import module as hooks

from .hooks import identity

# Wrappers that hold exactly one model: the model's own names stay the same with and without them.
_TRANSPARENT = {"OptimizedModule", "DistributedDataParallel", "DataParallel", "FullyShardedDataParallel"}


class Place(NamedTuple):
    """The place of a tensor: its dotted name below the outermost module, and the modules on the way."""

    name: str
    chain: tuple[nn.Module, ...]

    @property
    def root(self) -> nn.Module:
        """The outermost module."""
        return self.chain[0]


class _WeakPlace(NamedTuple):
    name: str
    chain: tuple[weakref.ref[nn.Module], ...]

    def strong(self, parameter: torch.Tensor) -> Place | None:
        """Return the place, if it still holds the parameter."""
        modules = tuple(module for reference in self.chain if (module := reference()) is not None)
        if len(modules) < len(self.chain):
            return None
        held = modules[-1]._parameters.get(self.name.rpartition(".")[2])
        return Place(self.name, modules) if held is parameter else None


class ModuleRegistry:
    """Every module of the process, in order of creation, held weakly."""

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[nn.Module]] = {}
        self._created: dict[int, int] = {}
        self._count: Counter[str] = Counter()
        self._places: dict[int, _WeakPlace] = {}
        self._places_version = -1
        self._indexed: set[int] = set()
        # The outermost modules of each one below them.
        self._roots: dict[int, list[int]] = {}
        # Grows when a module that has a name changes its place or gets another tensor.
        self._version = 0
        # The same by outermost module, and for modules that have none.
        self._versions: Counter[int] = Counter()
        self._rootless = 0
        # Grows with every registration: then another module may be an outermost one.
        self._registrations = 0
        self._outermost: list[weakref.ref[nn.Module]] = []
        self._outermost_for = -1

    def install(self) -> None:
        """Listen to registrations, and to modules that are copied or unpickled past them."""
        hooks.register_module_parameter_registration_hook(self._on_tensor("_parameters"))
        hooks.register_module_buffer_registration_hook(self._on_tensor("_buffers"))
        hooks.register_module_module_registration_hook(self._on_module)
        original: Any = nn.Module.__setstate__

        def setstate(module: nn.Module, state: dict[str, Any]) -> None:
            original(module, state)
            self.note(module)

        nn.Module.__setstate__ = setstate  # type: ignore[method-assign]

    def _on_tensor(self, table: str) -> Any:
        def hook(module: nn.Module, name: str, tensor: Any) -> None:
            self.note(module)
            if name not in module.__dict__[table]:
                self._changed(identity(module))

        return hook

    def _on_module(self, module: nn.Module, name: str, child: Any) -> None:
        self._registrations += 1
        self.note(module)
        if isinstance(child, nn.Module):
            self.note(child)
        self._changed(identity(module))
        self._changed(identity(child))

    def _changed(self, module: int) -> None:
        if module not in self._indexed:
            return
        self._version += 1
        roots = self._roots.get(module)
        if roots is None:
            self._rootless += 1
        else:
            self._versions.update(roots)

    def version(self, roots: Sequence[int] | None) -> list[int]:
        """Return a version that changes when a name below these outermost modules may; below any for None."""
        if roots is None:
            return [self._version]
        return [self._rootless, *[self._versions[root] for root in roots]]

    def note(self, module: nn.Module) -> None:
        """Remember a module; the first call gives it its creation index among its class."""
        key = identity(module)
        reference = self._known.get(key)
        if reference is not None and reference() is module:
            return
        self._registrations += 1
        name = type(module).__name__
        self._known[key] = weakref.ref(module)
        self._created[key] = self._count[name]
        self._count[name] += 1

    def creation_index(self, module: nn.Module) -> int:
        """Count the modules of its class that were created before it."""
        self.note(module)
        return self._created[identity(module)]

    def roots(self) -> list[nn.Module]:
        """Return every living module that no other one holds, in order of creation, without wrappers."""
        if self._outermost_for == self._registrations:
            found = [module for reference in self._outermost if (module := reference()) is not None]
            # What a module that is gone held may be an outermost one now.
            if len(found) == len(self._outermost):
                return found
        self._outermost_for = self._registrations
        found = _outermost(list(self._live()))
        self._outermost = list(map(weakref.ref, found))
        return found

    def label(self, root: nn.Module) -> str:
        """Return the name of a root: its class, and its number among those of the class."""
        return f"{type(root).__name__}#{self.creation_index(root)}"

    def place(self, parameter: torch.Tensor) -> Place | None:
        """Return the place of a parameter, or None if no module holds it."""
        if self._places_version == self._version:
            known = self._places.get(identity(parameter))
            found = known.strong(parameter) if known is not None else None
            if found is not None:
                return found
        self._index()
        known = self._places.get(identity(parameter))
        return known.strong(parameter) if known is not None else None

    def _live(self) -> Iterator[nn.Module]:
        for key, reference in list(self._known.items()):
            module = reference()
            if module is None:
                del self._known[key], self._created[key]
            else:
                yield module

    def _index(self) -> None:
        modules = list(self._live())
        roots = _outermost(modules)
        self._places = {}
        self._places_version = self._version
        self._indexed = set(map(identity, modules))
        self._roots = {}
        for root in roots:
            for prefix, chain in walk(root):
                self._roots.setdefault(identity(chain[-1]), []).append(identity(root))
                weak = tuple(map(weakref.ref, chain))
                for name, parameter in chain[-1]._parameters.items():
                    if parameter is not None:
                        self._places.setdefault(identity(parameter), _WeakPlace(f"{prefix}{name}", weak))


def _outermost(modules: list[nn.Module]) -> list[nn.Module]:
    children = {
        identity(child)
        for module in modules
        if type(module).__name__ not in _TRANSPARENT
        for child in module._modules.values()
        if child is not None
    }
    return [m for m in modules if identity(m) not in children and type(m).__name__ not in _TRANSPARENT]


def walk(root: nn.Module) -> Iterator[tuple[str, tuple[nn.Module, ...]]]:
    """Yield the way to every module of a root, once, behind what the names of its tensors begin with."""
    stack: list[tuple[str, tuple[nn.Module, ...]]] = [("", (root,))]
    seen: set[int] = set()
    while stack:
        prefix, chain = stack.pop()
        module = chain[-1]
        if identity(module) in seen:
            continue
        seen.add(identity(module))
        yield prefix, chain
        transparent = type(module).__name__ in _TRANSPARENT
        stack += [
            (prefix if transparent else f"{prefix}{name}.", (*chain, child))
            for name, child in reversed(module._modules.items())
            if child is not None
        ]
