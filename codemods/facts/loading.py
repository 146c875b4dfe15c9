"""What loading a module does, in order: what runs of the project's files, which modules outside are loaded.

The standard library loads without anything being told of it, but for a few modules. A project's file is
followed into the files that it imports; of another distribution nothing is known but its name.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codemods.facts.acting import Acts, Text
from codemods.facts.quiet import QUIET
from codemods.facts.repository import module_files, package_of
from codemods.facts.source import SourceError, decode_source
from codemods.facts.words import words

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
    ``loaded``, with the lines; those that import the file ``back``.
    """

    events: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
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

    def __init__(self, find: Find) -> None:
        self.find = find
        self._texts: dict[str, Text | None] = {}

    def of(self, module: str, text: Text) -> Run:
        """What loading a module of this text does, in a process that has loaded nothing before."""
        run = Run(loaded={module: 0})
        parts = module.split(".")[:-1]
        for count in range(1, len(parts) + 1):
            self.load(".".join(parts[:count]), run, module)
        self._steps(module, text, run, module)
        return run

    def rehearsed(self, module: str, path: Path, tree: ast.Module) -> Run:
        """What loading a module's file would do, with a tree in it."""
        return self.of(module, self.text(tree, package_of(path, module)))

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
            if step.maybe:
                run.add(f"maybe {step.module} {' '.join(step.names)}")
                continue
            if step.module == subject and module != subject:
                run.back.add(module)
            parts, found = step.module.split("."), None
            for count in range(1, len(parts) + 1):
                found = self.load(".".join(parts[:count]), run, subject)
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
            self._texts[module] = None if found is None else Text("", self._is_known)
            if found is not None:
                self._texts[module] = self._read(*found, module)
        return self._texts[module]

    def _read(self, data: bytes, initial: bool, module: str) -> Text:
        try:
            tree = decode_source(data, module).tree
        except SourceError:
            unread = Text("", self._is_known)
            unread.steps.append(Acts(1, "can't be read"))
            return unread
        return self.text(tree, module if initial else module.rpartition(".")[0])

    def text(self, tree: ast.Module, package: str) -> Text:
        """A file of a package, read for what loading it does."""
        return Text(package, self._is_known).read(tree)

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
    for base in sys.path:
        place = Path(base, *package.split("."))
        if (place / name).is_dir() or (place / f"{name}.py").is_file() or any(place.glob(f"{name}.*.so")):
            return True
    return False


__all__ = ["Loading", "Run", "Text"]
