"""What loading a module does, in order: what runs of the project's files, which modules outside are loaded.

The standard library loads without anything being told of it, but for a few modules. A project's file is
followed into the files that it imports; of another distribution nothing is known but its name.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codemods.program.globals import is_type_checking
from codemods.program.imports import with_packages
from codemods.program.makers import QUIET, calls_back, is_plain, makes
from codemods.program.nodes import all_defaults, called, first_of, is_accessor, root_of, walk
from codemods.program.origins import imported
from codemods.program.repository import module_files, package_of
from codemods.program.source import SourceError, all_blocks, shared_tree
from codemods.program.words import words

_HOOKS = {"__init__", "__new__", "__post_init__", "_missing_"}
_CONTAINERS = ("dict", "frozenset", "list", "set", "sorted", "tuple")
_HARMLESS = words("""
    logging.getLogger torch.compiler.disable torch.enable_grad torch.inference_mode torch.no_grad
""")
# What makes classes whose objects only keep what is given.
_RECORDS = words("dataclasses.dataclass typing.NamedTuple enum.Enum enum.IntEnum enum.StrEnum")
_LITERALS = (ast.Constant, ast.Dict, ast.DictComp, ast.List, ast.ListComp, ast.Set, ast.SetComp, ast.Tuple)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Loads:
    """A module that a statement loads, and names that it takes from it; ``maybe``, if it only may run."""

    line: int
    module: str
    names: tuple[str, ...] = ()
    maybe: bool = False


@dataclass(frozen=True, slots=True)
class Acts:
    """A statement that does something besides binding names."""

    line: int
    label: str


@dataclass(frozen=True, slots=True)
class Names:
    """Names of other modules, dotted, that a statement reads or sets while its own module is loaded."""

    line: int
    read: tuple[str, ...]
    set: tuple[str, ...]


Step = Loads | Acts | Names


class Text:
    """A file of a package as loading sees it, its statements read in order.

    Attributes:
        steps: what it does.
        bound: the names that it binds.
        literals: those of them that are texts or containers which it writes down.
        plain: those that are classes of which a base may be made without more being done.
        origins: where those come from that it imports.
    """

    def __init__(self, package: str, is_known: Callable[[str, str], bool], *, names: bool) -> None:
        """``is_known`` tells whether a name of another module is one of its literals, or plain classes; with
        ``names``, what is read and set of other modules is a step.
        """
        self.package = package
        self.is_known = is_known
        self.names = names
        self.steps: list[Step] = []
        self.bound: set[str] = set()
        self.literals: set[str] = set()
        self.plain: set[str] = set()
        self.origins: dict[str, str] = {}
        self.classes: dict[str, ast.ClassDef] = {}

    def read(self, tree: ast.Module) -> Text:
        """Read a whole file."""
        self.block(tree.body, maybe=False)
        self.plain = {name for name in self.classes if self.plain_base(ast.Name(name, ast.Load()))}
        return self

    def block(self, body: Sequence[ast.stmt], *, maybe: bool) -> None:
        for statement in body:
            self._statement(statement, maybe)

    def _statement(self, statement: ast.stmt, maybe: bool) -> None:
        if self.names:
            self._names(statement)
        match statement:
            case ast.Import() | ast.ImportFrom():
                self._import(statement, maybe)
            case ast.If() if is_type_checking(statement.test):
                self.block(statement.orelse, maybe=maybe)
            case ast.If() | ast.For() | ast.While() | ast.With() | ast.Try() | ast.TryStar() | ast.Match():
                self._compound(statement)
            case ast.ClassDef():
                self._class(statement, maybe)
            case _ if not self._is_quiet(statement):
                self.steps.append(Acts(statement.lineno, label_of(statement)))
        if isinstance(statement, (*_DEFINITIONS, ast.ClassDef)):
            self.bound.add(statement.name)
            self.origins.pop(statement.name, None)
        elif not isinstance(statement, (ast.Import, ast.ImportFrom)):
            for node in walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    self.bound.add(node.id)
                    self.origins.pop(node.id, None)
                    self.literals.discard(node.id)
            self._literal(statement)

    def _names(self, statement: ast.stmt) -> None:
        """Note the names of other modules that it reads or sets."""
        if isinstance(statement, ast.ImportFrom):
            if statement.module != "__future__":
                taken = tuple(each.path for each in imported(statement, self.package))
                self.steps.append(Names(statement.lineno, taken, ()))
            return
        found: dict[bool, list[str]] = {True: [], False: []}
        for node in _run_at_once(statement):
            if isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Name, ast.Attribute)):
                root = root_of(node)
                if isinstance(root, ast.Name) and root.id in self.origins:
                    found[isinstance(node.ctx, ast.Load)].append(self._origin(node))
        if any(found.values()):
            self.steps.append(Names(statement.lineno, tuple(found[True]), tuple(found[False])))

    def _literal(self, statement: ast.stmt) -> None:
        """Remember names of containers and texts that are written down, whose methods do nothing else."""
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                match value:
                    case ast.Call(func=ast.Name(id=maker)):
                        written = maker in _CONTAINERS and maker not in self.bound
                    case _:
                        written = isinstance(value, _LITERALS)
                if written:
                    self.literals.add(name)

    def _compound(self, statement: ast.stmt) -> None:
        """One whose blocks may run, or not, or often: what it does besides counts as one."""
        for name in ("test", "iter", "items", "subject"):
            asked = getattr(statement, name, None)
            for part in asked if isinstance(asked, list) else [asked]:
                if isinstance(part, ast.AST) and not self._quiet(part):
                    self.steps.append(Acts(statement.lineno, label_of(statement)))
        for block in all_blocks(statement):
            self.block(block, maybe=True)

    def _import(self, node: ast.Import | ast.ImportFrom, maybe: bool) -> None:
        made = imported(node, self.package)
        if isinstance(node, ast.Import):
            self.steps += [Loads(node.lineno, each.module, maybe=maybe) for each in made]
        elif made[0].module == "__future__":
            return
        else:
            names = tuple(alias.name for alias in node.names if alias.name != "*")
            self.steps.append(Loads(node.lineno, made[0].module, names, maybe))
        self.origins |= {each.bound: each.path for each in made}
        self.bound.update(each.bound for each in made)

    def _class(self, node: ast.ClassDef, maybe: bool) -> None:
        self.classes[node.name] = node
        kept = [self._decorator(decorator) for decorator in node.decorator_list]
        kept += [self.plain_base(base) for base in node.bases]
        kept += [keyword.arg == "metaclass" and self.plain_base(keyword.value) for keyword in node.keywords]
        for inner in node.body:
            if isinstance(inner, (ast.Import, ast.ImportFrom)):
                self._import(inner, maybe)
            elif isinstance(inner, ast.ClassDef):
                self._class(inner, maybe)
            else:
                kept.append(self._is_quiet(inner))
        if not all(kept):
            self.steps.append(Acts(node.lineno, label_of(node)))

    def _is_quiet(self, statement: ast.stmt) -> bool:
        """Whether a plain statement only binds what is the same whenever it is worked out."""
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                defaults = all(map(self._quiet, all_defaults(statement.args)))
                return defaults and all(map(self._decorator, statement.decorator_list))
            case ast.Assign(targets=targets, value=value):
                return all(isinstance(t, (ast.Name, ast.Tuple)) for t in targets) and self._quiet(value)
            case ast.AnnAssign(target=target, value=value):
                return isinstance(target, ast.Name) and (value is None or self._quiet(value))
            case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Global():
                return True
        return type(statement).__name__ == "TypeAlias"

    def _decorator(self, node: ast.expr) -> bool:
        """Whether what a decorator is called with is all that matters of it."""
        if is_accessor(node):
            return isinstance(node.value, ast.Name)
        return self._maker(called(node)) and self._quiet(node)

    def _quiet(self, value: ast.AST) -> bool:
        for node in ast.walk(value):
            if isinstance(node, ast.Call):
                if not self._maker(node.func) or calls_back(self._origin(node.func), node):
                    return False
            elif isinstance(node, (ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom)):
                return False
        return True

    def _maker(self, node: ast.expr) -> bool:
        """Whether calling something makes a value of its arguments and does nothing else."""
        root = root_of(node)
        if isinstance(root, ast.Constant):
            return True
        if not isinstance(root, ast.Name):
            return False
        whole = self._origin(node)
        if root.id in self.origins:
            if makes(whole) or whole in _HARMLESS:
                return True
            origin = self.origins[root.id]
            return isinstance(node, ast.Attribute) and node.value is root and self.is_known(origin, "literal")
        if root.id in self.literals and isinstance(node, ast.Attribute):
            return True
        if root is node and root.id in self.classes:
            return self._record(self.classes[root.id])
        return root.id not in self.bound and makes(whole)

    def _origin(self, node: ast.expr) -> str:
        """The dotted name of what is called; empty for anything else."""
        parts: list[str] = []
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            if isinstance(node, ast.Attribute):
                parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self.origins.get(node.id, node.id), *reversed(parts)])

    def _record(self, node: ast.ClassDef) -> bool:
        """Whether making an object of a class only keeps what is given."""
        own = {inner.name for inner in node.body if isinstance(inner, _DEFINITIONS)}
        roots = [called(kind) for kind in (*node.decorator_list, *node.bases)]
        names = {self.origins.get(root.id, "") for root in roots if isinstance(root, ast.Name)}
        return not names.isdisjoint(_RECORDS) and not own & _HOOKS and all(map(self.plain_base, node.bases))

    def plain_base(self, node: ast.expr, inside: frozenset[str] = frozenset()) -> bool:
        """Does a class with this base do nothing more when it is made? `inside` are those that have it."""
        while isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name) and node.id in inside:
            return False
        if isinstance(node, ast.Name) and node.id in self.classes:
            own = self.classes[node.id]
            hooks = any(isinstance(n, _DEFINITIONS) and n.name == "__init_subclass__" for n in own.body)
            metas = [keyword.value for keyword in own.keywords if keyword.arg == "metaclass"]
            return not hooks and all(self.plain_base(b, inside | {node.id}) for b in (*own.bases, *metas))
        node = first_of(node)
        if not isinstance(node, ast.Name):
            return False
        if node.id in self.origins:
            origin = self.origins[node.id]
            return is_plain(origin) or self.is_known(origin, "class")
        return node.id not in self.bound


def _run_at_once(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement, without bodies of functions and the statements inside."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += (
            child
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case, ast.Lambda))
        )


def label_of(statement: ast.stmt) -> str:
    """What an acting statement is known by, in whichever file it stands."""
    if isinstance(statement, (*_DEFINITIONS, ast.ClassDef)):
        return f"{type(statement).__name__} {statement.name}"
    return ast.dump(statement)


# What torch loads by itself, in every version that is supported.
_OF_TORCH = words("""
    amp autograd backends cuda fft jit linalg nn nn.functional nn.init nn.modules nn.parallel nn.parameter
    nn.utils optim optim.optimizer overrides random serialization sparse special storage types utils
    utils.data
""")
_LONGEST_CHAIN = 20


@dataclass
class Run:
    """What one loading did: ``events`` in order, each with the file's line that brought it; all modules
    ``loaded``, with the lines; those that import the file ``back``. Where names are asked for, there are
    events that only read names of other modules, which ``reads`` tells, and ``sets`` are those that were set.
    """

    events: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    reads: dict[str, tuple[str, ...]] = field(default_factory=dict)
    sets: set[str] = field(default_factory=set)
    loaded: dict[str, int] = field(default_factory=dict)
    back: set[str] = field(default_factory=set)
    line: int = 0

    def add(self, event: str) -> None:
        """Something happens."""
        self.events.append(event)
        self.lines.append(self.line)


Find = Callable[[str], tuple[bytes, bool] | None]
"""A module of the project by its dotted name: its bytes, and whether it is a package's own file."""


def found_below(bases: Sequence[Path], data: Callable[[Path], bytes | None]) -> Find:
    """Find modules in the first of some folders that has them; ``data`` gives a file's bytes."""

    def find(module: str) -> tuple[bytes, bool] | None:
        for path in module_files(module, dict.fromkeys(bases)):
            if (found := data(path)) is not None:
                return found, path.name == "__init__.py"
        return None

    return find


class Loading:
    """Rehearses the loading of modules."""

    def __init__(self, find: Find, *, names: bool = False) -> None:
        """With ``names``, what reads names of other modules is an event, too."""
        self.find, self._names = find, names
        self._texts: dict[str, Text | None] = {}

    def rehearsed(self, module: str, path: Path, tree: ast.Module) -> Run:
        """What loading a module does, with a tree in its file, where nothing is loaded before."""
        run = Run(loaded={module: 0})
        for package in with_packages(module)[:-1]:
            self.load(package, run, module)
        self._steps(module, self.text(tree, package_of(path, module)), run, module)
        return run

    def executed(self, body: list[ast.stmt], package: str) -> Run:
        """What statements of a file in a package do, where nothing is loaded before."""
        run = Run()
        self._steps("", self.text(ast.Module(body, []), package), run, "")
        return run

    def load(self, module: str, run: Run, subject: str = "") -> Text | None:
        """Load a module, if it is not loaded yet."""
        text = self._text(module)
        if module in run.loaded:
            return text
        run.loaded[module] = run.line
        if text is not None:
            self._steps(module, text, run, subject)
        elif not is_of_torch(module) and module.partition(".")[0] not in QUIET:
            run.add(module)
        return text

    def _steps(self, module: str, text: Text, run: Run, subject: str) -> None:
        for step in text.steps:
            if module == subject:
                run.line = step.line
            if isinstance(step, Acts):
                run.add(f"{module}: {step.label}" if module != subject else step.label)
                continue
            if isinstance(step, Names):
                run.sets.update(step.set)
                if step.read:
                    event = f"{module} reads {' '.join(step.read)}"
                    run.reads[event] = step.read
                    run.add(event)
                continue
            if step.maybe:
                run.add(f"maybe {step.module} {' '.join(step.names)}")
                continue
            if step.module == subject and module != subject:
                run.back.add(module)
            found = [self.load(each, run, subject) for each in with_packages(step.module)][-1]
            for name in step.names:
                inner = f"{step.module}.{name}"
                if inner == subject and module != subject:
                    run.back.add(module)
                if found is None:
                    if not name[:1].isupper() or is_installed(step.module, name):
                        self.load(inner, run, subject)
                elif name not in found.bound and self._text(inner) is not None:
                    self.load(inner, run, subject)

    def _text(self, module: str) -> Text | None:
        """A module of the project; None for any other."""
        if module not in self._texts:
            found = self.find(module)
            # In a circle of imports nothing is known of the file that is being read.
            self._texts[module] = None if found is None else self._empty("")
            if found is not None:
                self._texts[module] = self._read(*found, module)
        return self._texts[module]

    def _read(self, data: bytes, initial: bool, module: str) -> Text:
        try:
            tree = shared_tree(data, module)
        except SourceError:
            unread = self._empty("")
            unread.steps.append(Acts(1, "can't be read"))
            return unread
        return self.text(tree, module if initial else module.rpartition(".")[0])

    def text(self, tree: ast.Module, package: str) -> Text:
        """A file of a package, read for what loading it does."""
        return self._empty(package).read(tree)

    def _empty(self, package: str) -> Text:
        return Text(package, self._is_known, names=self._names)

    def _is_known(self, dotted: str, kind: str) -> bool:
        """Whether a name of a module of the project is one of its literals, or plain classes."""
        for _ in range(_LONGEST_CHAIN):
            module, _, name = dotted.rpartition(".")
            text = self._text(module) if module else None
            if text is None:
                return False
            if name in (text.literals if kind == "literal" else text.plain):
                return True
            dotted = text.origins.get(name, "")
        return False


def is_of_torch(module: str) -> bool:
    """Whether a module is loaded with torch as a whole, whose name comes before it."""
    top, _, rest = module.partition(".")
    return top == "torch" and rest in _OF_TORCH


def is_installed(package: str, name: str) -> bool:
    """Whether this environment has such a module; else a name with a capital is taken for a class."""
    return _is_found(package, name, tuple(sys.path))


@functools.cache
def _is_found(package: str, name: str, bases: tuple[str, ...]) -> bool:
    for base in bases:
        place = Path(base, *package.split("."))
        if (place / name).is_dir() or (place / f"{name}.py").is_file() or any(place.glob(f"{name}.*.so")):
            return True
    return False
