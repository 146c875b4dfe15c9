"""Which statements of a module may do something besides binding names, or depend on when they run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.program.makers import (
    KEEPING,
    LASTING,
    calls_back,
    is_constant_of,
    is_plain,
    makes,
)
from codemods.program.nodes import walk
from codemods.review.content import Function
from codemods.review.file import File
from codemods.review.side import Meaning, Outside, Side
from codemods.review.units import Unit, bound_by

_DEEPEST = 20
# Kinds of nodes, asked for so often that a union of them would be made too often.
_SILENT = (ast.Import, ast.ImportFrom, ast.Pass)
_LOOKS = (ast.Subscript, ast.Attribute)
_RUNS = (ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom)


class Acting:
    """Asks it of the files of one side."""

    def __init__(self, side: Side) -> None:
        self._side = side

    def acts(self, file: File, statement: ast.stmt, local: frozenset[str] = frozenset()) -> bool:
        """May a statement do, or depend on, something besides the names that it reads?

        `local` are names that the class binds in whose body it stands.
        """
        if isinstance(statement, _SILENT):
            return False
        if isinstance(statement, Function):
            parts = [*statement.args.defaults, *filter(None, statement.args.kw_defaults)]
            return not self._decorates(file, statement, local) or any(
                not self._quiet(file, part, local) for part in parts
            )
        if isinstance(statement, ast.ClassDef):
            kept = [self._decorates(file, statement, local)]
            kept += [self._plain_base(file, base) for base in statement.bases]
            kept += [
                self._plain_meta(file, keyword) and self._quiet(file, keyword.value, local)
                for keyword in statement.keywords
            ]
            inside = frozenset(name for inner in statement.body for name in bound_by(inner)) - file.bound
            return not all(kept) or any(self.acts(file, inner, inside) for inner in statement.body)
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            value = statement.value
            plain = all(isinstance(target, ast.Name) for target in targets)
            return not plain or (value is not None and not self._quiet(file, value, local))
        return not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))

    def _decorates(self, file: File, node: Function | ast.ClassDef, local: frozenset[str]) -> bool:
        """Do all decorators of a definition only make something of it?"""
        return all(
            makes(self.origin(file, each)) or self._wraps(file, each)
            if isinstance(each, ast.Name) and each.id not in local
            else self._quiet(file, each, local)
            for each in node.decorator_list
        )

    def _wraps(self, file: File, decorator: ast.Name) -> bool:
        """Is it a function of the tree that only defines functions, and returns one of its names?"""
        path, node = self.defined(self._side.meaning(file.path, decorator.id))
        there = self._side.file(path)
        if there is None or not isinstance(node, ast.FunctionDef) or node.decorator_list:
            return False
        if node.name in there.bound_again:
            return False
        *inner, last = [each for each in node.body if not is_text(each)] or [node]
        returned = isinstance(last, ast.Return) and isinstance(last.value, ast.Name)
        return returned and all(
            isinstance(each, ast.FunctionDef) and self._only_wraps(there, each) for each in inner
        )

    def _only_wraps(self, file: File, node: ast.FunctionDef) -> bool:
        if any(node.args.defaults) or any(node.args.kw_defaults):
            return False
        calls = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
        return all(self.origin(file, each) == "functools.wraps" for each in calls)

    def defined(self, meaning: Meaning) -> tuple[str, ast.stmt | None]:
        """The one statement that binds what a name means, and its file."""
        if isinstance(meaning, Unit):
            return meaning.path, meaning.original[0] if len(meaning.original) == 1 else None
        if isinstance(meaning, Outside) and len(meaning.what) == 2:
            path, name = meaning.what
            there = self._side.file(path)
            binders = there.binders.get(name, ()) if there is not None else ()
            return path, binders[0] if len(binders) == 1 else None
        return "", None

    def _quiet(self, file: File, value: ast.expr, local: frozenset[str]) -> bool:
        """Is a value the same whenever it is worked out?"""
        kept = {id(node) for node in self._kept(file, value)}
        nodes = walk(value)
        own = local | {node.id for node in nodes if isinstance(node, ast.Name) and not _reads(node)}
        own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        for node in nodes:
            if isinstance(node, ast.Call):
                name = self.origin(file, node.func)
                if not makes(name) or calls_back(name, node):
                    return False
            elif isinstance(node, _LOOKS):
                if not is_constant_of(self.origin(file, node)) and not self._is_builtin(file, node):
                    return False
            elif isinstance(node, _RUNS):
                return False
            elif isinstance(node, ast.Name) and node.id not in own:
                again = node.id in file.bound_again
                if again or not (id(node) in kept or self._lasts(file, node)):
                    return False
        return True

    def _kept(self, file: File, value: ast.expr) -> Iterator[ast.expr]:
        """Names that a value holds as they are: nothing of what they stand for is looked at."""
        if isinstance(value, ast.Name):
            yield value
        elif isinstance(value, ast.Dict):
            for key, part in zip(value.keys, value.values, strict=True):
                yield from self._kept(file, part) if key is not None else ()
        elif isinstance(value, ast.List | ast.Tuple):
            for part in value.elts:
                yield from self._kept(file, part)
        elif isinstance(value, ast.Call) and self.origin(file, value.func) in KEEPING:
            for part in (*value.args, *(keyword.value for keyword in value.keywords)):
                yield from self._kept(file, part)

    def _lasts(self, file: File, value: ast.expr | None, depth: int = 0) -> bool:
        """Does a value hold nothing that could be changed later?"""
        if value is None or depth > _DEEPEST:
            return False
        if isinstance(value, ast.Name):
            return value.id not in file.bound_again and self._name_lasts(file, value.id, depth)
        if isinstance(value, ast.Call):
            name = self.origin(file, value.func)
            given = [*value.args, *(keyword.value for keyword in value.keywords)]
            # A container that is made here is given to nobody else.
            parts = [inner for part in given for inner in (_parts(part) or [part])]
            return (
                name in LASTING
                and not calls_back(name, value)
                and all(self._lasts(file, part, depth + 1) for part in parts)
            )
        if isinstance(value, ast.Subscript | ast.Attribute):
            return is_constant_of(self.origin(file, value)) or self._is_builtin(file, value)
        if isinstance(value, ast.Constant):
            return True
        plain = ast.Tuple | ast.UnaryOp | ast.BinOp | ast.BoolOp | ast.Compare | ast.IfExp
        if not isinstance(value, plain | ast.JoinedStr | ast.FormattedValue):
            return False
        parts = [part for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr)]
        return all(self._lasts(file, part, depth + 1) for part in parts)

    def _name_lasts(self, file: File, name: str, depth: int) -> bool:
        meaning = self._side.meaning(file.path, name)
        if isinstance(meaning, Unit):
            if meaning.kind in ("function", "class"):
                return True
            return meaning.kind == "binding" and self._all_last(meaning.path, meaning.original, depth)
        if not isinstance(meaning, Outside):
            return False
        if meaning.what[0] in ("builtin", "module"):
            return True
        there = self._side.file(meaning.what[0])
        if there is None or len(meaning.what) != 2:
            return False
        return self._all_last(meaning.what[0], tuple(there.binders.get(meaning.what[1], ())), depth)

    def _all_last(self, path: str, statements: tuple[ast.stmt, ...], depth: int) -> bool:
        """Is what binds a name one statement, after which it stays?"""
        there = self._side.file(path)
        if there is None or len(statements) != 1:
            return False
        [statement] = statements
        if isinstance(statement, Function | ast.ClassDef):
            return True
        return isinstance(statement, ast.Assign | ast.AnnAssign) and self._lasts(
            there, statement.value, depth + 1
        )

    def _is_builtin(self, file: File, node: ast.expr) -> bool:
        """Is it an attribute of a builtin class, or one with parameters?"""
        root = _root(node)
        return isinstance(root, ast.Name) and self._meaning(file, root) == ("builtin", root.id)

    def origin(self, file: File, node: ast.expr) -> str:
        """The dotted name of something outside the tree, a builtin's own name; empty for anything else."""
        parts: list[str] = []
        while isinstance(node, _LOOKS):
            if isinstance(node, ast.Attribute):
                parts.append(node.attr)
            node = node.value
        what = self._meaning(file, node) if isinstance(node, ast.Name) else ()
        if not what or what[0] not in ("builtin", "module"):
            return ""
        return ".".join([*what[1:], *reversed(parts)])

    def _meaning(self, file: File, node: ast.Name) -> tuple[str, ...]:
        meaning: Meaning = self._side.meaning(file.path, node.id)
        return meaning.what if isinstance(meaning, Outside) else ()

    def _plain_base(self, file: File, base: ast.expr, depth: int = 0) -> bool:
        while isinstance(base, ast.Subscript):
            base = base.value
        root = _root(base)
        if not isinstance(root, ast.Name) or depth > _DEEPEST or root.id in file.shadowing:
            return False
        meaning = self._side.meaning(file.path, root.id)
        if isinstance(meaning, Unit) and meaning.kind == "class" and root is base:
            node, there = meaning.original[0], self._side.changed[meaning.path]
            assert isinstance(node, ast.ClassDef)
            hooks = f"{meaning.qualname}.__init_subclass__" in there.units
            metas = all(self._plain_meta(there, keyword) for keyword in node.keywords)
            return not hooks and metas and all(self._plain_base(there, b, depth + 1) for b in node.bases)
        return self._is_plain(meaning)

    def _plain_meta(self, file: File, keyword: ast.keyword) -> bool:
        root = _root(keyword.value)
        plain = isinstance(root, ast.Name) and self._is_plain(self._side.meaning(file.path, root.id))
        return keyword.arg == "metaclass" and plain

    @staticmethod
    def _is_plain(meaning: Meaning) -> bool:
        if not isinstance(meaning, Outside):
            return False
        return meaning.what[0] == "builtin" or (meaning.what[0] == "module" and is_plain(meaning.what[1]))


def is_silent(statement: ast.stmt) -> bool:
    """Does a statement certainly do nothing but bind names to functions and plain values?"""
    if isinstance(statement, _SILENT):
        return True
    values: list[ast.expr | None]
    if isinstance(statement, Function):
        values = [*statement.decorator_list, *statement.args.defaults, *statement.args.kw_defaults]
        return not statement.decorator_list and all(
            each is None or isinstance(each, ast.Constant) for each in values
        )
    if isinstance(statement, ast.Assign):
        plain = all(isinstance(target, ast.Name) for target in statement.targets)
        return plain and isinstance(statement.value, ast.Constant)
    return is_text(statement)


def is_text(node: ast.stmt) -> bool:
    """Is it a docstring or the like?"""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _reads(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node


def _parts(node: ast.expr) -> list[ast.expr] | None:
    """The elements of a display."""
    if isinstance(node, ast.Dict):
        return [part for part in (*node.keys, *node.values) if part is not None]
    return list(node.elts) if isinstance(node, ast.List | ast.Set | ast.Tuple) else None
