"""Functions, classes and constants of a module: whether they can stand in another module instead."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain

from codemods.program.annotations import stated_by
from codemods.program.effects import Effect
from codemods.program.globals import ImportNode, globals_of
from codemods.program.imports import imports_in
from codemods.program.lifting import Analysis
from codemods.program.modules import effects_of
from codemods.program.nodes import called, first_line, own_nodes
from codemods.program.scopes import ScopeTree, Use, dotted
from codemods.program.source import all_blocks, words
from codemods.rewrites.refusals import Refusal, Refusals, refuse
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
        return [name for s in self.analysis.source.tree.body if (name := defined_by(s)) is not None]

    def find(self, name: str) -> Definition | Refusal:
        """A definition of the module by its name."""
        binders = self.tree.binders.get((self.tree.module, name), [])
        nodes = [s for s in self.analysis.source.tree.body if defined_by(s) == name]
        declared = self.tree.declared.get((self.tree.module, name), [])
        if len(binders) != 1 or len(nodes) != 1 or declared:
            line = declared[0][0].lineno if declared else binders[-1].line
            what = f"{name} is not bound once, by a statement that does nothing else"
            return refuse("global-rebound", line, what)
        node = nodes[0]
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
            stays = known.origin == "own" and read not in moved
            alike = self.known.repeatable(known, node.lineno) or self._imported_alike(known.imports, moved)
            if stays or (known.origin == "import" and not alike):
                what = f"{name} reads {read}, which stays in the source or can't be imported alike"
                yield refuse("needs-source", line, what)

    def _imported_alike(self, nodes: Collection[ImportNode], moved: frozenset[str]) -> bool:
        """Tell whether a new file, loaded by its source alone, would import the same thing as some statements
        do that stand after others which do something: all was loaded before, nothing is done in between.
        """
        start = _place(self.tree, self._nodes(moved))
        # By `sys` a program changes which modules there are, and where they are looked for.
        above = [statement for statement in self.analysis.source.tree.body if statement.lineno <= start]
        named = (getattr(node, "attr", getattr(node, "id", "")) for each in above for node in ast.walk(each))
        if any(node not in above for node in nodes) or "sys" in named:
            return False
        taken = [node.lineno for node in nodes if isinstance(node, ast.ImportFrom)]
        between = [statement for statement in above if taken and statement.lineno > min(taken)]
        return not effects_of(self.tree).runs(between, imports=False)

    def _nodes(self, names: frozenset[str]) -> list[ast.stmt]:
        """The statements that define some names."""
        return [s for s in self.analysis.source.tree.body if defined_by(s) in names]

    def _evaluated(self, definition: Definition, moved: frozenset[str]) -> Refusals:
        """Executing the definition must not do anything but define."""
        node = definition.node
        lines = sorted(self._running(node))
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            effect = effects_of(self.tree, annotations=False).of(node)
            alone = effect is Effect.NONE or undisturbed(self.tree, node, [node, *self._nodes(moved)])
            lines = [] if effect is not Effect.RUNS and alone else [node.lineno]
        for line in lines:
            what = f"the definition of {definition.name} runs code here, or after something else was done"
            yield refuse("definition-evaluated", line, what)

    def _running(self, definition: DefinitionNode) -> Iterator[int]:
        """Lines of a definition whose execution may do more than describe what is defined."""
        for node in executed_in(self.tree, definition):
            if isinstance(node, _RUNS) and not self._describes(node):
                yield node.lineno
            for keyword in node.keywords if isinstance(node, ast.ClassDef) else ():
                if dotted(self.tree, self.tree.scope_of(node), keyword.value) != "abc.ABCMeta":
                    yield keyword.value.lineno
            for decorator in getattr(node, "decorator_list", ()):
                accesses = getattr(decorator, "attr", None) in ("deleter", "getter", "setter")
                if not accesses and not self._describes(decorator):
                    yield decorator.lineno

    def _describes(self, node: ast.expr) -> bool:
        """Tell whether an expression names, or calls, what only describes a definition."""
        return dotted(self.tree, self.tree.scope_of(node), called(node)) in _DESCRIPTIVE


def defined_by(statement: ast.stmt) -> str | None:
    """The name that a statement of a module's body defines."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return statement.name
        case ast.Assign(targets=[ast.Name(name)]) | ast.AnnAssign(ast.Name(name), value=ast.expr()):
            return name
    return None


def within(use: Use, node: ast.stmt) -> bool:
    """Tell whether a use stands in a statement (decorators included)."""
    return first_line(node) <= use.node.lineno <= (node.end_lineno or 0)


def executed_in(tree: ScopeTree, definition: DefinitionNode) -> Iterator[ast.AST]:
    """Nodes that are evaluated when a definition is executed."""
    lazy = "annotations" in tree.source.future_flags
    for node in own_nodes([definition]):
        yield node
        for annotation in [] if lazy else stated_by(node):
            yield from ast.walk(annotation)


_FAILED = ("ImportError", "ModuleNotFoundError")


def undisturbed(tree: ScopeTree, node: ast.stmt, moved: Collection[ast.stmt]) -> bool:
    """Tell whether nothing is done between the place where the file that a statement moves to is loaded and
    the statement.
    """
    start = _place(tree, moved)
    between = [s for s in tree.source.tree.body if start < s.lineno < node.lineno and s not in moved]
    return not effects_of(tree).runs(between)


def tried_early(tree: ScopeTree, node: ast.stmt, moved: Collection[ast.stmt]) -> list[ast.Try]:
    """Statements between that catch more than a failed import: that a name is not there yet, perhaps."""
    start = _place(tree, moved)
    tried = [s for s in tree.source.tree.body if isinstance(s, ast.Try) and start < s.lineno < node.lineno]
    wide = [s for s in tried if any(h.type is None or ast.unparse(h.type) not in _FAILED for h in s.handlers)]
    return [s for s in wide if not _imports_others(s)]


def _imports_others(tried: ast.Try) -> bool:
    """Tell whether a statement only imports modules of the standard library or of torch."""
    inner = list(chain(*all_blocks(tried)))
    imports = [s for s in inner if isinstance(s, (ast.Import, ast.ImportFrom))]
    tops = {made.module.partition(".")[0] for statement in imports for made in imports_in(statement, "")}
    return imports == inner and tops <= {"torch", *sys.stdlib_module_names}


def _place(tree: ScopeTree, moved: Collection[ast.stmt]) -> int:
    """The line where the new file is loaded: of the last import before all that is moved."""
    first = min(each.lineno for each in moved)
    body = tree.source.tree.body
    imports = [s.lineno for s in body if s.lineno < first and isinstance(s, (ast.Import, ast.ImportFrom))]
    return max(imports, default=0)
