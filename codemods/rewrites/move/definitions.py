"""Functions, classes and constants of a module: whether they can stand in another module instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from codemods.program.annotations import stated_by
from codemods.program.effects import Effect
from codemods.program.file_effects import effects_of
from codemods.program.globals import globals_of
from codemods.program.helpers import own_nodes
from codemods.program.lifting import Analysis
from codemods.program.nodes import called, first_line, is_accessor
from codemods.program.scopes import ScopeTree, Use, dotted
from codemods.program.words import words
from codemods.rewrites.move.early import imported_alike, tried_early, undisturbed
from codemods.rewrites.refusals import Refusal, Refusals, all_rules, refuse
from codemods.rewrites.rules.definition import STATELESS_DECORATORS
from codemods.rewrites.rules.moving import not_alike

DefinitionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign
# Calls at the time of definition that only describe what is defined.
_DESCRIPTIVE = STATELESS_DECORATORS | words("""
    abc.abstractmethod builtins.classmethod builtins.float builtins.frozenset builtins.int builtins.property
    builtins.staticmethod
    dataclasses.dataclass dataclasses.field enum.auto enum.unique functools.cache functools.cached_property
    functools.lru_cache functools.singledispatch functools.singledispatchmethod functools.total_ordering
    typing.NamedTuple typing.NewType typing.TypeVar typing.final typing.overload typing.override
    typing.runtime_checkable
""")
# What does something when it is evaluated.
_RUNS = (ast.Await, ast.Call, ast.DictComp, ast.ListComp, ast.NamedExpr, ast.SetComp, ast.Yield)


@dataclass(frozen=True, slots=True)
class Definition:
    """A name of the module, bound once by one statement of its body."""

    name: str
    node: DefinitionNode
    reads: dict[str, int]
    annotated: frozenset[str]


class Definitions:
    """Looks up what a plan asks to move."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.tree = analysis.tree
        self.known = globals_of(analysis)

    def names(self) -> list[str]:
        """Names that statements of the module define."""
        return [name for s in self.analysis.source.tree.body if (name := _defined(s)) is not None]

    def find(self, name: str) -> Definition | Refusal:
        """A definition of the module by its name."""
        binders = self.tree.binders.get((self.tree.module, name), [])
        nodes = [s for s in self.analysis.source.tree.body if _defined(s) == name]
        declared = self.tree.declared.get((self.tree.module, name), [])
        if len(binders) != 1 or len(nodes) != 1 or declared:
            line = declared[0][0].lineno if declared else binders[-1].line
            if len(binders) == 1 and not nodes and not declared:
                what = f"{name} is bound in a statement that does more than bind it"
                return refuse("definition-evaluated", line, what)
            return refuse("global-rebound", line, f"{name} is bound, or declared global, here too")
        node = nodes[0]
        others = [s for s in self.analysis.source.tree.body if s is not node]
        if any(s.lineno <= (node.end_lineno or 0) and (s.end_lineno or 0) >= node.lineno for s in others):
            return refuse("layout", node, f"{name} shares its line with another statement")
        assert isinstance(node, DefinitionNode)
        reads: dict[str, int] = {}
        for (owner, read), uses in self.tree.uses.items():
            if owner is self.tree.module and read != name:
                lines = [use.node.lineno for use in uses if within(use, node)]
                if lines:
                    reads[read] = min(lines)
        annotated = frozenset(
            use.node.id
            for use in self.tree.annotated
            if within(use, node) and self.tree.owner(use.scope, use.node.id) is self.tree.module
        )
        return Definition(name, node, reads, annotated)

    def check(self, definition: Definition, moved: frozenset[str], seams: frozenset[str]) -> Refusals:
        """Tell why a definition does not mean the same in a new module to which the ``moved`` names go along,
        which the source alone loads.
        """
        node, name = definition.node, definition.name
        if name.startswith("__") and name.endswith("__"):
            yield refuse("module-identity", node.lineno, f"{name} means something to the module it is in")
        yield from self._evaluated(definition, moved)
        yield from not_alike(self.known, name, definition.reads, node)
        for tried in tried_early(self.tree, node, self._nodes(moved)):
            what = f"{name} may be asked for here, before it is defined, and that would be seen"
            yield refuse("maybe-unbound", tried, what, f"define {name} above it")
        for read, line in definition.reads.items():
            known = self.known.look_up(read)
            if read in seams:
                yield refuse("moved-seam", line, f"{name} reads {read}, which tests replace")
            if known.origin == "own" and read not in moved:
                what = f"{name} reads {read}, which stays in the source"
                yield refuse("needs-source", line, what, self._way_out(name, read, moved))
            if known.origin == "import" and not (
                self.known.repeatable(known, node.lineno)
                or imported_alike(self.tree, known.imports, self._nodes(moved))
            ):
                what = f"{name} reads {read}, which another file can't import alike"
                way_out = f"import {read} above what is done between the imports, and before what moves"
                yield refuse("needs-source", line, what, way_out)

    def _way_out(self, name: str, read: str, moved: frozenset[str]) -> str | None:
        """What to do about a name of the source that a definition reads, where it can't move as it is."""
        found: Definition | Refusal | None = self.find(read)
        if isinstance(found, Definition):
            alone = not_alike(self.known, read, found.reads, found.node)
            found = next(chain(self._evaluated(found, moved | {read}), alone), None)
        if found is None:
            return None
        if found.code == "module-identity" and found.way_out != all_rules()[found.code].way_out:
            return f"{found.way_out}, and move {read} too"
        return f"make {read} a parameter of {name}; it can't move itself: {found.reason} (line {found.line})"

    def _nodes(self, names: frozenset[str]) -> list[ast.stmt]:
        """The statements that define some names."""
        return [s for s in self.analysis.source.tree.body if _defined(s) in names]

    def _is_named_after_module(self, definition: Definition) -> bool:
        """Whether a definition is that of a logger with the module's name."""
        match definition.node:
            case ast.Assign(value=ast.Call(func, [ast.Name("__name__")], [])):
                return dotted(self.tree, self.tree.module, func) == "logging.getLogger"
        return False

    def _evaluated(self, definition: Definition, moved: frozenset[str]) -> Refusals:
        """Executing the definition must not do anything but define."""
        what = f"the definition of {definition.name} runs code here"
        node = definition.node
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            value = node.value
            if self._is_named_after_module(definition):
                named = f'logging.getLogger("{Path(self.analysis.source.path).stem}")'
                way_out = f"give {definition.name} a name of its own, {named}, which its records then have"
                called_so = f"{definition.name} has the name of its module"
                yield refuse("module-identity", node, called_so, way_out)
            effect = effects_of(self.tree, annotations=False).of(node)
            if value is None or effect is Effect.RUNS:
                yield refuse("definition-evaluated", node, what)
            elif effect is not Effect.NONE and not undisturbed(self.tree, node, [node, *self._nodes(moved)]):
                what = f"the value of {definition.name} is asked for after something else was done"
                way_out = "put it below the imports, or above what runs before it"
                yield refuse("definition-evaluated", node, what, way_out)
            return
        for line in sorted(self._running(node)):
            yield refuse("definition-evaluated", line, what)

    def _running(self, definition: DefinitionNode) -> Iterator[int]:
        """Lines of a definition whose execution may do more than describe what is defined."""
        for node in executed_in(self.tree, definition):
            if isinstance(node, _RUNS) and not self._describes(node):
                yield node.lineno
            for decorator in getattr(node, "decorator_list", ()):
                if not self._describes(decorator) and not is_accessor(decorator):
                    yield decorator.lineno

    def _describes(self, node: ast.expr) -> bool:
        """Whether an expression names, or calls, what only describes a definition."""
        return dotted(self.tree, self.tree.scope_of(node), called(node)) in _DESCRIPTIVE


def _defined(statement: ast.stmt) -> str | None:
    """The name that a statement of a module's body defines."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return statement.name
        case ast.Assign(targets=[ast.Name(name)]) | ast.AnnAssign(ast.Name(name), value=ast.expr()):
            return name
    return None


def within(use: Use, node: ast.stmt) -> bool:
    """Whether a use stands in a statement (decorators included)."""
    return first_line(node) <= use.node.lineno <= (node.end_lineno or 0)


def executed_in(tree: ScopeTree, definition: DefinitionNode) -> Iterator[ast.AST]:
    """Nodes that are evaluated when a definition is executed."""
    lazy = "annotations" in tree.source.future_flags
    for node in own_nodes([definition]):
        yield node
        for annotation in [] if lazy else stated_by(node):
            yield from ast.walk(annotation)
