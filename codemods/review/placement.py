"""Effects of the file that a definition stands in, where its text is the same in another one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.program.namespaces import EVALUATORS, sees_given_only
from codemods.program.nodes import walk
from codemods.review.effects import SideEffects
from codemods.review.side import Meaning, Outside, Side
from codemods.review.trees import packages_of
from codemods.review.units import MODULE, PLACED, Unit

# The names of builtins that answer for the module they are called in, quoted as in the form that is compared.
_QUOTED = re.compile(rf"'({'|'.join(PLACED)})'")
_BUILTINS = re.compile(r"'(?:__)?builtins(?:__)?'")


class Placed:
    """Asks it of a unit of the base and the one of the head that it became."""

    def __init__(self, base: Side, head: Side) -> None:
        self._base, self._head = base, head
        self._effects = SideEffects(base)
        self._loads: dict[tuple[str, str], bool] = {}

    def run_by_another(self, base: Unit, head: Unit) -> bool:
        """Is what a module runs not run when it was before: by the import of another file?"""
        if base.path == head.path:
            return False
        gone = base.path not in self._head.tree.identities
        if base.kind == "statements":
            fresh = head.path not in self._base.tree.identities
            return not (fresh and (gone or self.loads(base.path, head.path)))
        if gone or base.owner is not None or "." in base.qualname or self.loads(base.path, head.path):
            return False
        file = self._base.changed[base.path]
        return any(self._effects.runs(file, statement) for statement in base.original)

    def loads(self, path: str, other: str) -> bool:
        """Does importing one file of the head load another one, too?"""
        if (path, other) not in self._loads:
            starts = (each for each in (path, *packages_of(path)) if each in self._head.changed)
            self._loads[path, other] = any(self._head.runs(each, other) for each in starts)
        return self._loads[path, other]


def answering_for_its_module(base: Unit, head: Unit, builtins: bool = False) -> Iterator[str]:
    """Builtins that answer for the module they are called in, which a unit in another file may get by their
    name as a text; `builtins` if one of its names is that module.
    """
    if base.path != head.path:
        text = base.content.text
        if builtins or _BUILTINS.search(text):
            yield from sorted(set(_QUOTED.findall(text)))


def only_handed(unit: Unit, name: str, meaning: Meaning) -> bool:
    """Does a unit ask such a builtin about nothing but what it hands to it, as `vars(x)` does?"""
    if meaning != Outside((name, unit.path)) or name not in EVALUATORS:
        return False
    calls = [node for node in walk(unit.node) if isinstance(node, ast.Call)]
    asked = {id(call.func) for call in calls if sees_given_only(call, EVALUATORS[name])}
    return all(id(n) in asked for n in walk(unit.node) if isinstance(n, ast.Name) and n.id == name)


def placement(name: str, base: Unit, head: Unit) -> tuple[str, str, str]:
    """How it is told: a name, and what it is before and after."""
    if name == MODULE:
        return name, f"what importing {base.path} runs", f"what importing {head.path} runs"
    return name, f"that of {base.path}", f"that of {head.path}"
