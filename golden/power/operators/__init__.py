"""The kinds of mistakes that are planted, one module each, found by a walk.

A module has ``WHAT`` in words, ``plant``, and beside them its cases: ``MAKES`` are pairs of a text and one
that is made of it, ``LEAVES`` are texts of which it makes nothing. An edit keeps every line where it is.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Protocol, cast

import libcst as cst

from golden.power.source import Edit, Source


class Plant(Protocol):
    """What an operator makes at one node."""

    def __call__(self, node: cst.CSTNode, source: Source) -> Iterator[Edit]: ...


class _Module(Protocol):
    WHAT: str
    MAKES: tuple[tuple[str, str], ...]
    LEAVES: tuple[str, ...]
    plant: Plant


@dataclass(frozen=True, slots=True)
class Operator:
    """One kind of mistake."""

    name: str
    what: str
    plant: Plant
    makes: tuple[tuple[str, str], ...]
    leaves: tuple[str, ...]


@cache
def operators() -> tuple[Operator, ...]:
    """All of them, by name."""
    found = []
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name):
        module = cast(_Module, importlib.import_module(f"{__name__}.{info.name}"))
        found.append(Operator(info.name, module.WHAT, module.plant, module.MAKES, module.LEAVES))
    return tuple(found)
