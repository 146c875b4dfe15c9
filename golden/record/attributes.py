"""Attributes of modules that are neither parameters nor buffers: numbers, texts and tensors, by path."""

from __future__ import annotations

import operator
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import xxhash
from torch import nn

from ..trace.digest import has_memory
from ..trace.extra_state import describe
from ..trace.paths import Patterns

_OF_ALL = frozenset(vars(nn.Module()))
_NAMES = frozenset((torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format))
_BAGS = (list, tuple, deque, set, frozenset)
_FIXED = frozenset((bool, int, float, complex, str, type(None)))
_ABSENT = object()
_LARGEST_MIB = 64
_LEAVES_AT_MOST = 2_000
_SHOWN = 120


class Attributes:
    """Tells the attributes of the modules of one root; where nothing was set, what it told before."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], _Known] = {}

    def told(
        self,
        modules: Iterable[tuple[str, nn.Module]],
        unstable: Patterns,
        unread: dict[str, None],
    ) -> dict[str, str]:
        """Return path and text of every attribute; ``unread`` takes the names of those that are too large.

        Left out are texts that may name folders, and objects of other kinds. Numbers that tell the time are
        among them: they differ between two runs, which is how they are known.
        """
        found: dict[str, str] = {}
        for prefix, module in modules:
            if module._buffers:
                found[f"{prefix}(buffers not kept)"] = ", ".join(sorted(module._non_persistent_buffers_set))
            key = prefix, id(module)
            known = self._known.get(key)
            if known is None or not known.holds(module):
                known = _known(module, prefix, unstable, unread)
                if known.is_fixed:
                    self._known[key] = known
            found |= known.rows
        return found


@dataclass(frozen=True, slots=True)
class _Known:
    """The attributes of a module as text, and the values that it is the text of."""

    module: weakref.ref[nn.Module]
    size: int
    names: list[str]
    values: list[Any]
    rows: dict[str, str]

    def holds(self, module: nn.Module) -> bool:
        """Tell whether the module would give the same text."""
        table = module.__dict__
        return (
            self.module() is module
            and len(table) == self.size
            and all(map(operator.is_, [table.get(name, _ABSENT) for name in self.names], self.values))
        )

    @property
    def is_fixed(self) -> bool:
        """True if its values can't change inside."""
        return all(map(_is_fixed, self.values))


def _is_fixed(value: Any) -> bool:
    kind = type(value)
    return kind in _FIXED or kind in _NAMES or (kind is tuple and all(map(_is_fixed, value)))


def _known(module: nn.Module, prefix: str, unstable: Patterns, unread: dict[str, None]) -> _Known:
    of_torch = type(module).__module__.startswith("torch.")
    table = module.__dict__
    names = [name for name in table if name not in _OF_ALL and not (of_torch and name.startswith("_"))]
    rows: dict[str, str] = {}
    for name in names:
        try:
            kept = _kept(table[name])
            if kept is not None:
                rows |= _told(f"{prefix}{name}", kept[0], unstable, unread)
        except Exception as error:
            # What an object of the program's own does when it is asked ends no looks.
            unread[f"attribute {prefix}{name} ({type(error).__name__})"] = None
    return _Known(weakref.ref(module), len(table), names, [table[name] for name in names], rows)


def _told(path: str, value: Any, unstable: Patterns, unread: dict[str, None]) -> Iterator[tuple[str, str]]:
    if unstable.name(path):
        return
    size = sum(t.numel() * t.element_size() for t in _tensors(value)) >> 20
    if size > _LARGEST_MIB:
        unread[f"attribute {path} of {size} MiB"] = None
        return
    leaves = list(describe(value, unstable, path))
    if len(leaves) > _LEAVES_AT_MOST:
        unread[f"attribute {path} of {len(leaves)} values"] = None
        return
    text = leaves[0][1] if len(leaves) == 1 and leaves[0][0] == path else repr(sorted(leaves))
    yield path, text if len(text) <= _SHOWN else f"{text[:40]}… {xxhash.xxh3_64_hexdigest(text.encode())}"


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
        rows = {str(key): _kept(item, depth + 1) for key, item in value.items()}
        return ({key: row[0] for key, row in rows.items() if row is not None},)
    return None


def shared(tables: Iterable[tuple[str, Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """Name the parameters that are one tensor."""
    names: dict[int, list[str]] = {}
    for prefix, params, _ in tables:
        for name, parameter in params.items():
            if parameter is not None:
                names.setdefault(id(parameter), []).append(f"{prefix}{name}")
    return "; ".join(" = ".join(sorted(each)) for each in names.values() if len(each) > 1)
