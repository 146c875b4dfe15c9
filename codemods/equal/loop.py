"""Proof that a loop does the same in a method as it did in the function.

A caller claims where the loop was, what the method is handed and what it hands back. All of that is checked
against both texts, and against what the function's instructions read and store in the loop and after it. The
loop's statements must be the old ones, every name in them of the same kind, and the function and the method
must compile to the same instructions from the loop's first one to where it ends, compared path by path.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codemods.equal.code import (
    FUNCTIONS,
    NotProven,
    Place,
    absolute,
    alike,
    compile_tree,
    copied,
    drop_statements,
    place_of,
    same_paths,
)
from codemods.equal.instructions import Steps
from codemods.program.graph import lets_through
from codemods.program.imports import bound_name, imports_of
from codemods.program.nodes import first_line, own_nodes
from codemods.program.scopes import FunctionNode, Scope, ScopeTree
from codemods.program.source import Source, nested_code, statements_in

_END = "<end of the loop>"


@dataclass(frozen=True, slots=True)
class Method:
    """A claim: the statement of number ``at`` of the function at a place became a method of a new class.

    ``fields`` are the names that its object is handed, ``passed`` those of them that were globals;
    ``fetched`` are globals that the method imports from ``home``, the function's module; ``returned`` are the
    variables that it hands back. ``groups`` are other new classes, of which each holds some of the names in
    one field: by their names, with the field's. ``accepted`` are names that a star import may bring, and of
    which the user says that they are Python's own.
    """

    place: Place
    at: int
    module: str
    class_name: str
    method: str
    fields: tuple[str, ...]
    passed: frozenset[str]
    home: str
    fetched: tuple[str, ...]
    returned: tuple[str, ...]
    groups: Mapping[str, tuple[str, tuple[str, ...]]]
    accepted: frozenset[str] = frozenset()

    @property
    def attributes(self) -> list[str]:
        """The fields of the loop's class: those of the groups, then the names in no group."""
        grouped = {name for _, names in self.groups.values() for name in names}
        own = [name for name in self.fields if name not in grouped]
        return [*(field for field, _ in self.groups.values()), *own]


def prove_loop(old: ScopeTree, claim: Method, rest: Source, target: Source, package: str | None) -> None:
    """Check what is left and the new file against the old one. The tree of what is left is used up.

    Raises:
        NotProven: if anything can't be shown.
    """
    _Proof(old, claim, package).check(rest, target)


def prove_none_first(old: ScopeTree, new: Source, place: Place, names: Mapping[str, int]) -> None:
    """Check that a text is another in which variables of the function at a place are None before its
    statements of some numbers, and that nothing before those binds them.

    Raises:
        NotProven: if it is anything else.
    """
    node = next(n for n in old.by_node if isinstance(n, FUNCTIONS) and place_of(n) == place)
    made = copied(old.source.tree)
    body = next(n for n in statements_in(made) if isinstance(n, FUNCTIONS) and place_of(n) == place).body
    for name, number in sorted(names.items(), key=lambda item: item[1], reverse=True):
        start = first_line(node.body[number])
        if any(binder.line < start for binder in old.binders[old.by_node[node], name]):
            raise NotProven(f"{name} is bound before it is None")
        body.insert(number, ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)))
    if not alike(made, new.tree):
        raise NotProven("the function differs in more than variables that are None first")


class _Proof:
    """One claim, and the function and the loop that it is about."""

    def __init__(self, old: ScopeTree, claim: Method, package: str | None) -> None:
        self.tree, self.source, self.claim, self.package = old, old.source, claim, package
        found = [n for n in old.by_node if isinstance(n, FUNCTIONS) and place_of(n) == claim.place]
        if not found or claim.at >= len(found[0].body):
            raise NotProven(f"line {claim.place[0]}: there is no such loop")
        self.node: FunctionNode = found[0]
        self.scope = old.by_node[self.node]
        self.loop = self.node.body[claim.at]
        self.last = self.loop.end_lineno or self.loop.lineno
        self.globals = self._names(old.module)

    def _names(self, owner: Scope) -> set[str]:
        """The names of a scope that are used or bound in the loop."""
        return {
            name
            for (scope, name), uses in self.tree.uses.items()
            if scope is owner
            and any(use.scope.inside(self.scope) and self._is_inside(use.node.lineno) for use in uses)
        } | {
            name
            for (scope, name), binders in self.tree.binders.items()
            if scope is owner
            and any(each.scope.inside(self.scope) and self._is_inside(each.line) for each in binders)
        }

    def _is_inside(self, line: int) -> bool:
        return self.loop.lineno <= line <= self.last

    def check(self, rest: Source, target: Source) -> None:
        """Compare both files with the old one."""
        self._rest(rest)
        method = self._target(target)
        old = copied(self.node)
        absolute(old, self.package)
        loop = self._loop(method, old.body[self.claim.at])
        self._names_stay()
        self._instructions_agree(method, loop, old)

    def _rest(self, rest: Source) -> None:
        """Compare the function as it is left: a call for the loop, and one import more."""
        old, new, at = copied(self.source.tree), rest.tree, self.claim.at
        before, after = self._function_of(old), self._function_of(new)
        if len(before.body) != len(after.body):
            raise NotProven(f"{self.node.name} has other statements than before")
        _must_be([after.body[at]], [self._call()], "the call in the loop's place is not as it should be")
        before.body[at] = after.body[at] = ast.Pass()
        names = {self.claim.class_name, *self.claim.groups}
        if taken := sorted(names & self.tree.names):
            raise NotProven(f"{', '.join(taken)} means something already")
        absolute(new, self.package)
        imported = [statement for statement in new.body if self._is_import(statement, names)]
        if not imported:
            raise NotProven("the new classes are not imported")
        drop_statements(new, lambda s: s in imported)
        absolute(old, self.package)
        if not alike(old, new):
            raise NotProven("what is left differs in more than the loop")

    def _is_import(self, statement: ast.stmt, names: set[str]) -> bool:
        return (
            isinstance(statement, ast.ImportFrom)
            and statement.module == self.claim.module
            and {alias.name for alias in statement.names} == names
            and all(alias.asname is None for alias in statement.names)
        )

    def _function_of(self, tree: ast.Module) -> FunctionNode:
        """The function in another version of its file: of all of that name the one with its number."""
        number = _named(self.source.tree, self.node.name).index(self.node)
        found = _named(tree, self.node.name)
        if number >= len(found):
            raise NotProven(f"{self.node.name} is gone")
        return found[number]

    def _call(self) -> str:
        """The statement in the loop's place: it hands in what the fields are, and rebinds what comes back."""
        claim = self.claim
        returns = any(isinstance(node, ast.Return) for node in own_nodes([self.loop]))
        if returns and (claim.returned or self.node.body[claim.at + 1 :]):
            raise NotProven("statements that follow the loop would run after it has returned")
        built = [
            f"{field}={group}({', '.join(f'{n}={n}' for n in names)})"
            for group, (field, names) in claim.groups.items()
        ]
        built += [f"{name}={name}" for name in claim.attributes[len(claim.groups) :]]
        call = f"{claim.class_name}({', '.join(built)}).{claim.method}()"
        if claim.returned:
            return f"{', '.join(claim.returned)} = {call}"
        return f"return {call}" if returns else call

    def _target(self, target: Source) -> ast.FunctionDef:
        """The method; nothing else is defined in the target but it and the fields of classes."""
        claim = self.claim
        classes = {node.name: node for node in target.tree.body if isinstance(node, ast.ClassDef)}
        if set(classes) != {claim.class_name, *claim.groups}:
            raise NotProven("the target has other classes than asked for")
        bound: dict[str, set[str]] = {name: set() for name in classes}
        for statement in target.tree.body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                for name in map(bound_name, statement.names):
                    bound.setdefault(name, set()).update(self._paths(statement, name, claim.module))
            elif not isinstance(statement, (ast.ClassDef, ast.Expr, ast.If)):
                raise NotProven("the target has other statements than asked for")
        for name in sorted(self.globals - claim.passed - {*claim.fetched}):
            binders = self.tree.binders.get((self.tree.module, name), ())
            nodes = [b.node for b in binders if isinstance(b.node, (ast.Import, ast.ImportFrom))]
            if nodes and len(nodes) == len(binders):
                meant = {path for node in nodes for path in self._paths(node, name, None)}
                if bound.get(name) != meant:
                    raise NotProven(f"the target does not import {name}")
            elif name in bound or not (
                self.tree.is_builtin(self.tree.module, name) or name in claim.accepted
            ):
                raise NotProven(f"{name} means something else in the target")
        for group, (_, names) in claim.groups.items():
            _has_fields(classes[group].body[1:], names)
        *fields, method = classes[claim.class_name].body[1:]
        _has_fields(fields, claim.attributes)
        if not isinstance(method, ast.FunctionDef) or method.name != claim.method or method.decorator_list:
            raise NotProven("the target has no such method")
        return method

    def _paths(self, node: ast.Import | ast.ImportFrom, name: str, module: str | None) -> list[str]:
        """The dotted paths of what a statement binds to a name, in the old file or in a module."""
        package = (self.package or "") if module is None else module.rpartition(".")[0]
        return [made.path for made in imports_of(node, name, package)]

    def _loop(self, method: ast.FunctionDef, old: ast.stmt) -> ast.stmt:
        """The loop in the method, as it was: before it each field is unpacked once into the variable of its
        name, after it what the tail reads is handed back.
        """
        claim, receiver = self.claim, method.args.args[0].arg
        if receiver in {*claim.fields, *self.globals, *self._names(self.scope)}:
            raise NotProven(f"{receiver} means something in the loop")
        groups = {name: f".{field}" for field, names in claim.groups.values() for name in names}
        lines = [f"from {claim.home} import {', '.join(claim.fetched)}"] if claim.fetched else []
        lines += [f"{name} = {receiver}{groups.get(name, '')}.{name}" for name in claim.fields]
        body, at = method.body[1:], len(lines)
        lines += [f"return {', '.join(claim.returned)}"] if claim.returned else []
        what = "the method does not unpack its fields and return what is read after the loop"
        _must_be([*body[:at], *body[at + 1 :]], lines, what)
        if not alike(old, body[at]):
            raise NotProven("the loop's statements changed")
        return body[at]

    def _names_stay(self) -> None:
        """Every name outside of the loop is as local or global as it was, those in the call among them."""
        claim, tree = self.claim, self.tree
        for name in (*claim.fields, *claim.fetched):
            is_global = name in claim.passed or name in claim.fetched
            if tree.owner(self.scope, name) is not (tree.module if is_global else self.scope):
                raise NotProven(f"{name} is not what the loop reads where the call is")
        for (owner, name), binders in tree.binders.items():
            if owner is not self.scope or name in claim.returned:
                continue
            used = tree.uses.get((owner, name), ())
            inside = all(self._is_inside(binder.line) for binder in binders)
            if inside and not all(self._is_inside(use.node.lineno) for use in used):
                raise NotProven(f"{name} is no variable of what is left")

    def _instructions_agree(self, method: ast.FunctionDef, loop: ast.stmt, old: FunctionNode) -> None:
        """Walk the loop in the function and in the method side by side."""
        claim, flags, new = self.claim, self.source.future_flags, copied(method)
        end = ast.fix_missing_locations(ast.Expr(ast.Call(ast.Name(_END, ast.Load()), [], [])))
        old.body.insert(claim.at + 1, end)
        place = 1 + bool(claim.fetched) + len(claim.fields)
        new.body.insert(place + 1, copied(end))
        # A global that the method gets is read as a global here, so that both sides read it in the same way.
        unpacked = zip(claim.fields, new.body[1 + bool(claim.fetched) : place], strict=True)
        new.body[1:place] = [statement for name, statement in unpacked if name not in claim.passed]
        old.decorator_list = []
        # In a class, where names may mean others.
        home = ast.parse(f"class {claim.class_name}: pass").body[0]
        assert isinstance(home, ast.ClassDef)
        home.body = [new]
        left, right = Steps(_compiled(old, flags)), Steps(nested_code(_compiled(home, flags))[-1])
        first = left.on_lines(self.loop.lineno, self.last)
        second = right.on_lines(loop.lineno, loop.end_lineno or loop.lineno)
        if first is not None and second is not None:
            same_paths(left, right, first, second, until=(_END, 1))
            inlined = _Inlined(self.tree, self.scope)
            inlined.generic_visit(old)
            if inlined.found:
                left = Steps(_compiled(old, flags))
                first = left.on_lines(self.loop.lineno, self.last)
                assert first is not None
            self._all_travel(left, first)
        elif first is not second:
            raise NotProven("the loop is reached in one of function and method only")

    def _all_travel(self, steps: Steps, first: int) -> None:
        """Values that the loop reads of the setup are handed in, those for the tail are handed back."""
        claim, ends = self.claim, steps.found((_END, 1))
        back = steps.stored(first, ends) & steps.live(ends, {})
        start = steps.live([first], dict.fromkeys(ends, claim.returned))
        setup = {
            name
            for (owner, name), binders in self.tree.binders.items()
            if owner is self.scope and any(binder.line < self.loop.lineno for binder in binders)
        }
        if lost := sorted(back - set(claim.returned)):
            raise NotProven(f"{', '.join(lost)} is read after the loop and not handed back")
        if lost := sorted((start & setup) - set(claim.fields)):
            raise NotProven(f"{', '.join(lost)} is read in the loop and not handed in")


class _Inlined(ast.NodeTransformer):
    """Puts the blocks of context managers that let exceptions through (``torch.no_grad()``) in their places:
    no instruction tells that nothing goes on after what such a block raises.
    """

    def __init__(self, tree: ScopeTree, scope: Scope) -> None:
        self.tree, self.scope = tree, scope
        self.found = False

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
        """Change a statement and those in it; other scopes stay as they are."""
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.expr)):
            return node
        self.generic_visit(node)
        if not isinstance(node, ast.With):
            return node
        if not all(lets_through(self.tree, self.scope, item.context_expr) for item in node.items):
            return node
        self.found = True
        unnamed = ast.Name("<context>", ast.Store())
        made = [ast.Assign([item.optional_vars or unnamed], item.context_expr) for item in node.items]
        return [*(ast.fix_missing_locations(ast.copy_location(each, node)) for each in made), *node.body]


def _compiled(node: ast.stmt, flags: Sequence[str]) -> types.CodeType:
    """The code of a function or class."""
    return nested_code(compile_tree(ast.Module([node], []), flags))[-1]


def _must_be(found: Sequence[ast.stmt], lines: Sequence[str], what: str) -> None:
    """Compare statements with those of some lines; ``what`` is the error where they differ."""
    if not alike(list(found), ast.parse("\n".join(lines)).body):
        raise NotProven(what)


def _named(tree: ast.Module, name: str) -> list[FunctionNode]:
    """The functions of a name."""
    return [node for node in statements_in(tree) if isinstance(node, FUNCTIONS) and node.name == name]


def _has_fields(body: Sequence[ast.stmt], names: Sequence[str]) -> None:
    """Statements of a class are annotations of fields, and nothing else."""
    found = [ast.unparse(s.target) for s in body if isinstance(s, ast.AnnAssign) and s.value is None]
    if found != list(names) or len(found) != len(body):
        raise NotProven("the fields are not what the loop needs")
