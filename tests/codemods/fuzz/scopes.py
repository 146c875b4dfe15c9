"""What the generator knows about the scope it writes in: bound names, helpers, the kind of function."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

NAMES = ("n", "a", "b", "k", "m", "x")
"""Few, so that shadowing, rebinding and collisions are common."""
HELPERS = ("h", "f", "g", "p", "q")

Kind = Literal["plain", "generator", "coroutine", "maker"]
"""A maker returns a function that reads what it captures when it is called."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A helper's name and parameters."""

    name: str
    kind: Kind
    positional_only: int
    positional: tuple[str, ...]
    required: int
    keyword_only: tuple[str, ...]
    star: bool
    double_star: bool


@dataclass(slots=True)
class Scope:
    """A function or class body being written, `bound` being the integers that are surely bound so far."""

    kind: Kind | Literal["class", "module"]
    parent: Scope | None
    own: set[str]
    bound: set[str] = field(default_factory=set)
    helpers: dict[str, Signature] = field(default_factory=dict)
    callbacks: list[str] = field(default_factory=list)
    suspended: list[str] = field(default_factory=list)
    lists: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    methods: list[str] = field(default_factory=list)
    loops: int = 0
    depth: int = 0

    def chain(self) -> list[Scope]:
        """Return the scopes in which a name is looked up, from the inside."""
        scopes, scope = [self], self.parent
        while scope is not None:
            if scope.kind != "class":
                scopes.append(scope)
            scope = scope.parent
        return scopes

    def readable(self) -> list[str]:
        """Return the integers that can be read here without an error."""
        found: set[str] = set()
        hidden: set[str] = set()
        for scope in self.chain():
            found |= scope.bound - hidden
            if scope.kind != "class":
                hidden |= scope.own
        return sorted(found)

    def callable_helpers(self) -> list[Signature]:
        """Return the helpers that are surely defined here, those of the enclosing functions included."""
        found: dict[str, Signature] = {}
        hidden: set[str] = set()
        for scope in self.chain():
            for name, signature in scope.helpers.items():
                if name not in hidden:
                    found.setdefault(name, signature)
            hidden |= scope.own
        return [found[name] for name in sorted(found)]

    def outer_names(self) -> list[str]:
        """Return the enclosing functions' bound integers, which `nonlocal` may name."""
        found = {name for scope in self.chain()[1:] if scope.kind != "module" for name in scope.bound}
        return sorted(found)
