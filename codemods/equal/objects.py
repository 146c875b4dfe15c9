"""Proof that uses of variables became uses of objects' attributes."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codemods.equal.code import FUNCTIONS, NotProven, Place, alike, copied, drop_statements, place_of
from codemods.program.scopes import Scope, ScopeTree, dotted

MAKER = "types.SimpleNamespace"


@dataclass(frozen=True, slots=True)
class Kept:
    """A claim: an object keeps variables of the function at a place of the old version.

    It is made just before the function's statement of number ``at``, with the values of those that are
    ``given``; it gets those of ``later`` when they are bound.
    """

    place: Place
    at: int
    variable: str
    given: tuple[str, ...]
    later: tuple[str, ...]

    @property
    def variables(self) -> frozenset[str]:
        """All that it keeps."""
        return frozenset((*self.given, *self.later))


@dataclass(frozen=True, slots=True)
class Maker:
    """The name by which the new version makes objects, and the import added for it, if any."""

    name: str
    added: str = ""


def prove_objects(old: ScopeTree, new: ScopeTree, claims: Sequence[Kept], maker: Maker) -> None:
    """Check that a text is another in which uses of variables became uses of objects' attributes.

    With the objects' making and the nonlocal declarations taken out, and attributes used as variables again,
    both trees are equal. So the code differs in this alone: where it loaded or stored a variable, it loads
    the object and loads or stores an attribute of it. Each of them stood for a variable of that function, and
    all uses of it became one. That no attribute is read before it is set follows from the flow.

    Raises:
        NotProven: if anything differs but that.
    """
    before, tree = copied(old.source.tree), ast.parse(new.source.text)
    _check_names(old, new, claims, maker)
    origin = {id(made): node for made, node in _pairs(before, old.source.tree)}
    made_in = {kept: _take_out_making(tree, kept, maker, old) for kept in claims}
    if maker.added:
        found = [statement for statement in tree.body if ast.unparse(statement) == maker.added]
        if len(found) != 1 or any(found[0].lineno > line for _, line in made_in.values()):
            raise NotProven(f"{maker.added} is not there once, before what needs it")
        tree.body.remove(found[0])
    turn = _VariablesBack({kept.variable: kept for kept in claims})
    tree = turn.visit(tree)
    _drop_declarations(old, before, origin, claims)
    _drop_annotations(old, before, origin, claims)
    for module in (before, tree):
        drop_statements(module, lambda s: isinstance(s, ast.Pass))
    if not alike(before, tree):
        raise NotProven("something besides the uses of variables differs")
    here = {id(made): origin[id(node)] for made, node in _pairs(tree, before) if id(node) in origin}
    outer = {kept.variable: _scope(old, kept) for kept in claims}
    for kept in claims:
        if here.get(id(made_in[kept][0])) is not outer[kept.variable].node:
            raise NotProven(f"{kept.variable} is made in another function")
    _check_uses(old, claims, outer, {id(here[made]): kept for made, kept in turn.turned.items()})


def _pairs(one: ast.AST, other: ast.AST) -> list[tuple[ast.AST, ast.AST]]:
    """Nodes of two trees of one shape that stand in the same places."""
    return list(zip(ast.walk(one), ast.walk(other), strict=True))


def _scope(tree: ScopeTree, kept: Kept) -> Scope:
    """The function of which variables are kept."""
    found = [s for n, s in tree.by_node.items() if isinstance(n, FUNCTIONS) and place_of(n) == kept.place]
    if not found:
        raise NotProven(f"line {kept.place[0]}: there is no function")
    return found[0]


def _check_names(old: ScopeTree, new: ScopeTree, claims: Sequence[Kept], maker: Maker) -> None:
    """New names meant nothing before, and the one that makes objects means what it should."""
    for kept in claims:
        if kept.variable in old.names:
            raise NotProven(f"{kept.variable} is a name of the file already")
        if private := [name for name in kept.variables if name.startswith("__")]:
            raise NotProven(f"{private[0]} means another name in a class")
    if dotted(new, new.module, ast.Name(maker.name, ast.Load())) != MAKER:
        raise NotProven(f"{maker.name} is not {MAKER}")


def _drop_declarations(
    old: ScopeTree, before: ast.Module, origin: Mapping[int, ast.AST], claims: Sequence[Kept]
) -> None:
    """Take the nonlocal declarations of variables that objects keep out of the old version."""
    gone: dict[int, set[str]] = {}
    for kept in claims:
        for name in kept.variables:
            for statement, _ in old.declared.get((_scope(old, kept), name), ()):
                gone.setdefault(id(statement), set()).add(name)
    for node in ast.walk(before):
        if isinstance(node, ast.Nonlocal):
            node.names = [name for name in node.names if name not in gone.get(id(origin[id(node)]), ())]
    drop_statements(before, lambda s: isinstance(s, ast.Nonlocal) and not s.names)


def _drop_annotations(
    old: ScopeTree, before: ast.Module, origin: Mapping[int, ast.AST], claims: Sequence[Kept]
) -> None:
    """Take the annotations of what objects keep out of the old version; in a function none is evaluated."""
    keys = [(_scope(old, kept), name) for kept in claims for name in kept.variables]
    annotated = {binder.node for key in keys for binder in old.binders.get(key, ())}

    class Plain(ast.NodeTransformer):
        def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
            if node.value is None or origin[id(node)] not in annotated:
                return node
            return ast.copy_location(ast.Assign([node.target], node.value), node)

    Plain().visit(before)


def _check_uses(
    tree: ScopeTree, claims: Sequence[Kept], outer: Mapping[str, Scope], turned: Mapping[int, Kept]
) -> None:
    """Attributes stand for variables of the function, for every use that is claimed.

    ``turned`` gives the objects at the nodes of the old version that became attributes.
    """
    wanted = 0
    for kept in claims:
        for key in ((outer[kept.variable], name) for name in kept.variables):
            bound = [_target(binder.node) for binder in tree.binders.get(key, [])]
            other = [node for node in bound if not isinstance(node, ast.Name)]
            given = all(isinstance(node, ast.arg) for node in other) and bool(other) == (key[1] in kept.given)
            places = [
                _target(each.node)
                for found in (tree.uses, tree.binders)
                for each in found.get(key, ())
                # That an augmented assignment reads its target is no place of its own.
                if getattr(each, "written", True)
            ]
            nodes = {id(node) for node in places if isinstance(node, ast.Name)}
            wanted += len(nodes)
            if not given or any(turned.get(node) is not kept for node in nodes):
                raise NotProven("not every use became one of an attribute")
    if wanted != len(turned):
        raise NotProven("an attribute stands for something else than a variable of its function")


def _target(node: ast.AST) -> ast.AST:
    """Return what an annotated assignment binds, or the node itself."""
    return node.target if isinstance(node, ast.AnnAssign) else node


def _take_out_making(tree: ast.Module, kept: Kept, maker: Maker, old: ScopeTree) -> tuple[ast.AST, int]:
    """Take out the statements that make an object just before a statement of its function; where that is.

    A parameter's value that may be replaced is then the object's alone.
    """
    wanted = [f"{kept.variable} = {maker.name}({', '.join(f'{n}={n}' for n in kept.given)})"]
    if kept.given:
        wanted.append(f"del {', '.join(kept.given)}")
    made = slice(kept.at, kept.at + len(wanted))
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, FUNCTIONS)
        and node.name == _scope(old, kept).name
        and [ast.unparse(statement) for statement in node.body[made]] == wanted
    ]
    if len(found) != 1:
        raise NotProven(f"{kept.variable} is not made where it should be")
    line = found[0].body[kept.at].lineno
    del found[0].body[made]
    return found[0], line


class _VariablesBack(ast.NodeTransformer):
    """Uses variables again where attributes of objects are used.

    Attributes:
        turned: the names that stand for attributes, by their identity, with the objects.
    """

    def __init__(self, objects: Mapping[str, Kept]) -> None:
        """``objects`` by the names of their variables."""
        self.objects = objects
        self.turned: dict[int, Kept] = {}
        self.names: list[ast.Name] = []

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        kept = self.objects.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if kept is None:
            return node
        if node.attr not in kept.variables:
            raise NotProven(f"{node.attr} is no variable of {ast.unparse(node.value)}")
        name = ast.copy_location(ast.Name(node.attr, node.ctx), node)
        self.names.append(name)
        self.turned[id(name)] = kept
        return name
