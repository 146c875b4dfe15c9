"""The modules under check: what each defines and imports, found without looking into function bodies."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

from codemods.hotpath.uses import Uses
from codemods.program.source import SourceError, decode_source

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_CODING = re.compile(rb"coding[:=]")
_NEWLINE = re.compile(r"\r\n|\r|\n")


@dataclass(slots=True, eq=False)
class Function:
    """A function or method; nested ones and lambdas too, once they are met.

    Attributes:
        module: that it is in.
        qualname: within the module.
        cls: the class whose method it is.
        node: its syntax tree.
        decorators: their names, of dotted ones the last part.
    """

    module: Module
    qualname: str
    node: FunctionNode
    cls: Class | None = None
    decorators: tuple[str, ...] = ()
    names: frozenset[str] | None = None
    uses: Uses | None = None

    @property
    def text(self) -> str:
        """Its lines in the file."""
        starts = self.module.starts
        last = self.node.end_lineno or self.node.lineno
        end = starts[last] if last < len(starts) else None
        return self.module.text[starts[self.node.lineno - 1] : end]

    @property
    def name(self) -> str:
        """The last part of its qualified name."""
        return self.qualname.rpartition(".")[2]


@dataclass(slots=True, eq=False)
class Class:
    """A class at module level, or inside another one there.

    Attributes:
        bases: as written.
        methods: by name.
        fields: annotations of names in its body, in order.
        values: what other names in its body are bound to.
        derived: classes of the program that name it as a base.
    """

    module: Module
    name: str
    bases: list[ast.expr] = field(default_factory=list)
    methods: dict[str, Function] = field(default_factory=dict)
    fields: dict[str, ast.expr] = field(default_factory=dict)
    values: dict[str, ast.expr] = field(default_factory=dict)
    dataclass: bool = False
    derived: list[Class] = field(default_factory=list)


class Module:
    """One file: its text, its tree, and what its names mean."""

    __slots__ = (
        "_starts",
        "body",
        "classes",
        "functions",
        "imports",
        "is_test",
        "name",
        "package",
        "path",
        "rebound",
        "stars",
        "text",
        "values",
    )  # fmt: skip

    def __init__(self, path: str, name: str, data: bytes, *, is_package: bool) -> None:
        """Parse and index a file.

        Raises:
            SourceError: if it can't be decoded or parsed.
        """
        self.path = path
        self.name = name
        self.package = name if is_package else name.rpartition(".")[0]
        self.imports: dict[str, str] = {}
        self.stars: list[str] = []
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, Class] = {}
        self.values: dict[str, tuple[ast.expr | None, ast.expr | None]] = {}
        self.rebound: dict[str, list[ast.expr]] = {}
        self._starts: list[int] | None = None
        tree, self.text = parse(data, path)
        self.is_test = _is_test(path, tree)
        self.body = tree.body
        self._index(tree.body, "", None)

    @property
    def starts(self) -> list[int]:
        """Where its lines begin, as the parser counts them."""
        if self._starts is None:
            self._starts = [0, *(match.end() for match in _NEWLINE.finditer(self.text))]
        return self._starts

    def line(self, number: int) -> str:
        """A line of the file, without its end."""
        starts = self.starts
        if number > len(starts):
            return ""
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")

    def all_functions(self) -> Iterator[Function]:
        """Functions and methods, in the order of the text within each class."""
        yield from self.functions.values()
        for cls in self.classes.values():
            yield from cls.methods.values()

    def _bind(self, name: str, value: ast.expr) -> None:
        """Note what a name is bound to, beside what it was bound to before (in another branch, perhaps)."""
        before = self.values.get(name)
        if before is not None and before[1] is not None:
            self.rebound.setdefault(name, []).append(before[1])
        self.values[name] = (None if before is None else before[0], value)

    def _index(self, body: list[ast.stmt], prefix: str, cls: Class | None) -> None:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                function = Function(self, prefix + node.name, node, cls, decorators(node))
                if cls is None:
                    self.functions[node.name] = function
                elif not {"setter", "deleter", "overload"} & set(function.decorators):
                    cls.methods[node.name] = function
            elif isinstance(node, ast.ClassDef):
                found = Class(self, prefix + node.name, node.bases)
                found.dataclass = any("dataclass" in ast.dump(item) for item in node.decorator_list)
                self.classes[found.name] = found
                self._index(node.body, f"{found.name}.", found)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for name, target in imported(node, self.package):
                    if name == "*":
                        self.stars.append(target)
                    else:
                        self.imports[name] = target
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                if cls is None:
                    self.values[node.target.id] = (node.annotation, node.value)
                else:
                    cls.fields[node.target.id] = node.annotation
            elif isinstance(node, ast.Assign):
                for bound in node.targets:
                    if isinstance(bound, ast.Name):
                        if cls is None:
                            self._bind(bound.id, node.value)
                        else:
                            cls.values[bound.id] = node.value
            elif isinstance(node, (ast.If, ast.Try, ast.With)):
                for block in ("body", "orelse", "finalbody"):
                    self._index(getattr(node, block, []), prefix, cls)
                for handler in getattr(node, "handlers", ()):
                    self._index(handler.body, prefix, cls)


def _is_test(path: str, tree: ast.Module) -> bool:
    name = path.rpartition("/")[2]
    if name.startswith(("test_", "conftest")) or "tests/" in path:
        return True
    # Programs that measure a model on a task are called so, too.
    named = (node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef)))
    return name.endswith("_test.py") and any(one.startswith(("test_", "Test")) for one in named)


def parse(data: bytes, path: str) -> tuple[ast.Module, str]:
    """Tree and text of a file; raises `SourceError` if it can't be decoded or parsed."""
    if not data.startswith(b"\xef\xbb\xbf") and not _CODING.search(data[:200]):
        try:
            text = data.decode()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(text), text
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # said properly below
    source = decode_source(data, path)
    return source.tree, source.text


def imported(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[tuple[str, str]]:
    """The names that an import binds, each with the dotted name that it stands for."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield (
                alias.asname or alias.name.partition(".")[0],
                (alias.name if alias.asname else alias.name.partition(".")[0]),
            )
        return
    base = node.module or ""
    if node.level:
        parts = package.split(".")
        kept = parts[: len(parts) - node.level + 1]
        base = ".".join([*kept, base] if base else kept)
    for alias in node.names:
        if alias.name == "*":
            yield "*", base
        else:
            yield alias.asname or alias.name, f"{base}.{alias.name}" if base else alias.name


def decorators(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    """Names of a function's decorators, of dotted ones the last part."""
    found = []
    for item in node.decorator_list:
        function = item.func if isinstance(item, ast.Call) else item
        found.append(function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", ""))
    return tuple(found)


__all__ = ["Class", "Function", "FunctionNode", "Module", "SourceError", "decorators", "imported", "parse"]
