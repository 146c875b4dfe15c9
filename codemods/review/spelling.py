"""A unit's text apart from spelling: what its local variables are called, and whether a name of a module is
read as `module.name` or was imported.
"""

from __future__ import annotations

import ast
import dis
import types
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from codemods.program.nodes import children, walk
from codemods.program.source import words
from codemods.review.content import Function, functions_of
from codemods.review.normal import written
from codemods.review.side import Meaning, Outside, Side
from codemods.review.units import Unit

# What looks at the variables of the function that calls it, by the last part of its name; the second do where
# they are given a text, the third where they are given nothing.
_LOOKING = words("""
    locals currentframe _getframe f_locals gi_frame cr_frame tb_frame co_varnames __code__ breakpoint
    set_trace
""")
_READING = words("eval exec evaluate re_evaluate query")
_ASKING = words("vars dir")
_OF_VARIABLES = [dis.opmap[name] for name in ("LOAD_FAST", "STORE_FAST")]
_MAKING = (ast.Call, ast.ClassDef)
_INNER = ("function", "method")
_SCOPED = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
# What of it is another thing from time to time.
_LIVE = frozenset(["sys", "builtins"])


@dataclass(frozen=True, slots=True)
class Renaming:
    """A name that means something else in the new place, or may, though the text is the same."""

    name: str
    before: str
    after: str
    id: str = ""

    def __str__(self) -> str:
        if self.before == self.after:
            return f"what {self.name} means can't be known: {self.after}"
        return f"{self.name} means {self.after}, before {self.before}"


@dataclass(frozen=True, slots=True)
class Reference:
    """Meaning of a name that is no local one, the variable that is read, and those on the way to it."""

    meaning: Meaning
    cell: tuple[str, str]
    through: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Spelled:
    """A unit's text in which variables are numbers, and what its other names stand for, in order."""

    text: str
    references: tuple[Reference, ...]


def may_be_respelled(base: Unit, head: Unit) -> bool:
    """May two units of other texts have the same one apart from spelling? Told from what is known of them."""
    if base.kind != head.kind:
        return False
    codes = base.content.code, head.content.code
    if codes[0] is not None and codes[1] is not None:
        return _counted(codes[0]) == _counted(codes[1])
    return _constants(base.node) == _constants(head.node)


def _counted(code: types.CodeType) -> tuple[object, ...]:
    """Properties that instructions keep under whatever names: how many variables there are, and how often
    they are read and bound; numbers.
    """
    operations = code.co_code[::2]
    numbers = sorted(repr(each) for each in code.co_consts if type(each) in (int, float))
    inner = [_counted(each) for each in functions_of(code)]
    return len(code.co_varnames), *(operations.count(each) for each in _OF_VARIABLES), numbers, inner


def _constants(node: ast.AST) -> list[object]:
    return [repr(each.value) for each in walk(node) if isinstance(each, ast.Constant)]


def spelled(unit: Unit, side: Side) -> Spelled | None:
    """None where names are bound, or read, in a way that is not followed."""
    nodes, mixed = walk(unit.node), unit.content.mixed
    said = (node.id for node in nodes if type(node) is ast.Name) if mixed else ()
    # From inside a function it may bind a name of its module.
    if not mixed.isdisjoint(said) or (
        unit.kind in _INNER and any(type(node) is ast.Global for node in nodes)
    ):
        return None
    speller = _Speller(unit, side, nodes)
    text = written(unit.node, speller.change) + speller.cells()
    if unit.owner is not None and "__" in text:
        # Private names are said with the class's.
        text += unit.owner
    return Spelled(text, tuple(speller.found)) if speller.understood else None


class _Speller:
    """Writes a unit's names; each once, in the order of the text."""

    def __init__(self, unit: Unit, side: Side, nodes: list[ast.AST]) -> None:
        self._unit, self._side, self._nodes = unit, side, nodes
        self._free = unit.content.free
        kinds = (ast.Call, ast.Name, ast.Attribute)
        renamable = unit.kind in _INNER and not any(_looks(node) for node in nodes if type(node) in kinds)
        self._local = _Variables(unit).free_to_rename if renamable else frozenset()
        self._numbers: dict[str, int] = {}
        self._top = unit.node.body[0] if unit.kind in ("function", "class") else None
        # What is called, or a class is made of: the parts that a library does not replace while it is used.
        self._made = {id(each) for node in nodes if type(node) in _MAKING for each in _made_of(node)}
        self.found: list[Reference] = []
        self.understood = True

    def change(self, node: ast.AST) -> ast.AST:
        """Return the stand-in for a node."""
        if node is self._top and isinstance(node, Function | ast.ClassDef):
            made = type(node).__new__(type(node))
            made.__dict__.update(node.__dict__, name="<own>")
            return made
        if not isinstance(node, ast.Name | ast.Attribute):
            return node
        if isinstance(node, ast.Name) and node.id in self._local:
            number = self._numbers.setdefault(node.id, len(self._numbers))
            return ast.Name(f"<local {number}>", node.ctx)
        if not isinstance(node.ctx, ast.Load):
            return node
        found = self._reference(node, id(node) in self._made)
        if found is None:
            return node
        self.understood = self.understood and found.meaning != Outside(("module", "builtins"))
        self.found.append(found)
        return ast.Name("<reference>", node.ctx)

    def cells(self) -> str:
        """Variables that functions inside may share: they are let go in the order of their names."""
        scopes = [node for node in self._nodes if isinstance(node, _SCOPED)] if self._local else []
        shared = {name for scope in scopes[1:] for name in _taken_by(scope)}
        return repr([self._numbers.get(name, name) for name in sorted(shared - self._free)])

    def _reference(self, node: ast.expr, made: bool) -> Reference | None:
        if isinstance(node, ast.Name):
            if node.id not in self._free:
                return None
            path = self._unit.path
            meaning = self._side.meaning(path, node.id)
            dotted = _dotted(meaning)
            if made and dotted and not _is_module(meaning):
                meaning = Outside(("outside", dotted))
            return Reference(meaning, (path, node.id))
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
            return None
        owner = self._reference(node.value, made=False)
        if owner is None:
            return None
        if _is_module(owner.meaning) and _of_tree(owner.meaning):
            assert isinstance(owner.meaning, Outside)
            found = self._side.attribute(owner.meaning, node.attr, self._unit.path)
            self.understood = self.understood and self._is_there(owner.meaning.what[1], node.attr, found)
            return Reference(found, (owner.meaning.what[1], node.attr), (*owner.through, owner.cell))
        dotted = _dotted(owner.meaning)
        live = dotted.partition(".")[0] in _LIVE or not dotted.rpartition(".")[2].islower()
        if made and isinstance(node.value, ast.Name) and dotted and not live:
            # Under this path its module would be one of the tree.
            cell = dotted.replace(".", "/") + ".py", node.attr
            return Reference(Outside(("outside", f"{dotted}.{node.attr}")), cell, (owner.cell,))
        return None

    def _is_there(self, path: str, name: str, found: Meaning) -> bool:
        """Has a module of the tree a name, or a module that the file loads?"""
        file = self._side.file(path)
        if file is not None and name in file.bound:
            return True
        inner = found.what[1] if isinstance(found, Outside) and _is_module(found) else None
        return inner in self._side.loaded_by(self._unit.path)


def _taken_by(scope: ast.AST) -> Collection[str]:
    """Names that a scope has from those around it."""
    inside = walk(scope)
    names = [node for node in inside if isinstance(node, ast.Name)]
    own = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    shared = {name for node in inside if isinstance(node, ast.Nonlocal) for name in node.names}
    return ({node.id for node in names} - own) | shared


def _made_of(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call):
        yield node.func
    elif isinstance(node, ast.ClassDef):
        yield from node.bases


def _is_module(meaning: Meaning) -> bool:
    return isinstance(meaning, Outside) and meaning.what[0] == "module" and len(meaning.what) == 2


def _of_tree(meaning: Meaning) -> bool:
    return isinstance(meaning, Outside) and meaning.what[1].endswith(".py")


def _dotted(meaning: Meaning) -> str:
    """The full name of something of another project, or of one of its modules; empty of anything else."""
    if not isinstance(meaning, Outside) or meaning.what[0] != "module" or _of_tree(meaning):
        return ""
    parts = meaning.what[1:]
    known = all(part and "/" not in part and not part.endswith(".py") for part in parts)
    return ".".join(parts) if known and parts[0] != "None" else ""


@dataclass
class _Variables:
    """Local variables of a function, and of those in it."""

    unit: Unit
    _bound: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    _stuck: set[str] = field(default_factory=set)

    @property
    def free_to_rename(self) -> frozenset[str]:
        """Names of variables that nothing but the text of the function knows."""
        [top] = self.unit.node.body
        if isinstance(top, ast.ClassDef):
            [top] = top.body
        self._in(top, id(top))
        free = self.unit.content.free
        return frozenset(
            name
            for name, scopes in self._bound.items()
            if len(scopes) == 1 and name not in self._stuck and name not in free and not name.startswith("__")
        )

    def _in(self, node: ast.AST, scope: int) -> None:
        """Note what a function or an expression with a scope of its own binds."""
        if isinstance(node, Function | ast.Lambda):
            self._stuck.update(_parameters(node.args))
        waiting = children(node)
        for inner in waiting:
            if isinstance(inner, ast.Name):
                if not isinstance(inner.ctx, ast.Load):
                    self._bound[inner.id].add(scope)
                continue
            self._stuck.update(_as_text(inner))
            if isinstance(inner, ast.ClassDef):
                # What a class binds are its attributes.
                self._stuck.update(each.id for each in walk(inner) if isinstance(each, ast.Name))
            elif isinstance(inner, ast.NamedExpr):
                # In a comprehension it binds a variable of the function around that.
                self._stuck.add(inner.target.id)
            if isinstance(inner, _SCOPED):
                self._in(inner, id(inner))
            else:
                waiting += children(inner)


def _looks(node: ast.AST) -> bool:
    """May it see what the variables of the function are called?"""
    if isinstance(node, ast.Call):
        name, first = _last(node.func), node.args[0] if node.args else None
        text = isinstance(first, ast.JoinedStr) or (
            isinstance(first, ast.Constant) and isinstance(first.value, str)
        )
        alone = isinstance(node.func, ast.Name)
        return (name in _READING and (text or alone)) or (name in _ASKING and first is None)
    return _last(node) in _LOOKING


def _as_text(node: ast.AST) -> Collection[str]:
    """Names that a node says, but not as a node of their own."""
    if isinstance(node, ast.Global | ast.Nonlocal):
        return node.names
    if isinstance(node, ast.alias):
        return [node.asname or node.name.partition(".")[0]]
    if isinstance(node, Function | ast.ClassDef | ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return [node.name] if node.name else []
    if isinstance(node, ast.MatchMapping):
        return [node.rest] if node.rest else []
    return []


def _parameters(given: ast.arguments) -> Iterator[str]:
    yield from (each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs))
    yield from (star.arg for star in (given.vararg, given.kwarg) if star is not None)


def _last(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
