"""Proof that lifting kept the meaning: what CPython compiles before and after is the same instructions.

A capture becomes a keyword-only parameter of the same name, so a lifted helper compiles to the closure's
instructions with each read of a captured cell replaced by a read of a local. To compare calls as well, they
are first turned back in the new tree: the added keywords are checked and taken off, the callee gets its old
name.
"""

from __future__ import annotations

import ast
import inspect
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from codemods.equal.instructions import Step, Steps
from codemods.program.annotations import cannot_fail
from codemods.program.imports import imported_module, imports_in
from codemods.program.nodes import walk
from codemods.program.scopes import FunctionNode
from codemods.program.source import (
    Source,
    SourceError,
    blocks_of,
    decode_source,
    nested_code,
    statements_in,
)
from codemods.program.walk import read_scopes

Node = TypeVar("Node", bound=ast.AST)
Place = tuple[int, int]
"""Line and column at which a definition of the old version begins."""


class NotProven(Exception):
    """A difference, and the definition of the old version in which it is."""

    def __init__(self, what: str, place: Place | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.place = place


def place_of(node: ast.stmt) -> Place:
    """The place of a statement."""
    return node.lineno, node.col_offset


@dataclass(frozen=True, slots=True)
class NewCall:
    """A call in the new version: the old name and place of what it calls, and the captures it passes."""

    name: str
    place: Place
    passed: tuple[str, ...]


def turn_back(tree: ast.AST, calls: Mapping[str, NewCall]) -> Counter[Place]:
    """Undo the rewriting of calls in a tree; how many calls of each definition there were."""
    count: Counter[Place] = Counter()
    for node in walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in calls:
            continue
        new = calls[node.func.id]
        added = node.keywords[len(node.keywords) - len(new.passed) :] if new.passed else []
        for keyword, name in zip(added, new.passed, strict=False):
            if keyword.arg != name or not isinstance(keyword.value, ast.Name) or keyword.value.id != name:
                raise NotProven(f"a call passes {keyword.arg} where {name} was expected", new.place)
        if len(added) != len(new.passed):
            raise NotProven("a call passes too few captures", new.place)
        count[new.place] += 1
        if new.passed:
            node.keywords = node.keywords[: -len(new.passed)]
        node.func.id = new.name
    return count


def compile_tree(tree: ast.Module, flags: Sequence[str]) -> types.CodeType:
    """Compile a tree under future flags."""
    import __future__

    bits = 0
    for flag in flags:
        bits |= getattr(__future__, flag).compiler_flag
    with warnings.catch_warnings(action="ignore"):
        code: types.CodeType = compile(tree, "<proof>", "exec", flags=bits, dont_inherit=True)
        return code


def reread(text: str, path: str, before: Source | None = None, *, compiled: bool = True) -> Source:
    """Read a text as an interpreter does once it is written in a file's encoding; in UTF-8 without one.

    Raises:
        NotProven: if that is not the text, or can't be ``compiled``.
    """
    try:
        data = text.encode() if before is None else before.encode(text)
        read = decode_source(data, path)
        if compiled:
            compile_tree(read.tree, ())
    except (SourceError, UnicodeEncodeError) as error:
        raise NotProven(f"what would be written is not readable: {error}") from None
    except SyntaxError as error:
        raise NotProven(f"{path}:{error.lineno}: does not compile: {error.msg}") from None
    if read.text != text:
        raise NotProven("what would be written reads differently in the file's encoding")
    return read


def same_code(
    old: types.CodeType, new: types.CodeType, passed: frozenset[str], place: Place | None = None
) -> None:
    """Check that two code objects do the same, where ``passed`` are parameters that used to be captures.

    Raises:
        NotProven: at the first difference.
    """
    if (old.co_flags ^ new.co_flags) & ~inspect.CO_NESTED:
        raise NotProven(f"{old.co_name}: the kind of function differs", place)
    if (old.co_argcount, old.co_posonlyargcount) != (new.co_argcount, new.co_posonlyargcount):
        raise NotProven(f"{old.co_name}: the parameters differ", place)
    if new.co_kwonlyargcount != old.co_kwonlyargcount + len(passed):
        raise NotProven(f"{old.co_name}: the keyword-only parameters differ", place)
    if old.co_name != new.co_name or (not passed and _parameters(old) != _parameters(new)):
        raise NotProven(f"{old.co_name}: its name or a parameter's differs", place)
    if set(old.co_freevars) - passed != set(new.co_freevars):
        raise NotProven(f"{old.co_name}: what it captures differs", place)
    same_paths(Steps(old), Steps(new), 0, 0, at=place)


def _parameters(code: types.CodeType) -> tuple[str, ...]:
    """Names of a function's parameters, star arguments last."""
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + stars]


def same_paths(
    left: Steps,
    right: Steps,
    first: int,
    second: int,
    *,
    until: object = None,
    at: Place | None = None,
) -> None:
    """Walk two graphs of instructions side by side from ``first`` and ``second``, each path up to an
    instruction whose argument is ``until``.

    Raises:
        NotProven: at the first difference.
    """
    seen: set[tuple[int, int]] = set()
    waiting = [(first, second)]
    while waiting:
        pair = left.settled(waiting[-1][0]), right.settled(waiting.pop()[1])
        if pair in seen:
            continue
        seen.add(pair)
        one, other = left.steps[pair[0]], right.steps[pair[1]]
        inner = isinstance(one.argument, types.CodeType) and isinstance(other.argument, types.CodeType)
        same = one.name == other.name and (inner or one.argument == other.argument)
        if (
            not same
            or (one.handler is None) != (other.handler is None)
            or len(one.follows) != len(other.follows)
        ):
            where = f"line {left.line(one)}" if at is None else f"{left.code.co_name}, line {left.line(one)}"
            raise NotProven(f"{where}: {_shown(one)} became {_shown(other)}", at)
        if isinstance(one.argument, types.CodeType) and isinstance(other.argument, types.CodeType):
            same_code(one.argument, other.argument, frozenset(), at)
        if one.argument is not None and one.argument == until:
            continue
        if one.handler is not None and other.handler is not None:
            if one.handler[1:] != other.handler[1:]:
                raise NotProven(f"{left.code.co_name}: the exception handlers differ", at)
            waiting.append((one.handler[0], other.handler[0]))
        waiting.extend(zip(one.follows, other.follows, strict=True))


def _shown(step: Step) -> str:
    return step.name if step.argument is None else f"{step.name} {step.argument}"


def prove_closure(
    old: FunctionNode,
    new: FunctionNode,
    calls: Mapping[str, NewCall],
    captures: Sequence[str],
    passed_globals: Sequence[str],
    free: frozenset[str],
    inside: Mapping[Place, str],
    flags: Sequence[str],
    package: str | None,
) -> Counter[Place]:
    """Check that a function with parameters for its captures does what the closure did; the calls in it.

    ``captures`` and ``passed_globals`` are the added parameters, ``free`` the closure's free variables;
    ``inside`` are definitions in the closure, by their names, that are not in the function any more.

    Raises:
        NotProven: if it can't be shown.
    """
    place, name = place_of(old), old.name
    old, new = copied(old), copied(new)
    if inside:
        drop_statements(old, lambda s: isinstance(s, FUNCTIONS) and place_of(s) in inside)
    count = turn_back(new, calls)
    absolute(old, package)
    # A name of its own: inside, the closure's may mean something else.
    old.name = new.name = "helper_in_proof"
    added = [*captures, *passed_globals]
    names = [argument.arg for argument in new.args.kwonlyargs]
    start = len(names) - len(added)
    if start < 0 or sorted(names[start:]) != sorted(added) or any(new.args.kw_defaults[start:]):
        raise NotProven(f"{name}: the added parameters are not the captures", place)
    stated = [added.annotation for added in new.args.kwonlyargs[start:] if added.annotation is not None]
    if "annotations" not in flags and not all(map(cannot_fail, stated)):
        raise NotProven(f"{name}: the annotation of an added parameter is evaluated", place)
    del new.args.kwonlyargs[start:], new.args.kw_defaults[start:]
    for part in ("args", "decorator_list", "returns"):
        if not alike(getattr(old, part), getattr(new, part)):
            raise NotProven(f"{name}: its {part} changed", place)
    if _docstring_lines(old) != _docstring_lines(new):
        raise NotProven(f"{name}: its docstring changed", place)
    old.decorator_list, new.decorator_list = [], []
    local = sorted({*captures, *(free - {*inside.values(), "__class__"})})
    around = ast.parse("def around(): pass").body[0]
    assert isinstance(around, ast.FunctionDef)
    around.args.args = [_parameter(name) for name in local]
    around.body = [old]
    new.args.kwonlyargs += [_parameter(name) for name in local]
    new.args.kw_defaults += [None] * len(local)
    closure = nested_code(nested_code(compile_tree(ast.Module([around], []), flags))[-1])[-1]
    lifted = nested_code(compile_tree(ast.Module([new], []), flags))[-1]
    same_code(closure, lifted, frozenset(local), place)
    return count


Block = Callable[[list[ast.stmt]], list[ast.stmt]]


def alike(one: object, other: object, *told: Block) -> bool:
    """Compare two trees but for places: as `ast.dump` tells, several times faster.

    Of the blocks on either side counts what two functions tell of them, if there are any.
    """
    waiting = [(one, other)]
    while waiting:
        left, right = waiting.pop()
        kind = type(left)
        if kind is not type(right):
            return False
        if isinstance(left, ast.AST):
            for name in left._fields:
                pair = getattr(left, name, None), getattr(right, name, None)
                # Contexts and operators are the same objects everywhere.
                if pair[0] is not pair[1]:
                    waiting.append(pair)
        elif isinstance(left, list) and isinstance(right, list):
            if told and isinstance((left or right or [None])[0], ast.stmt):
                left, right = told[0](left), told[1](right)
            if len(left) != len(right):
                return False
            waiting += zip(left, right, strict=True)
        elif left != right if kind is str else repr(left) != repr(right):
            return False
    return True


def copied(node: Node) -> Node:
    """A copy of a tree, several times faster than by `copy.deepcopy`; contexts and operators are shared."""
    if not node.__dict__:
        return node
    made = type(node).__new__(type(node))
    for name, value in node.__dict__.items():
        if isinstance(value, ast.AST):
            value = copied(value)
        elif isinstance(value, list):
            value = [copied(item) if isinstance(item, ast.AST) else item for item in value]
        made.__dict__[name] = value
    return made


def _parameter(name: str) -> ast.arg:
    return ast.arg(arg=name, lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)


def _docstring_lines(node: FunctionNode) -> list[str]:
    """A docstring without its indentation, which moves with the function."""
    return [line.strip() for line in (ast.get_docstring(node, clean=False) or "").splitlines()]


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def drop_statements(tree: ast.AST, gone: Callable[[ast.stmt], bool]) -> None:
    """Take statements out of every block of a tree."""
    for node in statements_in(tree):
        for block in blocks_of(node):
            kept = [statement for statement in block if not gone(statement)]
            if len(kept) != len(block):
                block[:] = kept or [ast.copy_location(ast.Pass(), block[0])]


def absolute(tree: ast.AST, package: str | None) -> None:
    """Write relative imports as absolute ones."""
    for node in statements_in(tree):
        if isinstance(node, ast.ImportFrom) and node.level and package is not None:
            node.module, node.level = imported_module(node, package), 0


def as_absolute(node: ast.stmt, package: str | None) -> ast.stmt:
    """A statement; a relative import as an absolute one."""
    if isinstance(node, ast.ImportFrom) and node.level and package is not None:
        return ast.copy_location(ast.ImportFrom(imported_module(node, package), node.names, 0), node)
    return node


def unresolved(source: Source) -> set[str]:
    """Globals that a file reads and nothing binds."""
    tree = read_scopes(source)
    return {
        name
        for owner, name in tree.uses
        if owner is tree.module
        and (owner, name) not in tree.binders
        and not tree.is_builtin(tree.module, name)
        and not (name.startswith("__") and name.endswith("__"))
        and not tree.star_imports
    }


def imported_otherwise(
    nodes: Iterable[ast.AST], old: Source, package: str | None, new: Source, module: str
) -> list[str]:
    """Names in nodes that both files import, and from different places."""
    home = module if new.path.endswith("__init__.py") else module.rpartition(".")[0]
    before, after = _imported(old.tree, package or ""), _imported(new.tree, home)
    names = {inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    return sorted(name for name in names & before.keys() & after.keys() if before[name] != after[name])


def _imported(tree: ast.Module, package: str) -> dict[str, set[str]]:
    """The dotted paths of names that a file's own imports bind."""
    found: dict[str, set[str]] = {}
    for node in module_level(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for made in imports_in(node, package):
                found.setdefault(made.bound, set()).add(made.path)
    return found


def module_level(tree: ast.Module) -> Iterator[ast.AST]:
    """Statements that run as the module's own, also those in blocks."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            waiting += (statement for block in blocks_of(node) for statement in block)
