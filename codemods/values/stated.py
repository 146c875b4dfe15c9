"""Classes of values that a project's text states: annotations, calls of classes, declared fields."""

from __future__ import annotations

import ast
import builtins
import re

from codemods.program.modules import Module, Project, bound_by
from codemods.program.nodes import called
from codemods.program.source import expression_in
from codemods.program.words import words

_DEPTH = 8
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
        """The classes that an annotation at the top level of a module names, itself or in a union."""
        match node:
            case ast.Constant(value=None):
                return frozenset([NONE])
            case ast.Constant(value=str() as text):
                inner = expression_in(text.strip())
                return None if isinstance(inner, ast.Constant) else self.annotation(inner, module)
            case ast.Name() | ast.Attribute():
                path = self._class(node, module)
                return None if path is None else frozenset([path])
            case ast.BinOp(left, ast.BitOr(), right):
                found = [self.annotation(part, module) for part in (left, right)]
                return None if None in found else frozenset().union(*filter(None, found))
        return None

    def _class(self, node: ast.expr, module: Module) -> str | None:
        path = module.path(node)
        name = "" if path is None else path.rpartition(".")[2]
        if path is None or name in _NO_TYPES:
            return None
        found = self.project.follow(path)
        if found is None:
            return None if _VARIABLE.match(name) else self.project.settled(path)
        return found.path if isinstance(found.node, ast.ClassDef) and not found.members else None

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
        kind = getattr(builtins, settled.removeprefix("builtins."), None)
        exception = isinstance(kind, type) and issubclass(kind, BaseException)
        return exception or settled in _CLASSES or settled in _BASES

    def field(self, path: str, name: str) -> Classes | None:
        """The classes of a field that a class, or one that it is derived from, declares."""
        for _ in range(_DEPTH):
            found = self.project.follow(path)
            if found is None or not isinstance(found.node, ast.ClassDef):
                return None
            members = [statement for statement in found.node.body if name in bound_by(statement)]
            match members:
                case [ast.AnnAssign(annotation=annotation)]:
                    return self.annotation(annotation, found.module)
                case [_, *_]:
                    return None
            base = found.node.bases[0] if len(found.node.bases) == 1 else None
            above = found.module.path(base) if base is not None else None
            if above is None:
                return None
            path = above
        return None
