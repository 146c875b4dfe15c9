"""Proof that a loop does the same in its method as it did in the function.

The new text is read back, and what it hands in, unpacks, returns and rebinds is checked against the decision.
The loop's statements must be the old ones, every name in them of the same kind, and the function and the
method must compile to the same instructions from the loop's first one to where it ends, compared path by
path.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codemods.equal.code import (
    FUNCTIONS,
    NotProven,
    absolute,
    alike,
    compile_tree,
    copied,
    drop_statements,
    same_paths,
)
from codemods.equal.instructions import Steps
from codemods.program.imports import bound_name
from codemods.program.scopes import FunctionNode
from codemods.program.source import Source, nested_code, statements_in
from codemods.rewrites.loop.rules import LoopDecision, field_of

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
    function = _rest(decision, made)
    method = _target(decision, made)
    old = copied(decision.parts.node)
    absolute(old, made.package)
    loop = _loop(decision, made, method, old.body[len(decision.parts.setup)])
    _kinds(decision, made, function, method)
    _instructions_agree(decision, method, loop, old)


def _must_be(found: Sequence[ast.stmt], lines: Sequence[str], what: str) -> None:
    """Some statements are those of some lines; else ``what`` says what is wrong."""
    if not alike(list(found), ast.parse("\n".join(lines)).body):
        raise NotProven(what)


def _function_of(tree: ast.Module, decision: LoopDecision) -> FunctionNode:
    """The function in another version of its file: of all of that name the one with its number."""
    name, source = decision.parts.node.name, decision.parts.analysis.source.tree
    number = _named(source, name).index(decision.parts.node)
    found = _named(tree, name)
    if number >= len(found):
        raise NotProven(f"{name} is gone")
    return found[number]


def _named(tree: ast.Module, name: str) -> list[FunctionNode]:
    """The functions of a name."""
    return [node for node in statements_in(tree) if isinstance(node, FUNCTIONS) and node.name == name]


def _rest(decision: LoopDecision, made: Made) -> FunctionNode:
    """What is left differs from what was there in the loop, for which a call stands, and in one import."""
    parts = decision.parts
    old, new = ast.parse(parts.analysis.source.text), made.rest.tree
    before, after = _function_of(old, decision), _function_of(new, decision)
    at = len(parts.setup)
    if len(before.body) != len(after.body):
        raise NotProven(f"{parts.node.name} has other statements than before")
    _must_be([after.body[at]], [_call(decision, made)], "the call in the loop's place is not as it should be")
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
    return after


def _call(decision: LoopDecision, made: Made) -> str:
    """The statement in the loop's place: it hands in what the fields are, and rebinds what comes back."""
    if decision.returns and (decision.returned or decision.parts.tail):
        raise NotProven("statements that follow the loop would run after it has returned")
    built = [f"{field_of(g)}={g}({', '.join(f'{n}={n}' for n in names)})" for g, names in made.groups.items()]
    built += [f"{name}={name}" for name in _own_fields(decision, made)]
    call = f"{made.class_name}({', '.join(built)}).{made.method}()"
    if decision.returned:
        return f"{', '.join(decision.returned)} = {call}"
    return f"return {call}" if decision.returns else call


def _own_fields(decision: LoopDecision, made: Made) -> list[str]:
    """The fields of the loop's class that are in no group."""
    grouped = {name for names in made.groups.values() for name in names}
    return [name for name in decision.fields if name not in grouped]


def _target(decision: LoopDecision, made: Made) -> ast.FunctionDef:
    """The method; nothing else is defined in the target but it and the fields of classes."""
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
    for group, names in made.groups.items():
        _has_fields(classes[group].body[1:], names)
    *fields, method = classes[made.class_name].body[1:]
    _has_fields(fields, [*map(field_of, made.groups), *_own_fields(decision, made)])
    if not isinstance(method, ast.FunctionDef) or method.name != made.method or method.decorator_list:
        raise NotProven("the target has no such method")
    return method


def _has_fields(body: Sequence[ast.stmt], names: Sequence[str]) -> None:
    """Statements of a class are annotations of fields, and nothing else."""
    found = [ast.unparse(s.target) for s in body if isinstance(s, ast.AnnAssign) and s.value is None]
    if found != list(names) or len(found) != len(body):
        raise NotProven("the fields are not what the loop needs")


def _loop(decision: LoopDecision, made: Made, method: ast.FunctionDef, old: ast.stmt) -> ast.stmt:
    """The loop in the method, as it was: before it each field is unpacked once into the variable of its name,
    after it what the tail reads is handed back.
    """
    receiver, parts = method.args.args[0].arg, decision.parts
    if receiver in (*decision.fields, *parts.names, *parts.globals):
        raise NotProven(f"{receiver} means something in the loop")
    groups = {name: f".{field_of(group)}" for group, names in made.groups.items() for name in names}
    lines = [f"{name} = {receiver}{groups.get(name, '')}.{name}" for name in decision.fields]
    lines += [f"return {', '.join(decision.returned)}"] if decision.returned else []
    body, at = method.body[1:], len(decision.fields)
    what = "the method does not unpack its fields and return what is read after the loop"
    _must_be([*body[:at], *body[at + 1 :]], lines, what)
    if not alike(old, body[at]):
        raise NotProven("the loop's statements changed")
    return body[at]


# Names


def _kinds(decision: LoopDecision, made: Made, function: FunctionNode, method: ast.FunctionDef) -> None:
    """Every name in the loop, and in what is left, is as local or global as it was."""
    parts = decision.parts
    old = _table(parts.analysis.source.table, parts.node.name, parts.node.lineno)
    rest = symtable.symtable(made.rest.text, made.rest.path, "exec")
    new = _table(rest, parts.node.name, function.lineno)
    inner = symtable.symtable(made.target.text, made.target.path, "exec")
    moved = _table(inner, method.name, method.lineno)
    own = {made.class_name, *made.groups}
    passed = frozenset(decision.passed)
    # Globals that only comprehensions and functions in the loop read: the function itself does not know them.
    nested = passed.difference(old.get_identifiers())
    for symbol in new.get_symbols():
        name = symbol.get_name()
        if name in nested and not symbol.is_global():
            raise NotProven(f"{name} is no global of what is left")
        if name not in own | nested:
            _same_kind(_symbol(old, name), symbol, frozenset())
    for symbol in moved.get_symbols():
        name = symbol.get_name()
        if name != method.args.args[0].arg and name not in nested:
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


def _instructions_agree(
    decision: LoopDecision, method: ast.FunctionDef, loop: ast.stmt, old: FunctionNode
) -> None:
    """Walk the loop in the function and in the method side by side."""
    flags = decision.parts.analysis.source.future_flags
    new = copied(method)
    at = len(decision.parts.setup)
    end = ast.fix_missing_locations(ast.Expr(ast.Call(ast.Name(_END, ast.Load()), [], [])))
    old.body.insert(at + 1, end)
    place = 1 + len(decision.fields)
    new.body.insert(place + 1, copied(end))
    # A global that is handed in is read as a global here, so that both sides read it in the same way.
    unpacked = zip(decision.fields, new.body[1:place], strict=True)
    new.body[1:place] = [statement for name, statement in unpacked if name not in decision.passed]
    old.decorator_list = []
    before, after = (nested_code(compile_tree(ast.Module([node], []), flags))[-1] for node in (old, new))
    left, right = Steps(before), Steps(after)
    first = left.on_lines(decision.parts.loop.lineno, decision.parts.last)
    second = right.on_lines(loop.lineno, loop.end_lineno or loop.lineno)
    if first is not None and second is not None:
        same_paths(left, right, first, second, until=(_END, 1))
    elif first is not second:
        raise NotProven("the loop is reached in one of function and method only")
