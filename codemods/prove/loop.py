"""Proof that a loop does the same in its method as it did in the function.

The new text is read back, and what it hands in, unpacks, returns and rebinds is checked against the decision.
The loop's statements must be the old ones, every name in them of the same kind, and the function and the
method must compile to the same instructions from the loop's first one to where it ends, compared path by
path.
"""

from __future__ import annotations

import ast
import copy
import symtable
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codemods.decide.loop import LoopDecision, field_of
from codemods.facts.imports import bound_name
from codemods.facts.source import Source, blocks_of, nested_code, statements_in
from codemods.prove.code import (
    NotProven,
    absolute,
    alike,
    compile_tree,
    copied,
    drop_statements,
    same_paths,
)
from codemods.prove.instructions import Steps

_END = "<end of the loop>"


@dataclass(frozen=True, slots=True)
class Made:
    """The two new files, and the names in them."""

    rest: Source
    target: Source
    module: str
    class_name: str
    method: str
    groups: Mapping[str, tuple[str, ...]]
    package: str | None


def prove_loop(decision: LoopDecision, made: Made) -> None:
    """Check both new files against the old one. The tree of what is left is used up.

    Raises:
        NotProven: if anything can't be shown.
    """
    parts = decision.parts
    function = _rest(decision, made)
    method, fields = _target(decision, made)
    at = len(parts.setup)
    _call(decision, made, function.body[at], fields)
    body = method.body[1:]
    unpacked, loop = body[: len(decision.fields)], body[len(decision.fields)]
    _unpacking(decision, unpacked, fields, method.args.args[0].arg)
    _returned(decision, body[len(decision.fields) + 1 :])
    old = parts.loop
    if any(isinstance(node, ast.ImportFrom) and node.level for node in statements_in(old)):
        old = copied(old)
        absolute(old, made.package)
    if not alike(old, loop):
        raise NotProven("the loop's statements changed")
    _kinds(decision, made, function, method, loop)
    _instructions_agree(decision, made, method, loop)


def _function_of(tree: ast.Module, decision: LoopDecision) -> ast.FunctionDef:
    """The function in another version of its file: of all of that name the one with its number."""
    name, source = decision.parts.node.name, decision.parts.analysis.source.tree
    number = next(at for at, node in enumerate(_named(source, name)) if node is decision.parts.node)
    found = _named(tree, name)
    if number >= len(found):
        raise NotProven(f"{name} is gone")
    return found[number]


def _named(tree: ast.Module, name: str) -> list[ast.FunctionDef]:
    """The functions of a name, outer before inner."""
    found: list[ast.AST] = [tree]
    for node in found:
        for block in blocks_of(node):
            found += block
    return [node for node in found if isinstance(node, ast.FunctionDef) and node.name == name]


def _rest(decision: LoopDecision, made: Made) -> ast.FunctionDef:
    """What is left differs from what was there in the loop and in one import."""
    parts = decision.parts
    old, new = ast.parse(parts.analysis.source.text), made.rest.tree
    before, after = _function_of(old, decision), _function_of(new, decision)
    at = len(parts.setup)
    kept = copy.copy(after)
    kept.body = list(after.body)
    if len(before.body) != len(after.body):
        raise NotProven(f"{parts.node.name} has other statements than before")
    before.body[at] = after.body[at] = ast.Pass()
    names = {made.class_name, *made.groups}
    absolute(new, made.package)
    drop_statements(
        new,
        lambda s: (
            isinstance(s, ast.ImportFrom)
            and s.module == made.module
            and {alias.name for alias in s.names} == names
            and all(alias.asname is None for alias in s.names)
        ),
    )
    absolute(old, made.package)
    if not alike(old, new):
        raise NotProven("what is left differs in more than the loop")
    absolute(kept, made.package)
    return kept


def _target(decision: LoopDecision, made: Made) -> tuple[ast.FunctionDef, dict[str, str | None]]:
    """The method, and for every field the group that it is in. Nothing else is defined in the target."""
    fields: dict[str, str | None] = {}
    classes = {node.name: node for node in made.target.tree.body if isinstance(node, ast.ClassDef)}
    if set(classes) != {made.class_name, *made.groups}:
        raise NotProven("the target has other classes than asked for")
    bound: set[str] = set(classes)
    for statement in made.target.tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            bound.update(bound_name(alias) for alias in statement.names)
        elif not isinstance(statement, (ast.ClassDef, ast.Expr, ast.If)):
            raise NotProven("the target has other statements than asked for")
    known = decision.parts.analysis.tree
    for name in decision.parts.globals:
        if name in decision.imported or name in decision.passed:
            if name in decision.imported and name not in bound:
                raise NotProven(f"the target does not import {name}")
        elif name in bound or not known.is_builtin(known.module, name):
            raise NotProven(f"{name} means something else in the target")
    for group in made.groups:
        fields.update(dict.fromkeys(_fields(classes[group].body[1:]), group))
    *own, method = classes[made.class_name].body[1:]
    fields.update({name: None for name in _fields(own) if name not in map(field_of, made.groups)})
    if not isinstance(method, ast.FunctionDef) or method.name != made.method or method.decorator_list:
        raise NotProven("the target has no such method")
    if sorted(fields) != sorted(decision.fields):
        raise NotProven("the fields are not what the loop needs")
    return method, fields


def _fields(body: Sequence[ast.stmt]) -> list[str]:
    found = []
    for statement in body:
        match statement:
            case ast.AnnAssign(target=ast.Name(name), value=None):
                found.append(name)
            case _:
                raise NotProven("a class in the target has more than fields and the method")
    if len(set(found)) != len(found):
        raise NotProven("a field is defined twice")
    return found


def _call(decision: LoopDecision, made: Made, statement: ast.stmt, fields: Mapping[str, str | None]) -> None:
    """The statement in the loop's place builds, runs, and rebinds what comes back."""
    value: ast.expr | None
    if isinstance(statement, ast.Assign):
        value, returned = statement.value, _names(statement.targets[0])
        fine = len(statement.targets) == 1 and tuple(returned) == decision.returned and not decision.returns
    elif isinstance(statement, ast.Return):
        value, fine = statement.value, decision.returns and not decision.parts.tail
    else:
        value = getattr(statement, "value", None)
        fine = isinstance(statement, ast.Expr) and not decision.returned and not decision.returns
    match value:
        case ast.Call(ast.Attribute(built, method), [], []) if fine and method == made.method:
            seen = _passed(built, made.class_name, made.groups)
        case _:
            raise NotProven("the call in the loop's place is not as it should be")
    if sorted(seen.items()) != sorted(fields.items()):
        raise NotProven("the call does not hand in what the fields are")


def _passed(node: ast.expr, name: str, groups: Mapping[str, tuple[str, ...]]) -> dict[str, str | None]:
    """What a call of a class hands in, with the group it is in."""
    if not isinstance(node, ast.Call) or node.args or getattr(node.func, "id", None) != name:
        raise NotProven(f"{name} is not built as it should be")
    found: dict[str, str | None] = {}
    by_field = {field_of(group): group for group in groups}
    for keyword in node.keywords:
        assert keyword.arg is not None
        if isinstance(keyword.value, ast.Name) and keyword.value.id == keyword.arg:
            found[keyword.arg] = None
        elif keyword.arg in by_field:
            group = by_field[keyword.arg]
            found.update(dict.fromkeys(_passed(keyword.value, group, {}), group))
        else:
            raise NotProven(f"{keyword.arg} is not handed in under its own name")
    return found


def _names(node: ast.expr) -> list[str]:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return [part.id if isinstance(part, ast.Name) else "" for part in parts]


def _unpacking(
    decision: LoopDecision, statements: Sequence[ast.stmt], fields: Mapping[str, str | None], receiver: str
) -> None:
    """Each field is unpacked once into the variable of its name."""
    expected = []
    for name, group in fields.items():
        path = f"{receiver}.{name}" if group is None else f"{receiver}.{field_of(group)}.{name}"
        expected.append(ast.dump(ast.parse(f"{name} = {path}").body[0]))
    if sorted(map(ast.dump, statements)) != sorted(expected) or receiver in decision.fields:
        raise NotProven("the method does not unpack its fields")
    if receiver in decision.parts.names or receiver in decision.parts.globals:
        raise NotProven(f"{receiver} means something in the loop")


def _returned(decision: LoopDecision, statements: Sequence[ast.stmt]) -> None:
    """The method ends with the loop, or hands back what the tail reads."""
    match statements:
        case []:
            returned: tuple[str, ...] | None = ()
        case [ast.Return(ast.expr() as value)] if decision.returned:
            returned = tuple(_names(value))
        case _:
            returned = None
    if returned != decision.returned:
        raise NotProven("the method does not return what is read after the loop")


# Names


def _kinds(
    decision: LoopDecision, made: Made, function: ast.FunctionDef, method: ast.FunctionDef, loop: ast.stmt
) -> None:
    """Every name in the loop, and in what is left, is as local or global as it was."""
    parts = decision.parts
    old = _table(parts.analysis.source.table, parts.node.name, parts.node.lineno)
    rest = symtable.symtable(made.rest.text, made.rest.path, "exec")
    new = _table(rest, parts.node.name, function.lineno)
    inner = symtable.symtable(made.target.text, made.target.path, "exec")
    moved = _table(inner, method.name, method.lineno)
    own = {made.class_name, *made.groups}
    for symbol in new.get_symbols():
        if symbol.get_name() not in own:
            _same_kind(_symbol(old, symbol.get_name()), symbol, frozenset())
    passed = frozenset(decision.passed)
    for symbol in moved.get_symbols():
        name = symbol.get_name()
        if name != method.args.args[0].arg:
            _same_kind(_symbol(old, name), symbol, passed)
    first, last = parts.loop.lineno, parts.last
    children = old.get_children()
    inside = [child for child in children if first <= child.get_lineno() <= last]
    outside = [child for child in children if not first <= child.get_lineno() <= last]
    _same_tables(inside, moved.get_children(), passed)
    _same_tables(outside, new.get_children(), frozenset())


def _symbol(table: symtable.SymbolTable, name: str) -> symtable.Symbol:
    if name not in table.get_identifiers():
        raise NotProven(f"{name} was no name of {table.get_name()}")
    return table.lookup(name)


def _table(top: symtable.SymbolTable, name: str, line: int) -> symtable.SymbolTable:
    waiting = [top]
    for table in waiting:
        if (str(table.get_type()), table.get_name(), table.get_lineno()) == ("function", name, line):
            return table
        waiting.extend(table.get_children())
    raise NotProven(f"line {line}: {name} is not in the symbol table")


def _same_kind(old: symtable.Symbol, new: symtable.Symbol, passed: frozenset[str]) -> None:
    kinds = ["free" if s.is_free() else "global" if s.is_global() else "local" for s in (old, new)]
    if kinds[0] != kinds[1] and not (kinds[0] == "global" and new.get_name() in passed):
        raise NotProven(f"{new.get_name()} was {kinds[0]} and is {kinds[1]}")


def _same_tables(
    old: Sequence[symtable.SymbolTable], new: Sequence[symtable.SymbolTable], passed: frozenset[str]
) -> None:
    if [t.get_name() for t in old] != [t.get_name() for t in new]:
        raise NotProven("functions inside the function differ")
    for one, other in zip(old, new, strict=True):
        if set(one.get_identifiers()) != set(other.get_identifiers()):
            raise NotProven(f"the names in {one.get_name()} differ")
        for symbol in other.get_symbols():
            _same_kind(one.lookup(symbol.get_name()), symbol, passed)
        _same_tables(one.get_children(), other.get_children(), passed)


# Instructions


def _instructions_agree(decision: LoopDecision, made: Made, method: ast.FunctionDef, loop: ast.stmt) -> None:
    """Walk the loop in the function and in the method side by side."""
    flags = decision.parts.analysis.source.future_flags
    old, new = copied(decision.parts.node), copied(method)
    assert isinstance(old, ast.FunctionDef)
    absolute(old, made.package)
    at = len(decision.parts.setup)
    end = ast.fix_missing_locations(ast.Expr(ast.Call(ast.Name(_END, ast.Load()), [], [])))
    old.body.insert(at + 1, end)
    place = 1 + len(decision.fields)
    new.body.insert(place + 1, copied(end))
    # A global that is handed in is read as a global here, so that both sides read it in the same way.
    new.body[1:place] = [
        s
        for s in new.body[1:place]
        if isinstance(s, ast.Assign) and _names(s.targets[0])[0] not in decision.passed
    ]
    old.decorator_list = []
    before, after = (nested_code(compile_tree(ast.Module([node], []), flags))[-1] for node in (old, new))
    left, right = Steps(before), Steps(after)
    first = left.on_lines(decision.parts.loop.lineno, decision.parts.last)
    second = right.on_lines(loop.lineno, loop.end_lineno or loop.lineno)
    if first is not None and second is not None:
        same_paths(left, right, first, second, until=(_END, 1))
    elif first is not second:
        raise NotProven("the loop is reached in one of function and method only")
