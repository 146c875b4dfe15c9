"""Uses of one module's names by other files, the import system and the module itself.

A lifted function gives its module a new name. It must not meet one that somebody else means there, and nobody
may be looking at all of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, cast

from codemods.program.imports import absolute
from codemods.program.nodes import ANY_NAME
from codemods.program.repository import (
    File,
    ModuleName,
    file_or_none,
    import_base,
    module_files,
    module_name,
    names_module,
    package_of,
    says,
    shown_path,
)
from codemods.program.source import Source, having, statements_in, words

if TYPE_CHECKING:
    from codemods.program.module_uses import Look, Seen

T = TypeVar("T")
loads_any = having("__import__", "import_module", "iter_modules", "locate", "resolve_name", "walk_packages")
"""Tells whether a file may load modules whose names it does not spell."""
Mark = Literal["allowed", "annotations", "checkpoints", "derived", "module", "pickles"]

# By a word a file shows that it looks at something that a move or a lift changes, and what that is in words.
_MARKS: dict[Mark, tuple[str, Callable[[bytes], bool]]] = {
    "annotations": (
        "may evaluate annotations",
        having(
            *words("""
            get_type_hints get_annotations eval_str resolve_types ForwardRef evaluate_forward_ref pydantic
            cattrs dacite jsonargparse msgspec omegaconf hydra simple_parsing typer tyro
        """)
        ),
    ),
    "allowed": ("allows classes in checkpoints by their modules", having("add_safe_globals", "safe_globals")),
    "checkpoints": ("loads checkpoints, which name classes", having("load", within=rb"\btorch\.load\b")),
    "derived": (
        "may see what derives from a class",
        having(
            *("__init_subclass__", "__prepare__", "__subclasses__", "type", "Meta"),
            within=rb"\b__(init_subclass|prepare|subclasses)__\b"
            rb"|\bclass\s+\w+\s*\([^()]*\b(type|(?!ABCMeta\b)\w*Meta)\s*[,)]",
        ),
    ),
    "module": ("asks what is defined for its module", having("__module__", "getmodule", "getsourcefile")),
    "pickles": (
        "loads pickles, which name modules",
        having(
            *("ickle", "dill", "joblib", "shelve", "weights_only"),
            within=rb"\b(pickle|cPickle|_pickle|cloudpickle|dill|joblib)\.(load|loads|Unpickler)\b|\bshelve\b"
            rb"|\bUnpickler\b|from\s+(pickle|dill|cloudpickle|joblib)\s+import|weights_only\s*=\s*False",
        ),
    ),
}

_CHECKERS = (b"beartype", b"jaxtyping", b"typeguard")
# By these, or by its own name, a file gets at its own namespace or text.
_ITSELF = re.compile(rb"__(dict|file|globals|import|main)__|import_module|importorskip|modules|run_module")


class Surroundings:
    """One module as the rest of its project sees it.

    ``files`` gives the project's files with their bytes, the module's own among them or not.
    """

    def __init__(
        self, source: Source, path: Path, root: Path, files: Callable[[], Iterable[tuple[Path, bytes]]]
    ) -> None:
        self.source = source
        self.path = path
        self.root = root
        self.files = files
        self.module = module_name(path, root)
        self._bases = [root, root / "src", import_base(path)]
        self._known: dict[object, object] = {}

    def once(self, key: object, make: Callable[[], T]) -> T:
        """A fact about the project, worked out when first asked for."""
        if key not in self._known:
            self._known[key] = make()
        return cast("T", self._known[key])

    @cached_property
    def _near(self) -> list[tuple[Path, bytes]]:
        """The other files that may know the module."""
        tail = self.module.name.rpartition(".")[2]
        inside = self.path.parent if self.path.name == "__init__.py" else None
        return [
            (path, data)
            for path, data in self.files()
            if path != self.path
            and (
                names_module(data, tail)
                or (inside is not None and inside in path.parents)
                or (self.path.parent.name.encode() in data and loads_any(data))
            )
        ]

    @cached_property
    def _own_data(self) -> bytes:
        return self.source.text.encode("utf-8", "replace")

    @cached_property
    def _own_names(self) -> ModuleName:
        return ModuleName(self.module.name, (*self.module.aliases, "__main__"))

    @cached_property
    def _files(self) -> list[tuple[File, bytes]]:
        """Those of them that are Python."""
        read = ((file_or_none(path, data, self.root), data) for path, data in self._near)
        return [(file, data) for file, data in read if file is not None]

    @cached_property
    def _own(self) -> File:
        package = package_of(self.path, self.module.name)
        return File(self.source.path, self.module.name, package, self.source.tree)

    @cached_property
    def _seen(self) -> list[Seen]:
        """Uses in these, and in the file itself, if it may look at itself."""
        own = self._own_data
        itself = _ITSELF.search(own) or says(own, self.module.name.rpartition(".")[2])
        if not self._files and not itself:
            return []
        from codemods.program.module_uses import uses_in

        found = [uses_in(file, data, self.module) for file, data in self._files]
        if itself:
            found.append(uses_in(self._own, b"", self._own_names, own=True))
        return found

    @cached_property
    def _submodules(self) -> frozenset[str]:
        if self.path.name != "__init__.py":
            return frozenset()
        folder = self.path.parent
        below = (path.relative_to(folder) for path, _ in self.files() if folder in path.parents)
        return frozenset(path.parts[0].partition(".")[0] for path in below)

    def taken(self, name: str) -> bool:
        """Tell whether somebody else may mean something by a name of the module: a file that knows it says
        so.
        """
        if name in self._submodules or self.late_star(0, name) is not None:
            return True
        return any(says(data, name) for _, data in self._near)

    def reads(self, name: str) -> str | None:
        """Another file that may read a name from the module, or None.

        Besides those that ask the module for it, these are files that say such a name, if some file gives the
        module itself away, or if they load modules that only a run tells.
        """
        if name in self._submodules:
            return "a file of its own"
        return next((s.path for s in self._seen if name in s.asked or self._may_mean(s.data, name)), None)

    def _may_mean(self, data: bytes, name: str) -> bool:
        """Tell whether a file may take a name from the module as something else."""
        return (self.is_given or loads_any(data)) and says(data, name)

    def look(self) -> Look | None:
        """A place that sees every name of the module, one that does not only read one first."""
        looks = [look for seen in self._seen for look in seen.looks]
        return min(looks, key=lambda look: look.by_name, default=None)

    def may_ask(self, name: str) -> bool:
        """Tell whether a file may take the name from the module that only a run tells, or from one."""
        return any(
            self._may_mean(data, name) or (name[:1] != "_" and loads_any(data)) for _, data in self._near
        )

    @cached_property
    def star_imported(self) -> bool:
        """Tell whether a star import of another file, or of a program in its texts, may bring all names
        there.
        """
        listed = any(isinstance(n, ast.Name) and n.id == "__all__" for n in ast.walk(self.source.tree))
        return not listed and any("*" in seen.asked for seen in self._seen)

    @cached_property
    def is_given(self) -> bool:
        """Tell whether some file hands the module itself to others."""
        return any(seen.escapes for seen in self._seen)

    def marked(self, mark: Mark, names: Collection[str] | None) -> str | None:
        """A file that shows by its words that it looks at something, and what that is in words, or None.

        Besides the module itself, these are files that take one of some names (None: any), or all, from it.
        """
        says_what, shows = _MARKS[mark]
        if shows(self._own_data):
            return f"{self.source.path} {says_what}"
        for seen in self._seen:
            takes = seen.escapes or (seen.asked if names is None else seen.asked.intersection(names))
            if takes and shows(seen.data):
                return f"{seen.path} {says_what}"
        return None

    def marked_anywhere(self, mark: Mark) -> str | None:
        """The same of a file of the whole project."""
        says_what, shows = _MARKS[mark]
        everywhere = ((path, data) for path, data in self.files() if path != self.path)
        for path, data in ((self.path, self._own_data), *everywhere):
            if shows(data):
                return f"{shown_path(path, self.root)} {says_what}"
        return None

    @cached_property
    def checks_annotations(self) -> bool:
        """Tell whether the project may check the annotations of all its functions when it runs."""
        return any(word in data for _, data in self.files() for word in _CHECKERS)

    def replacing(self, names: Collection[str]) -> Look | None:
        """A place that replaces one of some names of the module, or names that only a run tells."""
        if not names:
            return None
        from codemods.program.module_uses import Look
        from codemods.program.patches import replacing_of

        for file in (*(file for file, _ in self._files), self._own):
            for name, line, *_ in replacing_of(file.tree, file.package).names_of(self._own_names):
                known = name.removesuffix(f".{ANY_NAME}") + "."
                if name in (ANY_NAME, "__dict__") or any(f"{read}.".startswith(known) for read in names):
                    return Look(file.shown, line, f"replaces {name}")
        return None

    def late_star(self, line: int, name: str | None = None) -> int | None:
        """The line of a star import after a line that may bring a name; without one, that may bring any."""
        late = ((at, module) for at, module in self._stars if at > line)
        return next((at for at, module in late if name is None or self._may_bring(module, name)), None)

    def _may_bring(self, module: str, name: str) -> bool:
        """Tell whether a star import of a module may bring a name: of one of the project, if a file of the
        project has the word; of another, if the name is public.
        """
        own = any(path.is_file() for path in module_files(module, self._bases))
        return any(says(data, name) for _, data in self.files()) if own else name[:1] != "_"

    @cached_property
    def _stars(self) -> list[tuple[int, str]]:
        """The module's own star imports: the last line at which each may run, and the module."""
        package = package_of(self.path, self.module.name)
        found = []
        for statement in self.source.tree.body:
            loop = isinstance(statement, (ast.For, ast.While))
            for node in statements_in(statement):
                if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
                    line = (statement.end_lineno or node.lineno) if loop else node.lineno
                    found.append((line, absolute(node, package)))
        return found
