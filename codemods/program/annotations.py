"""What annotations read; what their names stand for, as far as the text, the standard library and a list of
stable names tell; and whether an annotation made of them surely evaluates.
"""

from __future__ import annotations

import ast
import builtins
import collections.abc
import typing
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from codemods.program.nodes import all_arguments, called, first_of, walk
from codemods.program.repository import folder_package
from codemods.program.scopes import Scope, ScopeTree, dotted
from codemods.program.source import expression_in
from codemods.program.words import words

_GENERICS = frozenset(["dict", "frozenset", "list", "set", "tuple", "type"])
# Functions of `typing` whose arguments type checkers read as types: at which places, and by which names.
_TYPED = {
    "TypeVar": (slice(1, None), {"bound", "default"}),
    "NewType": (slice(1, 2), {"tp"}),
    "assert_type": (slice(1, 2), {"typ"}),
    "cast": (slice(1), {"typ"}),
}


@dataclass(frozen=True, slots=True)
class Reads:
    """What evaluating expressions reads: globals, and dotted paths where imports tell them.

    Each is told apart by whether its value matters, or only that there is one. ``chains`` are attributes as
    they are written; ``unknown`` those of which no import tells what they are taken from.
    """

    names: dict[str, bool] = field(default_factory=dict)
    chains: dict[str, bool] = field(default_factory=dict)
    paths: dict[str, bool] = field(default_factory=dict)
    unknown: list[ast.Attribute] = field(default_factory=list)

    def add(self, tree: ScopeTree, scope: Scope, node: ast.expr, value: bool = False) -> None:
        """Add what an expression reads; ``value``: something is done with its value."""
        match node:
            case ast.Name(id=name):
                self.names[name] = self.names.get(name, False) or value
                if tree.is_builtin(scope, name):
                    self._path(f"builtins.{name}", value)
            case ast.Attribute(value=taken):
                path = dotted(tree, scope, node)
                if path is None:
                    self.unknown.append(node)
                else:
                    self._path(path, value)
                    self.chains[ast.unparse(node)] = value
                self.add(tree, scope, taken, True)
            case ast.Subscript(value=taken, slice=given):
                self.add(tree, scope, taken, True)
                generic = isinstance(taken, ast.Name) and taken.id in _GENERICS
                self.add(tree, scope, given, not (generic and tree.is_builtin(scope, ast.unparse(taken))))
            case ast.Tuple() | ast.List():
                for element in node.elts:
                    self.add(tree, scope, element, value)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.add(tree, scope, child, True)

    def _path(self, path: str, value: bool) -> None:
        self.paths[path] = self.paths.get(path, False) or value


def stated_by(node: ast.AST) -> list[ast.expr]:
    """The annotations of a function's parameters and result, or of an assignment; none of other nodes."""
    found: list[ast.expr | None] = []
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        found = [*(argument.annotation for argument in all_arguments(node.args)), node.returns]
    elif isinstance(node, ast.AnnAssign):
        found = [node.annotation]
    return [annotation for annotation in found if annotation is not None]


def annotations_in(tree: ast.AST) -> list[ast.expr]:
    """All annotations in a tree."""
    return [annotation for node in walk(tree) for annotation in stated_by(node)]


def quoted_in(tree: ScopeTree, part: ast.AST) -> set[str]:
    """Names that type checkers and linters read in texts of a part of a file: in annotations, and in types
    that calls such as ``cast("T", x)`` are given.
    """
    found = annotations_in(part)
    for call in walk(part):
        if isinstance(call, ast.Call) and (path := dotted(tree, tree.module, call.func)) is not None:
            module, _, name = path.rpartition(".")
            if module not in ("typing", "typing_extensions") or name not in _TYPED:
                continue
            if dotted(tree, tree.scope_of(call), call.func) == path:
                places, names = _TYPED[name]
                found += [*call.args[places], *(k.value for k in call.keywords if k.arg in names)]
    return quoted_names(found)


def plain_names(annotation: ast.expr) -> list[str] | None:
    """The names that an annotation reads; None if a text in it may read others."""
    parts = list(ast.walk(annotation))
    if any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts):
        return None
    return [part.id for part in parts if isinstance(part, ast.Name)]


def cannot_fail(annotation: ast.expr) -> bool:
    """Whether evaluating an annotation that a rewrite adds does nothing: a text, or a builtin class."""
    match annotation:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name in ("bool", "bytes", "float", "int", "str")
    return False


def annotation_names(annotations: Iterable[ast.expr]) -> set[str]:
    """Names that annotations refer to, also from inside string annotations."""
    found: set[str] = set()
    for annotation in annotations:
        for part in ast.walk(annotation):
            if isinstance(part, ast.Name):
                found.add(part.id)
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                inner = expression_in(part.value.strip())
                if inner is not None:
                    found.update(name.id for name in ast.walk(inner) if isinstance(name, ast.Name))
    return found


def quoted_names(annotations: Iterable[ast.expr]) -> set[str]:
    """Names that type checkers and linters read in texts of annotations: not in those of a `Literal`."""
    waiting, found = list[ast.AST](annotations), set[str]()
    while waiting:
        match waiting.pop():
            case ast.Subscript(value=ast.Name(id="Literal") | ast.Attribute(attr="Literal")):
                continue
            case ast.Constant(value=str()) as text:
                found |= annotation_names([text])
            case node:
                waiting += ast.iter_child_nodes(node)
    return found


# Classes that an import of their first part alone makes available, in every release that counts.
KNOWN_CLASSES = words("""
    abc.ABC argparse.ArgumentParser argparse.Namespace array.array asyncio.AbstractEventLoop asyncio.Event
    asyncio.Future asyncio.Lock asyncio.Queue asyncio.Semaphore asyncio.Task collections.ChainMap
    collections.Counter collections.OrderedDict collections.defaultdict collections.deque
    concurrent.futures.Future configparser.ConfigParser contextlib.AbstractContextManager
    contextlib.ExitStack contextvars.ContextVar datetime.date datetime.datetime datetime.time
    datetime.timedelta datetime.timezone decimal.Decimal email.message.Message enum.Enum enum.Flag
    enum.IntEnum enum.IntFlag fractions.Fraction functools.partial io.BytesIO io.StringIO io.TextIOWrapper
    ipaddress.IPv4Address json.JSONDecoder json.JSONEncoder logging.Formatter logging.Handler logging.Logger
    logging.LogRecord numbers.Number os.PathLike pathlib.Path pathlib.PurePath pathlib.PurePosixPath
    queue.Queue random.Random re.Match re.Pattern socket.socket sqlite3.Connection sqlite3.Cursor
    string.Template subprocess.CompletedProcess subprocess.Popen threading.Condition threading.Event
    threading.Thread types.CodeType types.FrameType types.FunctionType types.MethodType types.ModuleType
    types.SimpleNamespace types.TracebackType uuid.UUID zipfile.ZipFile
    numpy.bool_ numpy.dtype numpy.float16 numpy.float32 numpy.float64 numpy.floating numpy.generic
    numpy.int16 numpy.int32 numpy.int64 numpy.int8 numpy.integer numpy.ndarray numpy.number
    numpy.random.Generator numpy.random.RandomState numpy.uint16 numpy.uint32 numpy.uint64 numpy.uint8
    torch.BFloat16Tensor torch.BoolTensor torch.ByteTensor torch.CharTensor torch.DoubleTensor
    torch.FloatTensor torch.Generator torch.HalfTensor torch.IntTensor torch.LongTensor torch.ShortTensor
    torch.Size torch.SymBool torch.SymFloat torch.SymInt torch.Tensor torch.cuda.Event torch.cuda.Stream
    torch.device torch.distributions.Categorical torch.distributions.Distribution torch.distributions.Normal
    torch.dtype torch.fx.Graph torch.fx.GraphModule torch.fx.Node torch.layout torch.memory_format
    torch.nn.Conv2d torch.nn.Dropout torch.nn.Embedding torch.nn.Identity torch.nn.LayerNorm torch.nn.Linear
    torch.nn.Module torch.nn.ModuleDict torch.nn.ModuleList torch.nn.Parameter torch.nn.ParameterList
    torch.nn.Sequential torch.optim.Adam torch.optim.AdamW torch.optim.Optimizer torch.optim.SGD
    torch.optim.lr_scheduler.LRScheduler torch.utils.data.DataLoader torch.utils.data.Dataset
    torch.utils.data.IterableDataset torch.utils.data.Sampler torch.utils.data.TensorDataset
""")
_TYPING = {"typing": typing, "collections.abc": collections.abc, "typing_extensions": typing}


class NotEvaluated(Exception):
    """An annotation of which nobody can say that it evaluates."""


class _Plain:
    """Stands for an ordinary class."""


class _Aloof(type):
    def __or__(cls, other: object) -> NoReturn:
        raise NotEvaluated

    def __ror__(cls, other: object) -> NoReturn:
        raise NotEvaluated


class _Strange(metaclass=_Aloof):
    """Stands for a class of whose metaclass nothing is known."""


# What an unknown value may be at worst: each of them breaks another use.
_WORST = (5, (), (0,), "not an expression", typing.ClassVar)


class Meanings:
    """Evaluates annotations with stand-ins for what the program's names mean.

    ``ready`` tells whether a global is bound where the annotation is to be evaluated, ``evaluated`` holds
    dumps of expressions that were surely evaluated before.
    """

    def __init__(
        self, tree: ScopeTree, scope: Scope, ready: Callable[[str], bool], evaluated: Collection[str]
    ) -> None:
        self.tree = tree
        self.scope = scope
        self.ready = ready
        self.evaluated = evaluated

    def surely_evaluates(self, annotation: ast.expr) -> bool:
        """Whether evaluating it can't fail, whatever the unknown values in it are."""
        try:
            for worst in _WORST:
                self._value(annotation, worst, 0)
        except Exception:
            # Whatever typing says to one of the stand-ins.
            return False
        return True

    def _value(self, node: ast.expr, worst: object, depth: int) -> object:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._name(node, worst, depth)
            case ast.Attribute():
                return self._attribute(node, worst, depth)
            case ast.Tuple():
                return tuple(self._value(element, worst, depth) for element in node.elts)
            case ast.List():
                return [self._value(element, worst, depth) for element in node.elts]
            case ast.UnaryOp(ast.USub(), ast.Constant(int() as number)):
                return -number
            case ast.BinOp(left, ast.BitOr(), right):
                return self._value(left, worst, depth) | self._value(right, worst, depth)  # type: ignore[operator]
            case ast.Subscript():
                taken = self._value(node.value, worst, depth)
                return taken[self._value(node.slice, worst, depth)]  # type: ignore[index]
        raise NotEvaluated

    def _name(self, node: ast.Name, worst: object, depth: int) -> object:
        if self.tree.is_builtin(self.scope, node.id):
            return getattr(builtins, node.id)
        if self.tree.owner(self.scope, node.id) is not self.tree.module or not self.ready(node.id):
            raise NotEvaluated
        path = dotted(self.tree, self.scope, node)
        if path is not None:
            module, _, name = path.rpartition(".")
            return getattr(_TYPING.get(module), name, _Plain if self._known(path) else worst)
        return self._own(node.id, worst, depth)

    def _attribute(self, node: ast.Attribute, worst: object, depth: int) -> object:
        path = dotted(self.tree, self.scope, node)
        first = first_of(node)
        if isinstance(first, ast.Name) and path is not None:
            self._name(first, worst, depth)
            module, _, name = path.rpartition(".")
            if module in _TYPING and module != "typing_extensions":
                return getattr(_TYPING[module], name)
            # A package alone need not have its submodules; these two do.
            direct = node.value is first or path.startswith(("numpy.", "torch."))
            if direct and self._known(path):
                return _Plain
        binders = self.tree.binders.get((self.tree.module, getattr(first, "id", "")), [])
        is_module = bool(binders) and all(isinstance(binder.node, ast.Import) for binder in binders)
        if is_module and ast.dump(node) in self.evaluated:
            # Nothing runs when it is taken from a module once more.
            return worst
        raise NotEvaluated

    def _own(self, name: str, worst: object, depth: int) -> object:
        """What a global that the file binds itself, once and at its top level, is."""
        binders = self.tree.binders.get((self.tree.module, name), [])
        node = binders[0].node
        if len(binders) != 1 or depth > 5:
            return worst
        if isinstance(node, ast.ClassDef):
            return _Plain if self.plain(node, depth) else worst if node.decorator_list else _Strange
        value = self.tree.values(self.tree.module, name)[0]
        if value is None:
            return worst
        if isinstance(value, ast.Call):
            made = dotted(self.tree, self.tree.module, value.func)
            bare = len(value.args) == 1 and not value.keywords
            if bare and made in ("typing.TypeVar", "typing_extensions.TypeVar"):
                return typing.TypeVar("T")
            if bare and made in ("typing.ParamSpec", "typing_extensions.ParamSpec"):
                return typing.ParamSpec("P")
            return worst
        try:
            found = self._value(value, worst, depth + 1)
        except Exception:
            # Evaluated when the file was loaded, to something that is not known.
            return worst
        # What a list holds may be replaced.
        return worst if isinstance(found, list) else found

    def plain(self, node: ast.ClassDef, depth: int = 0) -> bool:
        """Whether a class is made by ``type`` of bases that are, and is what its name means."""
        if node.keywords or depth > 5:
            return False
        for decorator in node.decorator_list:
            if dotted(self.tree, self.tree.module, called(decorator)) != "dataclasses.dataclass":
                return False
        for base in node.bases:
            base = base.value if isinstance(base, ast.Subscript) else base
            path = dotted(self.tree, self.tree.module, base) or ""
            if path.startswith(("builtins.", "typing.")) or self._known(path):
                continue
            binders = self.tree.binders.get((self.tree.module, getattr(base, "id", "")), [])
            if len(binders) != 1 or not isinstance(inner := binders[0].node, ast.ClassDef):
                return False
            if not self.plain(inner, depth + 1):
                return False
        return True

    def _known(self, path: str) -> bool:
        """Whether a path is of a known class, seen from outside the package that makes it."""
        return path in KNOWN_CLASSES and path.partition(".")[0] != own_package(self.tree)


def own_package(tree: ScopeTree) -> str:
    """The outermost package that a file lies in; empty if it lies in none."""
    path = Path(tree.source.path)
    return tree.once("package around", lambda: folder_package(path.absolute()).partition(".")[0])
