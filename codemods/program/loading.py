"""Events of loading a module, in order: code of the project's files that runs, outside modules that are
loaded.

The standard library loads without anything being told of it, but for a few modules. A project's file is
followed into the files that it imports; of another distribution nothing is known but its name.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codemods.program.expressions import QUIET
from codemods.program.globals import is_type_checking
from codemods.program.imports import with_packages
from codemods.program.modules import Find, Module, Project
from codemods.program.nodes import DEFINITIONS
from codemods.program.origins import imported
from codemods.program.repository import package_of
from codemods.program.source import all_blocks, words


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


Step = Loads | Acts


class Text:
    """A file as loading sees it: its statements read in order.

    Attributes:
        steps: what it does.
        bound: the names that it binds.
    """

    def __init__(self, module: Module, project: Project) -> None:
        self.module = module
        self.steps: list[Step] = []
        self.bound = module.binders.keys()
        # Of annotations nothing is told: one that does more than name a type is rare.
        self._effects = project.effects(module, annotations=False)
        self.block(module.tree.body, maybe=False)

    def block(self, body: Sequence[ast.stmt], *, maybe: bool) -> None:
        for statement in body:
            self._statement(statement, maybe)

    def _statement(self, statement: ast.stmt, maybe: bool) -> None:
        match statement:
            case ast.Import() | ast.ImportFrom():
                self._import(statement, maybe)
            case ast.If() if is_type_checking(statement.test):
                self.block(statement.orelse, maybe=maybe)
            case ast.If() | ast.For() | ast.While() | ast.With() | ast.Try() | ast.TryStar() | ast.Match():
                if self._acts(statement):
                    self.steps.append(Acts(statement.lineno, label_of(statement)))
                for block in all_blocks(statement):
                    self.block(block, maybe=True)
            case _ if self._effects.runs([statement]):
                self.steps.append(Acts(statement.lineno, label_of(statement)))

    def _acts(self, statement: ast.stmt) -> bool:
        """Tell whether a compound statement may do something besides running its blocks."""
        if isinstance(statement, (ast.If, ast.While)):
            return self._effects.runs([ast.Assert(statement.test)])
        return isinstance(statement, (ast.For, ast.Match, ast.With))

    def _import(self, node: ast.Import | ast.ImportFrom, maybe: bool) -> None:
        made = imported(node, self.module.package)
        if isinstance(node, ast.Import):
            self.steps += [Loads(node.lineno, each.module, maybe=maybe) for each in made]
        elif made[0].module != "__future__":
            names = tuple(alias.name for alias in node.names if alias.name != "*")
            self.steps.append(Loads(node.lineno, made[0].module, names, maybe))


def label_of(statement: ast.stmt) -> str:
    """Label a statement with a side effect, alike in every file."""
    if isinstance(statement, DEFINITIONS):
        return f"{type(statement).__name__} {statement.name}"
    return ast.dump(statement)


# What torch loads by itself, in every version that is supported.
_OF_TORCH = words("""
    amp autograd backends cuda fft jit linalg nn nn.functional nn.init nn.modules nn.parallel nn.parameter
    nn.utils optim optim.optimizer overrides random serialization sparse special storage types utils
    utils.data
""")


@dataclass
class Run:
    """Record of one loading: ``events`` in order, each with the file's line that brought it; all modules
    ``loaded``, with the lines; those not yet to their end, ``open``; those that import the file ``back``.
    """

    events: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    loaded: dict[str, int] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    back: set[str] = field(default_factory=set)
    line: int = 0

    def add(self, event: str) -> None:
        """Something happens."""
        self.events.append(event)
        self.lines.append(self.line)


class Loading:
    """Rehearses the loading of modules."""

    def __init__(self, find: Find) -> None:
        self._project = Project(find, Module("", "", ast.Module([], [])))
        self._texts: dict[str, Text | None] = {}

    def rehearsed(self, module: str, path: Path, tree: ast.Module) -> Run:
        """Load a module in thought, with a tree in its file, where nothing is loaded before."""
        run = Run(loaded={module: 0})
        for package in with_packages(module)[:-1]:
            self.load(package, run, module)
        self._steps(module, Text(Module(module, package_of(path, module), tree), self._project), run, module)
        return run

    def executed(self, body: list[ast.stmt], package: str) -> Run:
        """Run statements of a file in a package in thought, where nothing is loaded before."""
        run = Run()
        self._steps("", Text(Module("", package, ast.Module(body, [])), self._project), run, "")
        return run

    def load(self, module: str, run: Run, subject: str = "") -> Text | None:
        """Load a module, if it is not loaded yet."""
        text = self._text(module)
        if module in run.loaded:
            return text
        run.loaded[module] = run.line
        if text is not None:
            run.open.add(module)
            self._steps(module, text, run, subject)
            run.open.remove(module)
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
            if step.maybe:
                run.add(f"maybe {step.module} {' '.join(step.names)}")
                continue
            if step.module == subject and module != subject:
                run.back.add(module)
            # What is imported from a module that is not loaded to its end may not be there yet.
            circle = f"{step.module}: in a circle"
            if step.module in run.open.difference(with_packages(module)) and circle not in run.events:
                run.add(circle)
            found = [self.load(each, run, subject) for each in with_packages(step.module)][-1]
            for name in step.names:
                inner = f"{step.module}.{name}"
                if inner == subject and module != subject:
                    run.back.add(module)
                if found is None:
                    # A name with a capital is taken for a class.
                    if not name[:1].isupper():
                        self.load(inner, run, subject)
                elif name not in found.bound and self._text(inner) is not None:
                    self.load(inner, run, subject)

    def _text(self, name: str) -> Text | None:
        """A module of the project; None for any other."""
        if name not in self._texts:
            module = self._project.module(name)
            self._texts[name] = None if module is None else Text(module, self._project)
        return self._texts[name]


def is_of_torch(module: str) -> bool:
    """Tell whether a module is loaded with torch as a whole, whose name comes before it."""
    top, _, rest = module.partition(".")
    return top == "torch" and rest in _OF_TORCH
