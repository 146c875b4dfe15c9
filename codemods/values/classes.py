"""Classes of values that a project's text states: by annotations, calls, declared fields, and bindings."""

from __future__ import annotations

import ast
import re

from codemods.program.lifting import Analysis
from codemods.program.modules import Module, Project, bound_by
from codemods.program.nodes import called, first_of
from codemods.program.scopes import Binder, Scope
from codemods.program.source import expression_in
from codemods.program.words import words

_DEPTH = 8
_LITERALS = (bool, bytes, complex, float, int, str)
# Names that type variables go by.
_VARIABLE = re.compile(r"_?[A-Z][a-zA-Z]?(_co|_contra)?$|.*_(co|contra)$")
_BASES = ("abc.ABC", "torch.nn.Module", "torch.optim.Optimizer", "typing.NamedTuple", "typing.Protocol")
_DECORATORS = (
    "dataclasses.dataclass",
    "functools.total_ordering",
    "typing.final",
    "typing.runtime_checkable",
)

# Classes of other packages: none has type parameters, and calling one gives an object of it.
_CLASSES = words("""
    argparse.ArgumentParser argparse.Namespace configparser.ConfigParser datetime.date datetime.datetime
    datetime.timedelta decimal.Decimal fractions.Fraction io.BytesIO io.StringIO logging.Formatter
    pathlib.Path pathlib.PurePath pathlib.PurePosixPath random.Random string.Template threading.Barrier
    threading.Condition threading.Event threading.Thread uuid.UUID
    torch.Generator torch.device torch.amp.GradScaler torch.cuda.Event torch.cuda.Stream
    torch.cuda.amp.GradScaler
    torch.nn.AdaptiveAvgPool2d torch.nn.BCELoss torch.nn.BCEWithLogitsLoss torch.nn.BatchNorm1d
    torch.nn.BatchNorm2d torch.nn.Conv1d torch.nn.Conv2d torch.nn.CrossEntropyLoss torch.nn.Dropout
    torch.nn.Embedding torch.nn.GRU torch.nn.GELU torch.nn.KLDivLoss torch.nn.L1Loss torch.nn.LSTM
    torch.nn.LayerNorm torch.nn.Linear torch.nn.MSELoss torch.nn.MaxPool2d torch.nn.ModuleDict
    torch.nn.ModuleList torch.nn.MultiheadAttention torch.nn.NLLLoss torch.nn.ReLU torch.nn.Sequential
    torch.nn.SmoothL1Loss torch.nn.Tanh torch.nn.TransformerEncoder torch.nn.TransformerEncoderLayer
    torch.nn.parallel.DataParallel torch.nn.parallel.DistributedDataParallel
    torch.optim.ASGD torch.optim.Adadelta torch.optim.Adagrad torch.optim.Adam torch.optim.AdamW
    torch.optim.Adamax torch.optim.LBFGS torch.optim.NAdam torch.optim.RAdam torch.optim.RMSprop
    torch.optim.Rprop torch.optim.SGD torch.optim.lr_scheduler.CosineAnnealingLR
    torch.optim.lr_scheduler.ExponentialLR torch.optim.lr_scheduler.LambdaLR
    torch.optim.lr_scheduler.MultiStepLR torch.optim.lr_scheduler.OneCycleLR
    torch.optim.lr_scheduler.ReduceLROnPlateau torch.optim.lr_scheduler.StepLR
    torch.utils.tensorboard.SummaryWriter
""")
_CLASSES |= {
    f"builtins.{name}" for name in ("bool", "bytes", "complex", "float", "int", "object", "range", "str")
}

# What annotations say that is no type of a value, or means something else elsewhere.
_NO_TYPES = words("""
    Annotated Any ClassVar Concatenate Final InitVar LiteralString Never NoReturn NotRequired ParamSpec
    ReadOnly Required Self TypeAlias TypeGuard TypeIs TypeVar TypeVarTuple Unpack
""")

Classes = frozenset[str]
"""The dotted paths of the classes of which a value may be; of None it is ``None``."""
NONE = "None"


class Stated:
    """Reads what is stated, following imports."""

    def __init__(self, project: Project) -> None:
        self.project = project

    def annotation(self, node: ast.expr | None, module: Module) -> Classes | None:
        """The class that an annotation at the top level of a module names."""
        path = None if node is None else module.path(node)
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
            return frozenset([settled]) if settled in _CLASSES else None
        match found.node, found.members:
            case ast.ClassDef() as node, ():
                return frozenset([found.path]) if self._plain(found.module, node) else None
            case ast.FunctionDef(decorator_list=[], returns=returns), ():
                return self.annotation(returns, found.module)
        return None

    def _plain(self, module: Module, node: ast.ClassDef, depth: int = 0) -> bool:
        """Tell whether a class has no type parameters, and its calls give its objects."""
        if node.keywords or getattr(node, "type_params", None) or depth > _DEPTH:
            return False
        if not all(module.path(called(decorator)) in _DECORATORS for decorator in node.decorator_list):
            return False
        own = {s.name for s in node.body if isinstance(s, ast.FunctionDef)}
        plain = own.isdisjoint(("__new__", "__class_getitem__"))
        return plain and all(self._plain_base(module, base, depth) for base in node.bases)

    def _plain_base(self, module: Module, base: ast.expr, depth: int) -> bool:
        path = module.path(base)
        found = self.project.follow(path) if path is not None else None
        if found is not None:
            made = found.node if isinstance(found.node, ast.ClassDef) and not found.members else None
            return made is not None and self._plain(found.module, made, depth + 1)
        settled = self.project.settled(path or "")
        return settled in _CLASSES or settled in _BASES

    def field(self, path: str, name: str) -> Classes | None:
        """The classes of a field that a class declares."""
        found = self.project.follow(path)
        if found is not None and isinstance(found.node, ast.ClassDef):
            match [statement for statement in found.node.body if name in bound_by(statement)]:
                case [ast.AnnAssign(annotation=annotation)]:
                    return self.annotation(annotation, found.module)
        return None


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
        found = declared[0]
        if isinstance(found, ast.Constant) and isinstance(found.value, str):
            found = expression_in(found.value.strip()) or found
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
