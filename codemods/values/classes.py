"""Classes of values that a project's text states: by annotations, calls, declared fields, and bindings."""

from __future__ import annotations

import ast
import re

from codemods.program.annotations import unquoted
from codemods.program.lifting import Analysis
from codemods.program.modules import Module, Project, bound_by
from codemods.program.nodes import first_of
from codemods.program.scopes import Binder, Scope
from codemods.program.source import words

_DEPTH = 8
_LITERALS = (bool, bytes, complex, float, int, str)
# Names that type variables go by.
_VARIABLE = re.compile(r"_?[A-Z][a-zA-Z]?(_co|_contra)?$|.*_(co|contra)$")
# Classes of other packages, besides those of torch with a capital: none has type parameters, and calling one
# gives an object of it.
_CLASSES = words("""
    argparse.ArgumentParser argparse.Namespace builtins.bool builtins.bytes builtins.complex builtins.float
    builtins.int builtins.object builtins.range builtins.str configparser.ConfigParser datetime.date
    datetime.datetime datetime.timedelta decimal.Decimal fractions.Fraction io.BytesIO io.StringIO
    logging.Formatter pathlib.Path pathlib.PurePath pathlib.PurePosixPath random.Random string.Template
    threading.Barrier threading.Condition threading.Event threading.Thread torch.device uuid.UUID
""")
_GENERIC = words("ConcatDataset DataLoader Dataset DistributedSampler Future IterableDataset Sampler Subset")

# What annotations say that is no type of a value, or means something else elsewhere.
_NO_TYPES = words("""
    Annotated Any ClassVar Concatenate Final InitVar LiteralString Never NoReturn NotRequired ParamSpec
    ReadOnly Required Self TypeAlias TypeGuard TypeIs TypeVar TypeVarTuple Unpack
""")

Classes = frozenset[str]
"""The dotted paths of the classes of which a value may be; of None it is ``None``."""
NONE = "None"


def _is_of_torch(path: str) -> bool:
    """Tell whether torch has a class of a path, as names with a capital are, that has no type parameters."""
    top, _, name = path.rpartition(".")
    return top.partition(".")[0] == "torch" and name[:1].isupper() and name not in _GENERIC


class Stated:
    """Reads what is stated, following imports."""

    def __init__(self, project: Project) -> None:
        self.project = project

    def annotation(self, node: ast.expr | None, module: Module) -> Classes | None:
        """The class that an annotation at the top level of a module names."""
        path = None if node is None else module.path(unquoted(node))
        name = "" if path is None else path.rpartition(".")[2]
        if path is None or name in _NO_TYPES:
            return None
        found = self.project.follow(path)
        if found is None:
            return None if _VARIABLE.match(name) else frozenset([self.project.settled(path)])
        plain = isinstance(found.node, ast.ClassDef) and not found.members
        return frozenset([found.path]) if plain else None

    def result(self, path: str) -> Classes | None:
        """The classes of what a call of a class gives, or of a function that says what it returns."""
        found = self.project.follow(path)
        if found is None:
            settled = self.project.settled(path)
            if settled == "builtins.len":
                return frozenset(["builtins.int"])
            return frozenset([settled]) if settled in _CLASSES or _is_of_torch(settled) else None
        match found.node, found.members:
            case ast.ClassDef(keywords=[]), ():
                return frozenset([found.path])
            case ast.FunctionDef(decorator_list=[], returns=returns), ():
                return self.annotation(returns, found.module)
            case ast.ClassDef(), (name,):
                match _member(found.node, name):
                    case ast.FunctionDef(decorator_list=[ast.Name("classmethod")], returns=returns):
                        return self.annotation(returns, found.module)
        return None

    def field(self, path: str, name: str) -> Classes | None:
        """The classes of a field that a class declares."""
        found = self.project.follow(path)
        if found is not None and isinstance(found.node, ast.ClassDef):
            match _member(found.node, name):
                case ast.AnnAssign(annotation=annotation):
                    return self.annotation(annotation, found.module)
        return None


def _member(node: ast.ClassDef, name: str) -> ast.stmt | None:
    """The one statement of a class that binds a name."""
    found = [statement for statement in node.body if name in bound_by(statement)]
    return found[0] if len(found) == 1 else None


class Variables:
    """Annotations that declare variables, and classes of what is assigned to the others."""

    def __init__(self, analysis: Analysis, stated: Stated) -> None:
        self.tree = analysis.tree
        self.stated = stated
        self._found: dict[tuple[Scope, str], Classes | None] = {}

    def declaration(self, name: str, owner: Scope) -> ast.expr | None:
        """The one annotation that declares a variable in names of the module; none of star arguments."""
        declared = [node for b in self._binders(name, owner) if (node := _annotation_of(b.node)) is not None]
        arguments = getattr(owner.node, "args", None)
        starred = arguments and (arguments.vararg, arguments.kwarg)
        if len(declared) != 1 or (starred and any(b.node in starred for b in self._binders(name, owner))):
            return None
        found = unquoted(declared[0])
        names = [part.id for part in ast.walk(found) if isinstance(part, ast.Name)]
        outer = all(self.tree.owner(owner, each) is self.tree.module for each in names)
        return found if outer else None

    def of(self, name: str, owner: Scope) -> Classes | None:
        """The classes of a variable: what it is declared to be, or one class, or that and None."""
        key = owner, name
        if key not in self._found:
            self._found[key] = None
            self._found[key] = self._of(name, owner)
        return self._found[key]

    def _of(self, name: str, owner: Scope) -> Classes | None:
        binders = self._binders(name, owner)
        if any(_annotation_of(binder.node) is not None for binder in binders):
            return self.stated.annotation(self.declaration(name, owner), self.stated.project.own)
        given = [self._given(binder) for binder in binders]
        known = [classes for classes in given if classes is not None]
        found = frozenset[str]().union(*known)
        return found if len(known) == len(given) and len(found - {NONE}) == 1 else None

    def _binders(self, name: str, owner: Scope) -> list[Binder]:
        return [binder for binder in self.tree.binders.get((owner, name), []) if not binder.deletes]

    def _given(self, binder: Binder) -> Classes | None:
        """The classes of what a binding gives a variable."""
        match self.tree.parents.get(binder.node):
            case ast.Assign(targets, value) if binder.node in targets:
                return self.value(value, binder.scope)
            case ast.AugAssign(op=ast.Add() | ast.Sub(), value=ast.Constant(value=int() | float()) as value):
                return self.value(value, binder.scope)
        return None

    def value(self, node: ast.expr, scope: Scope, depth: int = 0) -> Classes | None:
        """The classes of a literal, a call of a class, a variable, a declared field.

        Of a variable or field that may be one of several it is not said: what is read may have been tested.
        """
        found: Classes | None = None
        match node:
            case ast.Constant(value=None):
                return frozenset([NONE])
            case ast.Constant(value=value) | ast.UnaryOp(ast.USub(), ast.Constant(value=value)):
                kind = type(value)
                return frozenset([f"builtins.{kind.__name__}"]) if kind in _LITERALS else None
            case ast.JoinedStr():
                return frozenset(["builtins.str"])
            case ast.UnaryOp(ast.Not()) | ast.Compare(ops=[ast.Is() | ast.IsNot()]):
                return frozenset(["builtins.bool"])
            case ast.Call(func=function):
                path = self._path(function, scope)
                return None if path is None else self.stated.result(path)
            case ast.Name(id=name):
                found = self.of(name, self.tree.owner(scope, name))
            case ast.Attribute(value=taken, attr=name) if depth < _DEPTH:
                owners = self.value(taken, scope, depth + 1) or ()
                found = next((self.stated.field(owner, name) for owner in owners), None)
        return found if found is not None and len(found) == 1 and NONE not in found else None

    def _path(self, node: ast.expr, scope: Scope) -> str | None:
        """The dotted path of an expression whose first name is the module's."""
        first = first_of(node)
        if not isinstance(first, ast.Name) or self.tree.owner(scope, first.id) is not self.tree.module:
            return None
        return self.stated.project.own.path(node)


def _annotation_of(node: ast.AST) -> ast.expr | None:
    return node.annotation if isinstance(node, (ast.arg, ast.AnnAssign)) else None
