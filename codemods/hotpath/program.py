"""All modules under check together: what a dotted name means across them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator

from codemods.hotpath.modules import Class, Function, Module

Definition = Module | Function | Class | tuple[Module, str] | str
"""Meaning of a name: a part of the program, a module-level variable, or a dotted name outside of it."""

_FAR = 12
_ELSEWHERE = frozenset({"numpy", "torch", *sys.stdlib_module_names})


class Program:
    """Modules by name, with the classes and methods that are in them."""

    def __init__(self, modules: Iterable[Module]) -> None:
        self.modules = list(modules)
        self.by_name: dict[str, Module] = {}
        for module in self.modules:
            self.by_name.setdefault(module.name, module)
        self._tails: dict[str, list[Module]] = {}
        for module in self.modules:
            parts = module.name.split(".")
            for start in range(1, len(parts)):
                self._tails.setdefault(".".join(parts[start:]), []).append(module)
        self._folders = {
            module.name.rsplit(".", depth)[0]
            for module in self.modules
            for depth in range(module.name.count(".") + 1)
        }
        self.open_aliases: set[tuple[Module, str]] = set()
        self._methods: dict[str, list[Function]] | None = None
        self._mro: dict[Class, list[Class | str]] = {}
        for cls in [cls for module in self.modules for cls in module.classes.values()]:
            for base in self.bases(cls):
                if isinstance(base, Class):
                    base.derived.append(cls)

    def module(self, dotted: str) -> Module | None:
        """A module by its dotted name, or by the end of it where that is unambiguous."""
        found = self.by_name.get(dotted)
        if found is None and dotted.partition(".")[0] not in _ELSEWHERE:
            ends = self._tails.get(dotted, ())
            found = ends[0] if len(ends) == 1 else None
        return found

    def near(self, module: Module, dotted: str) -> str:
        """Name an import in the program: a script's own folder comes before all others."""
        beside = f"{module.package}.{dotted}"
        if (
            module.package in self.by_name
            or f"{module.package}.{dotted.partition('.')[0]}" not in self._folders
        ):
            return dotted
        return beside

    def resolve(self, dotted: str, far: int = 0) -> Definition:
        """Find the meaning of a dotted name."""
        module = self.module(dotted)
        if module is not None:
            return module
        head, _, last = dotted.rpartition(".")
        if not head or far > _FAR:
            return dotted
        owner = self.resolve(head, far + 1)
        if isinstance(owner, Module):
            found = self.member(owner, last, far + 1)
            return dotted if found is None else found
        if isinstance(owner, Class):
            return owner.methods.get(last) or owner.module.classes.get(f"{owner.name}.{last}") or dotted
        return f"{owner}.{last}" if isinstance(owner, str) else dotted

    def member(self, module: Module, name: str, far: int = 0) -> Definition | None:
        """Find the meaning of a module's name; None if the module has none."""
        if name in module.functions:
            return module.functions[name]
        if name in module.classes:
            return module.classes[name]
        if name in module.imports and far <= _FAR:
            return self.resolve(self.near(module, module.imports[name]), far + 1)
        if name in module.values:
            return module, name
        if far <= _FAR:
            for star in module.stars:
                source = self.module(self.near(module, star))
                found = None if source is None else self.member(source, name, far + 1)
                if found is not None:
                    return found
        return self.module(f"{module.name}.{name}")

    def bases(self, cls: Class) -> Iterator[Class | str]:
        """The bases of a class; a dotted name for those outside the program."""
        for base in cls.bases:
            dotted = dotted_name(base.value if isinstance(base, ast.Subscript) else base)
            if dotted is None:
                continue
            head, _, rest = dotted.partition(".")
            found: Definition | None = self.member(cls.module, head)
            if rest and found is not None:
                owner = found.name if isinstance(found, Module) else found
                found = self.resolve(f"{owner}.{rest}") if isinstance(owner, str) else None
            if isinstance(found, (Class, str)):
                yield found
            elif found is None:
                yield dotted

    def mro(self, cls: Class) -> list[Class | str]:
        """A class and everything that it inherits from, nearest first."""
        found = self._mro.get(cls)
        if found is None:
            self._mro[cls] = found = [cls]
            for base in self.bases(cls):
                for item in self.mro(base) if isinstance(base, Class) else [base]:
                    if item not in found:
                        found.append(item)
        return found

    def method(self, cls: Class, name: str, *, after: Class | None = None) -> Function | None:
        """A method of a class, perhaps inherited; ``after``: of the classes behind that one (``super()``)."""
        order = self.mro(cls)
        if after in order:
            order = order[order.index(after) + 1 :]
        for item in order:
            if isinstance(item, Class) and name in item.methods:
                return item.methods[name]
        return None

    def overrides(self, cls: Class, name: str) -> list[Function]:
        """List the methods by which derived classes override one."""
        found = []
        for derived in cls.derived:
            if name in derived.methods:
                found.append(derived.methods[name])
            else:
                found += self.overrides(derived, name)
        return found

    def external_base(self, cls: Class, prefix: str) -> bool:
        """Tell whether a class inherits from something outside the program whose name begins so."""
        return any(isinstance(item, str) and item.startswith(prefix) for item in self.mro(cls))

    def methods_named(self, name: str) -> list[Function]:
        """All methods of a name."""
        if self._methods is None:
            self._methods = {}
            for module in self.modules:
                for cls in module.classes.values():
                    for function in cls.methods.values():
                        self._methods.setdefault(function.name, []).append(function)
        return self._methods.get(name, [])


def dotted_name(node: ast.expr) -> str | None:
    """``a.b.c`` of such an expression, None of any other."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None
