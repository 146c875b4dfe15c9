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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from codemods.equal.instructions import Step, Steps
from codemods.program.annotations import cannot_fail
from codemods.program.helpers import Helper
from codemods.program.imports import imported_module
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


class NotProven(Exception):
    """Something is not the same; says what."""

    def __init__(self, what: str, helper: Helper | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.helper = helper


@dataclass(frozen=True, slots=True)
class NewCall:
    """How one module calls a lifted helper: by which name, with which captures, for which helper."""

    helper: Helper
    passed: tuple[str, ...]


def turn_back(tree: ast.AST, calls: Mapping[str, NewCall]) -> Counter[Helper]:
    """Undo the rewriting of calls in a tree; how many calls of each helper there were."""
    count: Counter[Helper] = Counter()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in calls:
            continue
        new = calls[node.func.id]
        added = node.keywords[len(node.keywords) - len(new.passed) :] if new.passed else []
        for keyword, name in zip(added, new.passed, strict=False):
            if keyword.arg != name or not isinstance(keyword.value, ast.Name) or keyword.value.id != name:
                raise NotProven(f"a call passes {keyword.arg} where {name} was expected", new.helper)
        if len(added) != len(new.passed):
            raise NotProven("a call passes too few captures", new.helper)
        count[new.helper] += 1
        if new.passed:
            node.keywords = node.keywords[: -len(new.passed)]
        node.func.id = new.helper.name
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


def reread(text: str, path: str, before: Source | None = None) -> Source:
    """What an interpreter makes of a text that is written in a file's encoding; in UTF-8 without one.

    Raises:
        NotProven: if that is not the text, or can't be compiled.
    """
    try:
        data = text.encode() if before is None else before.encode(text)
        read = decode_source(data, path)
        compile_tree(read.tree, ())
    except (SourceError, UnicodeEncodeError) as error:
        raise NotProven(f"what would be written is not readable: {error}") from None
    except SyntaxError as error:
        raise NotProven(f"{path}:{error.lineno}: does not compile: {error.msg}") from None
    if read.text != text:
        raise NotProven("what would be written reads differently in the file's encoding")
    return read


def same_code(
    old: types.CodeType, new: types.CodeType, passed: frozenset[str], helper: Helper | None = None
) -> None:
    """Check that two code objects do the same, where ``passed`` are parameters that used to be captures.

    Raises:
        NotProven: at the first difference.
    """
    if (old.co_flags ^ new.co_flags) & ~inspect.CO_NESTED:
        raise NotProven(f"{old.co_name}: the kind of function differs", helper)
    if (old.co_argcount, old.co_posonlyargcount) != (new.co_argcount, new.co_posonlyargcount):
        raise NotProven(f"{old.co_name}: the parameters differ", helper)
    if new.co_kwonlyargcount != old.co_kwonlyargcount + len(passed):
        raise NotProven(f"{old.co_name}: the keyword-only parameters differ", helper)
    if old.co_name != new.co_name or (not passed and _parameters(old) != _parameters(new)):
        raise NotProven(f"{old.co_name}: its name or a parameter's differs", helper)
    if set(old.co_freevars) - passed != set(new.co_freevars):
        raise NotProven(f"{old.co_name}: what it captures differs", helper)
    same_paths(Steps(old), Steps(new), 0, 0, helper=helper)


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
    helper: Helper | None = None,
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
            place = (
                f"line {left.line(one)}" if helper is None else f"{left.code.co_name}, line {left.line(one)}"
            )
            raise NotProven(f"{place}: {_shown(one)} became {_shown(other)}", helper)
        if isinstance(one.argument, types.CodeType) and isinstance(other.argument, types.CodeType):
            same_code(one.argument, other.argument, frozenset(), helper)
        if one.argument is not None and one.argument == until:
            continue
        if one.handler is not None and other.handler is not None:
            if one.handler[1:] != other.handler[1:]:
                raise NotProven(f"{left.code.co_name}: the exception handlers differ", helper)
            waiting.append((one.handler[0], other.handler[0]))
        waiting.extend(zip(one.follows, other.follows, strict=True))


def _shown(step: Step) -> str:
    return step.name if step.argument is None else f"{step.name} {step.argument}"


def prove_helper(
    helper: Helper,
    moved: FunctionNode,
    calls: Mapping[str, NewCall],
    captures: Sequence[str],
    passed_globals: Sequence[str],
    inside: Sequence[Helper],
    flags: Sequence[str],
    package: str | None,
) -> Counter[Helper]:
    """Check that a lifted definition does what the helper did; the calls in it, by helper.

    ``captures`` and ``passed_globals`` are its new parameters; ``inside`` are helpers in it that were lifted
    too.

    Raises:
        NotProven: if it can't be shown.
    """
    old = copied(helper.node)
    places = {(h.node.lineno, h.node.col_offset) for h in inside}
    if places:
        drop_statements(old, lambda s: isinstance(s, FUNCTIONS) and (s.lineno, s.col_offset) in places)
    new = copied(moved)
    count = turn_back(new, calls)
    absolute(old, package)
    # A name of its own: inside, the helper's may mean something else.
    old.name = new.name = "helper_in_proof"
    added = [*captures, *passed_globals]
    names = [argument.arg for argument in new.args.kwonlyargs]
    start = len(names) - len(added)
    if start < 0 or sorted(names[start:]) != sorted(added) or any(new.args.kw_defaults[start:]):
        raise NotProven(f"{helper.name}: the added parameters are not the captures", helper)
    stated = [added.annotation for added in new.args.kwonlyargs[start:] if added.annotation is not None]
    if "annotations" not in flags and not all(map(cannot_fail, stated)):
        raise NotProven(f"{helper.name}: the annotation of an added parameter is evaluated", helper)
    del new.args.kwonlyargs[start:], new.args.kw_defaults[start:]
    for part in ("args", "decorator_list", "returns"):
        if not alike(getattr(old, part), getattr(new, part)):
            raise NotProven(f"{helper.name}: its {part} changed", helper)
    if _docstring_lines(old) != _docstring_lines(new):
        raise NotProven(f"{helper.name}: its docstring changed", helper)
    old.decorator_list, new.decorator_list = [], []
    gone = {h.name for h in inside}
    local = sorted({*captures, *(helper.scope.free - gone - {"__class__"})})
    around = ast.parse("def around(): pass").body[0]
    assert isinstance(around, ast.FunctionDef)
    around.args.args = [_parameter(name) for name in local]
    around.body = [old]
    new.args.kwonlyargs += [_parameter(name) for name in local]
    new.args.kw_defaults += [None] * len(local)
    closure = nested_code(nested_code(compile_tree(ast.Module([around], []), flags))[-1])[-1]
    lifted = nested_code(compile_tree(ast.Module([new], []), flags))[-1]
    same_code(closure, lifted, frozenset(local), helper)
    return count


def alike(one: object, other: object) -> bool:
    """Whether two trees are the same but for places: as `ast.dump` tells, several times faster."""
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
