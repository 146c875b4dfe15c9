"""The import section of a file that a plan makes."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from codemods.facts.imports import Import

Section = tuple[int, str]


@dataclass
class ImportSection:
    """Imports of one file, rendered in sections: standard library, others, the project's own."""

    roots: tuple[Path, ...]
    future: tuple[str, ...] = ()
    runtime: set[Import] = field(default_factory=set)
    typing: set[Import] = field(default_factory=set)

    @cached_property
    def _own(self) -> dict[str, bool]:
        return {}

    def _rank(self, module: str) -> int:
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names:
            return 0
        if top not in self._own:
            self._own[top] = any(
                (root / top).is_dir() or (root / f"{top}.py").is_file() for root in self.roots
            )
        return 2 if self._own[top] else 1

    def render(self, newline: str, width: int) -> str:
        """The section's text, without blank lines around it."""
        blocks = []
        if self.future:
            blocks.append([f"from __future__ import {', '.join(self.future)}"])
        needed = set(self.runtime)
        typing = {made for made in self.typing if made.bound not in {m.bound for m in needed}}
        if typing:
            needed.add(Import("typing", "TYPE_CHECKING"))
        blocks.extend(self._blocks(needed, width))
        if typing:
            inner: list[str] = []
            for block in self._blocks(typing, width - 4):
                inner.extend(["", *block] if inner else block)
            blocks.append(["if TYPE_CHECKING:", *("    " + line if line else "" for line in inner)])
        return (newline * 2).join(newline.join(block) for block in blocks)

    def _blocks(self, imports: set[Import], width: int) -> list[list[str]]:
        found = []
        for rank in range(3):
            chosen = [made for made in imports if self._rank(made.module) == rank]
            plain = sorted(made for made in chosen if made.name is None)
            lines = [f"import {m.module}" + (f" as {m.alias}" if m.alias else "") for m in plain]
            for module in sorted({made.module for made in chosen if made.name is not None}, key=_module_key):
                names = sorted(
                    (m for m in chosen if m.module == module and m.name is not None),
                    key=lambda m: _name_key(m.name or ""),
                )
                lines.extend(
                    _from(
                        module, [f"{m.name} as {m.alias}" if m.alias else str(m.name) for m in names], width
                    )
                )
            if lines:
                found.append(lines)
        return found


def _module_key(module: str) -> str:
    return module.lower()


def _name_key(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest, as import sorters order them."""
    bare = name.lstrip("_")
    kind = 0 if bare.isupper() and len(bare) > 1 else 1 if bare[:1].isupper() else 2
    return kind, name


def _from(module: str, names: list[str], width: int) -> list[str]:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= width:
        return [line]
    return [f"from {module} import (", *(f"    {name}," for name in names), ")"]
