"""Attributes of modules that are neither parameters nor buffers: numbers, texts and tensors, by path."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from operator import is_
from typing import Any

import torch
import xxhash
from torch import nn

from ..trace.digest import has_memory
from ..trace.extra_state import describe
from ..trace.paths import Patterns
from .hooks import identity

_OF_ALL = frozenset(vars(nn.Module()))
_NAMES = frozenset((torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format))
_BAGS = (list, tuple, deque, set, frozenset)
_FIXED = frozenset((bool, int, float, complex, str, type(None)))
_ABSENT = object()
_LARGEST_MIB = 64
_LEAVES_AT_MOST = 2_000
_SHOWN = 120
# Of objects, as `id` gives them; trackers of objects have them as keys.
_ADDRESSES = 2**32


class Attributes:
    """Tells the attributes of the modules of one root; those that can't have changed as it told them before.

    ``unread`` takes the names of those that are too large.
    """

    def __init__(self, unstable: Patterns, unread: dict[str, None]) -> None:
        self._unstable, self._unread = unstable, unread
        self._known: dict[tuple[str, int], _Known] = {}

    def told(self, modules: Iterable[tuple[str, nn.Module]]) -> dict[str, str]:
        """Return path and text of every attribute.

        Left out are texts that may name folders, and objects of other kinds. Numbers that tell the time are
        among them: they differ between two runs, which is how they are known.
        """
        found: dict[str, str] = {}
        for prefix, module in modules:
            if module._buffers:
                found[f"{prefix}(buffers not kept)"] = ", ".join(sorted(module._non_persistent_buffers_set))
            key = prefix, identity(module)
            known = self._known.get(key)
            if known is None or not known.holds(module):
                known = self._known[key] = self._know(module, prefix)
            found |= known.rows
            for name in known.moving:
                found |= self._row(f"{prefix}{name}", module.__dict__[name])
        return found

    def _know(self, module: nn.Module, prefix: str) -> _Known:
        of_torch = type(module).__module__.startswith("torch.")
        table = module.__dict__
        own = {n: v for n, v in table.items() if n not in _OF_ALL and not (of_torch and n.startswith("_"))}
        fixed = {name: value for name, value in own.items() if _is_fixed(value)}
        rows: dict[str, str] = {}
        for name, value in fixed.items():
            rows |= self._row(f"{prefix}{name}", value)
        # Never the values: an object that is held here would live on.
        others = {name: type(value) for name, value in own.items() if name not in fixed}
        moving = [name for name, kind in others.items() if _tells(kind)]
        return _Known(weakref.ref(module), len(table), fixed, rows, others, moving)

    def _row(self, path: str, value: Any) -> dict[str, str]:
        """Return path and text of an attribute; nothing of one that is left out."""
        try:
            kept = _kept(value)
            if kept is None or self._unstable.name(path):
                return {}
            size = sum(t.numel() * t.element_size() for t in _tensors(kept[0])) >> 20
            if size > _LARGEST_MIB:
                self._unread[f"attribute {path} of {size} MiB"] = None
                return {}
            leaves = list(describe(kept[0], self._unstable, path))
        except Exception as error:
            # What an object of the program's own does when it is asked ends no looks.
            self._unread[f"attribute {path} ({type(error).__name__})"] = None
            return {}
        if len(leaves) > _LEAVES_AT_MOST:
            self._unread[f"attribute {path} of {len(leaves)} values"] = None
            return {}
        text = leaves[0][1] if len(leaves) == 1 and leaves[0][0] == path else repr(sorted(leaves))
        if len(text) > _SHOWN:
            text = f"{text[:40]}… {xxhash.xxh3_64_hexdigest(text.encode())}"
        return {path: text}


@dataclass(frozen=True, slots=True)
class _Known:
    """The attributes of a module: ``fixed`` values and their ``rows``, the types of the ``others``.

    ``moving`` names the others that tell something, which may change inside of them.
    """

    module: weakref.ref[nn.Module]
    size: int
    fixed: dict[str, Any]
    rows: dict[str, str]
    others: dict[str, type]
    moving: list[str]

    def holds(self, module: nn.Module) -> bool:
        """Tell whether the module has the same fixed values, and others of the same types."""
        table = module.__dict__
        return (
            self.module() is module
            and len(table) == self.size
            and all(map(is_, map(table.get, self.fixed, repeat(_ABSENT)), self.fixed.values()))
            and all(map(is_, map(type, map(table.get, self.others)), self.others.values()))
        )


def _is_fixed(value: Any) -> bool:
    kind = type(value)
    return kind in _FIXED or kind in _NAMES or (kind is tuple and all(map(_is_fixed, value)))


def _tells(kind: type) -> bool:
    """Tell whether values of a kind that is not fixed may have a part that is compared."""
    return kind in _BAGS or issubclass(kind, (dict, torch.Tensor)) or kind.__module__ == "numpy"


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (Mapping, list)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _tensors(item)


def _kept(value: Any, depth: int = 0) -> tuple[Any] | None:
    """Return the part of a value that is compared, alone in a tuple; None for nothing."""
    kind = type(value)
    if kind in _NAMES:
        return (str(value),)
    if kind in (bool, int, float, complex) or value is None:
        return (value,)
    if kind is str:
        return None if "/" in value or "\\" in value else (value,)
    if isinstance(value, torch.Tensor):
        # What is known of one without memory shows where it gets some.
        return (value,) if has_memory(value) and value.layout is torch.strided else None
    if kind.__module__ == "numpy" and hasattr(value, "tobytes") and value.dtype != object:
        return (value,)
    if depth > 3:
        return None
    if kind in (set, frozenset):
        value = sorted(value, key=repr)
    if kind in _BAGS:
        items = [_kept(item, depth + 1) for item in value]
        return None if None in items else ([item[0] for item in items if item is not None],)
    if isinstance(value, dict):
        rows = {_key(key, place): _kept(item, depth + 1) for place, (key, item) in enumerate(value.items())}
        return ({key: row[0] for key, row in rows.items() if row is not None},)
    return None


def _key(key: Any, place: int) -> str:
    """Return the key of an item as text; of one that is as large as an address, its place."""
    return f"(item {place})" if type(key) is int and key >= _ADDRESSES else str(key)


def shared(tables: Iterable[tuple[str, Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """Name the parameters that are one tensor."""
    found = [identity(p) for _, params, _ in tables for p in params.values() if p is not None]
    if len(set(found)) == len(found):
        return ""
    names: dict[int, list[str]] = {}
    for prefix, params, _ in tables:
        for name, parameter in params.items():
            if parameter is not None:
                names.setdefault(identity(parameter), []).append(f"{prefix}{name}")
    return "; ".join(" = ".join(sorted(each)) for each in names.values() if len(each) > 1)
