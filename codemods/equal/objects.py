"""Proof that uses of variables became uses of objects' attributes."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codemods.equal.code import FUNCTIONS, NotProven, Place, alike, copied, drop_statements, place_of
from codemods.program.scopes import Scope, ScopeTree, dotted

_PATHS = {"dataclass": "dataclasses.dataclass", "field": "dataclasses.field", "Any": "typing.Any"}

# What a dataclass takes for something else than a field, in quotes, too.
_OTHER_FIELDS = ("ClassVar", "InitVar", "KW_ONLY")


@dataclass(frozen=True, slots=True)
class Kept:
    """A claim: an object keeps variables of the function at a place of the old version.

    It is made just before the function's statement of number ``at``, with the values of those that are
    ``given``; it gets those of ``later`` when they are bound. What the function says of their classes, its
    ``stated`` annotations, the object's class says in quotes.
    """

    place: Place
    at: int
    type_name: str
    variable: str
    given: tuple[str, ...]
    later: tuple[str, ...]
    stated: tuple[tuple[str, str], ...] = ()

    @property
    def variables(self) -> frozenset[str]:
        """All that it keeps."""
        return frozenset((*self.given, *self.later))


@dataclass(frozen=True, slots=True)
class Known:
    """The names by which classes are made in the new version, and the import statements added for them."""

    names: Mapping[str, str]
    added: tuple[str, ...]


def prove_objects(old: ScopeTree, new: ScopeTree, claims: Sequence[Kept], known: Known) -> None:
    """Check that a text is another in which uses of variables became uses of objects' attributes.

    With the classes, the objects' making and the nonlocal declarations taken out, and attributes used as
    variables again, both trees are equal. So the code differs in this alone: where it loaded or stored a
    variable, it loads the object and loads or stores an attribute of it. Each of them stood for a variable of
    that function, and all uses of it became one. That no attribute is read before it is set follows from the
    flow.

    Raises:
        NotProven: if anything differs but that.
    """
    before, tree = copied(old.source.tree), ast.parse(new.source.text)
    _check_names(old, new, claims, known)
    origin = {id(made): node for made, node in _pairs(before, old.source.tree)}
    made_in = {kept: _take_out_making(tree, kept, old) for kept in claims}
    lines = {kept.variable: line for kept, (_, line) in made_in.items()}
    classes = {kept.type_name: kept for kept in claims}
    seen: list[str] = []

    def added(statement: ast.stmt) -> bool:
        if isinstance(statement, ast.ImportFrom) and ast.unparse(statement) in known.added:
            seen.append(ast.unparse(statement))
        elif isinstance(statement, ast.ClassDef) and statement.name in classes:
            if not _is_class(statement, classes[statement.name], known):
                raise NotProven(f"{statement.name} is not the class that it should be")
            seen.append(statement.name)
        else:
            return False
        lines[seen[-1]] = statement.lineno
        return True

    drop_statements(tree, added)
    if sorted(seen) != sorted([*known.added, *classes]):
        raise NotProven("an object's class or import is not there once")
    for kept in claims:
        if any(lines[text] > lines[kept.type_name] for text in known.added):
            raise NotProven(f"{kept.type_name} is defined before what it needs is imported")
        if lines[kept.type_name] > lines[kept.variable]:
            raise NotProven(f"{kept.type_name} is defined too late")
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


def _check_names(old: ScopeTree, new: ScopeTree, claims: Sequence[Kept], known: Known) -> None:
    """New names meant nothing before, and those that make the classes mean what they should."""
    for name in (name for kept in claims for name in (kept.type_name, kept.variable)):
        if name in old.names:
            raise NotProven(f"{name} is a name of the file already")
    if private := [name for kept in claims for name in kept.variables if name.startswith("__")]:
        raise NotProven(f"{private[0]} means another name in a class")
    for name, annotation in (each for kept in claims for each in kept.stated):
        if any(word in annotation for word in _OTHER_FIELDS):
            raise NotProven(f"{name} would be no field of a dataclass")
    for short, name in known.names.items():
        if dotted(new, new.module, ast.Name(name, ast.Load())) != _PATHS[short]:
            raise NotProven(f"{name} is not {_PATHS[short]}")


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
    """What an annotated assignment binds, or the node itself."""
    return node.target if isinstance(node, ast.AnnAssign) else node


def _take_out_making(tree: ast.Module, kept: Kept, old: ScopeTree) -> tuple[ast.AST, int]:
    """Take out the statements that make an object just before a statement of its function; where that is.

    A parameter's value that may be replaced is then the object's alone.
    """
    wanted = [f"{kept.variable} = {kept.type_name}({', '.join(f'{n}={n}' for n in kept.given)})"]
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


def _is_class(made: ast.ClassDef, kept: Kept, known: Known) -> bool:
    """Compare a class with the fields of an object: it has nothing else but a docstring."""
    kinds = known.names
    fields = [f"    {name}: {kinds['Any']}" for name in kept.given]
    for name in kept.later:
        annotation = dict(kept.stated).get(name) or kinds["Any"]
        fields.append(f"    {name}: {annotation} = {kinds['field']}(init=False)")
    head = f"@{kinds['dataclass']}(slots=True)\nclass {kept.type_name}:"
    wanted = ast.parse("\n".join([head, *fields])).body[0]
    made = copied(made)
    assert isinstance(wanted, ast.ClassDef)
    documented = ast.get_docstring(made) is not None
    del made.body[: int(documented)]
    return documented and alike(made, wanted)


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
