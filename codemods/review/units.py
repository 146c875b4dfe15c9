"""Definitions of a file, piece by piece, without comments, annotations and docstrings."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from codemods.program.globals import is_type_checking
from codemods.program.nodes import DEFINITIONS, children
from codemods.program.scopes import mangle
from codemods.review.content import Compiled, Content, Contents, Function, functions_of
from codemods.review.lines import Lines
from codemods.review.normal import normalised

MODULE = "<module>"
# Builtins whose answer depends on the module or the frame that they are called in.
PLACED = frozenset(["globals", "locals", "vars", "dir", "eval", "exec", "__import__"])

# Kinds of nodes, asked for so often that a union of them would be made too often.
_IMPORTS = (ast.Import, ast.ImportFrom)
_CLAUSES = (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
_CLOSED = (ast.Constant, ast.Lambda)


@dataclass(frozen=True, eq=False)
class Unit:
    """A function, a method, a class without its methods, or what binds a name of a module.

    `kind` is function, method, class, binding, or statements (those of a module that bind nothing);
    `qualname` is of the file.
    """

    path: str
    kind: str
    qualname: str
    content: Content
    original: tuple[ast.stmt, ...]
    owner: str | None = None

    @property
    def name(self) -> str:
        return self.qualname.rpartition(".")[2]

    @property
    def own(self) -> str | None:
        """The name by which it stands in its own text."""
        return self.content.own

    @property
    def node(self) -> ast.Module:
        """It as a module of its own, without comments, annotations and docstrings."""
        return self.content.node

    @property
    def globals(self) -> tuple[str, ...]:
        """Names that it reads from its module, in the order of the text, its own left out."""
        return self.content.globals

    @property
    def constant(self) -> str | None:
        """Its value as a name for a number, a text or a tuple of such, which may be said twice."""
        return self.content.constant

    def with_node(self, node: ast.Module, original: tuple[ast.stmt, ...]) -> Unit:
        """The unit with another text in its place."""
        content = self.content
        made = Content(lambda: node, content.kind, content.own, content.owner, content.class_names)
        return replace(self, content=made, original=original)


def binders_of(body: Iterable[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """Statements by the names that they bind, in the order of the text."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in body:
        for name in dict.fromkeys(bound_by(statement)):
            found.setdefault(name, []).append(statement)
    return found


def units_of(
    path: str, tree: ast.Module, binders: Mapping[str, list[ast.stmt]], lines: Lines, contents: Contents
) -> Iterator[Unit]:
    """Every unit of a file; methods after their class. ``binders`` are those of its body."""

    def unit(kind: str, name: str, statements: Sequence[ast.stmt]) -> Unit:
        made = contents.of(
            lambda: ast.Module([normalised(each) for each in statements], []),
            kind,
            name,
            tuple(map(lines.of, statements)),
            compiled=lambda: _compiled_function(contents, lines, statements[0]),
        )
        return Unit(path, kind, name, made, tuple(statements))

    for name, statements in binders.items():
        first = statements[0]
        if len(statements) > 1 or not isinstance(first, Function | ast.ClassDef):
            if not any(
                isinstance(node, ast.Import | ast.ImportFrom) or for_types(node) for node in statements
            ):
                yield unit("binding", name, statements)
        elif isinstance(first, ast.ClassDef):
            yield from _class(path, first, lines, contents)
        else:
            yield unit("function", name, [first])
    binding = {id(node) for nodes in binders.values() for node in nodes}
    rest = [node for node in tree.body if id(node) not in binding and not _says_nothing(node)]
    if rest:
        yield unit("statements", MODULE, rest)


def _says_nothing(node: ast.stmt) -> bool:
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text or for_types(node) or isinstance(node, ast.Pass)


def _class(path: str, node: ast.ClassDef, lines: Lines, contents: Contents) -> Iterator[Unit]:
    times = Counter(inner.name for inner in node.body if isinstance(inner, Function))
    single = {inner for inner in node.body if isinstance(inner, Function) and times[inner.name] == 1}
    bound = [name for inner in node.body for name in bound_by(inner)]
    # Private ones under both names: as they are in the text, and in the instructions.
    class_names = frozenset([*bound, *(mangle(name, node.name) for name in bound)])
    rest = [f"def {getattr(i, 'name', '')}" if i in single else lines.of(i) for i in node.body]
    header = contents.of(
        lambda: _header(node, single),
        "class",
        node.name,
        (lines.head_of(node, node.body[0]), *rest),
        None,
        class_names,
    )
    yield Unit(path, "class", node.name, header, (node,))
    for method in node.body:
        if isinstance(method, Function) and method in single:
            texts, name = (lines.of(method),), method.name
            compiled = functools.partial(_compiled_method, contents, lines, node, method)
            content = contents.of(
                _method(node, method), "method", name, texts, node.name, class_names, compiled
            )
            yield Unit(path, "method", f"{node.name}.{name}", content, (method,), node.name)


def _compiled_function(contents: Contents, lines: Lines, node: ast.stmt) -> Compiled | None:
    code = contents.codes.get(lines.of(node)) if isinstance(node, Function) else None
    return (code, node) if code is not None and isinstance(node, Function) else None


def _compiled_method(
    contents: Contents, lines: Lines, node: ast.ClassDef, method: Function
) -> Compiled | None:
    code = contents.codes.get(lines.of(node))
    found = [each for each in functions_of(code) if each.co_name == method.name] if code is not None else []
    return (found[0], method) if len(found) == 1 else None


def _header(node: ast.ClassDef, single: Collection[ast.stmt]) -> ast.Module:
    """A class in which methods stand as names only: they are units of their own."""
    nothing = ast.copy_location(ast.Constant(None), node)
    body: list[ast.stmt] = [ast.copy_location(ast.Expr(nothing), node)]
    for inner in node.body[ast.get_docstring(node, clean=False) is not None :]:
        if isinstance(inner, Function) and inner in single:
            name = ast.copy_location(ast.Constant(f"def {inner.name}"), inner)
            body.append(ast.copy_location(ast.Expr(name), inner))
        else:
            body.append(inner)
    fields = {name: value for name, value in ast.iter_fields(node) if name != "body"}
    header = normalised(ast.copy_location(ast.ClassDef(**fields, body=body), node))
    # What came first kept a text among the statements from being taken for a docstring.
    header.body = header.body[1:] or header.body
    return ast.Module([header], [])


def _method(node: ast.ClassDef, method: Function) -> Callable[[], ast.Module]:
    return lambda: in_class(node, normalised(method))


def in_class(node: ast.ClassDef, method: ast.stmt) -> ast.Module:
    """A method inside a class, so that private names and super() are compiled as they are there."""
    shell = ast.ClassDef(name=node.name, bases=[], keywords=[], body=[method], decorator_list=[])
    if hasattr(node, "type_params"):
        shell.type_params = []  # type: ignore[attr-defined]
    return ast.Module([ast.copy_location(shell, node)], [])


def for_types(node: ast.stmt) -> bool:
    """Is it an `if TYPE_CHECKING:` block and no more, which nothing runs?"""
    return isinstance(node, ast.If) and is_type_checking(node.test) and not node.orelse


def bound_by(statement: ast.AST) -> Iterator[str]:
    """Names that a statement binds in the scope that it stands in, those in its blocks included."""
    if isinstance(statement, DEFINITIONS):
        yield statement.name
        return
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                yield node.id
        elif isinstance(node, DEFINITIONS):
            yield node.name
        elif not isinstance(node, _CLOSED):
            if isinstance(node, _IMPORTS):
                yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, _CLAUSES) and node.name:
                yield node.name
            elif isinstance(node, ast.MatchMapping) and node.rest:
                yield node.rest
            waiting.extend(children(node))
