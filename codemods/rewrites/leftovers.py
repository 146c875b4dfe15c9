"""Imports that only code needed which has left a file: which can go, why others stay, the text without.

Something else may read an imported name from the file: another file, a test that replaces it, a string, code
that asks for names which only a run tells. Loading the module may do something that must still be done, and
in the same order.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial

from codemods.equal.move import without_imports
from codemods.program.annotations import mentions, quoted_in
from codemods.program.globals import ImportNode, is_type_checking
from codemods.program.imports import bound_name
from codemods.program.loading import Run
from codemods.program.namespaces import asking
from codemods.program.scopes import ScopeTree
from codemods.program.source import Source
from codemods.program.surroundings import Surroundings
from codemods.rewrites.text.file import Program
from codemods.rewrites.text.imports import without_names

# Code that asks for these attributes may read any name of its module.
_ATTRIBUTES = frozenset(["__builtins__", "__dict__", "__globals__", "f_globals", "f_locals"])
_MARK = re.compile(
    r"#\s*noqa(?!\s*:)|#\s*noqa\s*:.*\bF401\b|unused-import|noinspection\s+PyUnresolved", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Alias:
    """One name that an import statement of the file binds."""

    statement: ImportNode
    given: ast.alias

    @property
    def name(self) -> str:
        """The name."""
        return bound_name(self.given)


@dataclass(frozen=True, slots=True)
class KeptImport:
    """An import that the code of a file does not need any more, and why it stays there."""

    path: str
    name: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Unneeded:
    """The aliases that may go, imports that stay though the file itself does not need them, and statements of
    these that linters would take out.
    """

    gone: Sequence[Alias] = ()
    kept: tuple[KeptImport, ...] = ()
    unmarked: Collection[ImportNode] = ()


@dataclass(frozen=True, slots=True)
class Left:
    """The rest of a file after code has left it: its scopes ``before`` and now, and who else reads it."""

    before: ScopeTree
    tree: ScopeTree
    around: Surroundings
    seams: Collection[str]
    exported: Collection[str]

    @property
    def now(self) -> Source:
        """The file as it is left."""
        return self.tree.source

    def unneeded(self, loading: Callable[[ast.Module], Run]) -> Unneeded:
        """Decide. ``loading`` rehearses what loading the file with a tree does."""
        aliases = list(self._unused())
        if aliases:
            # Those that the code read, or a text mentions.
            needed = self.before.once("needed", lambda: {*self.before.read, *dict(mentions(self.before))})
            there = {bound_name(a) for s in import_statements(self.before.source.tree) for a in s.names}
            aliases = [alias for alias in aliases if alias.name in needed or alias.name not in there]
        if not aliases:
            return Unneeded()
        whole, mentioned = self._any_name(), dict(mentions(self.tree))
        gone: list[Alias] = []
        stay: list[tuple[Alias, str]] = []
        for alias in aliases:
            reason = whole if alias.name not in self.exported else None
            reason = reason or self._needed(alias, mentioned)
            if reason is None:
                gone.append(alias)
            else:
                stay.append((alias, reason))
        stay += self._with_effect(gone, loading)
        kept = sorted((self.kept(*each) for each in stay), key=lambda each: (each.line, each.name))
        seen = {alias.statement for alias, reason in stay if reason != whole}
        return Unneeded(gone, tuple(kept), [each for each in seen if not self._marked(each)])

    def kept(self, alias: Alias, reason: str) -> KeptImport:
        """Tell of one that stays."""
        return KeptImport(self.now.path, alias.name, alias.statement.lineno, reason)

    # Who needs them

    def _unused(self) -> Iterator[Alias]:
        """Aliases of plain imports at the top level that the file does not read, not in quotes either."""
        tree = self.tree
        read = tree.read | quoted_in(self.now.tree)
        plain = {*import_statements(self.now.tree)}
        for statement in import_statements(self.now.tree):
            for given in statement.names:
                name = bound_name(given)
                binders = tree.binders.get((tree.module, name), ())
                if name not in read and all(binder.node in plain for binder in binders):
                    yield Alias(statement, given)

    def _any_name(self) -> str | None:
        """Why any name of the file may be read."""
        if self.around.path.name == "__init__.py":
            return "a package's own names are there to be imported"
        look = self.around.look()
        if look is not None:
            return str(look)
        found = [(getattr(node, "lineno", 1), name) for node, name in asking(self.tree)]
        found += [(line, name) for name, line in self.tree.attributes.items() if name in _ATTRIBUTES]
        return next((f"line {line} uses {name}, which may read any name" for line, name in found), None)

    def _needed(self, alias: Alias, mentioned: Mapping[str, int]) -> str | None:
        """Why somebody else needs one name."""
        name, given = alias.name, alias.given
        reasons = {
            "it moved, and is still to be had from here": name in self.exported,
            "tests replace it": name in self.seams,
            "`as` the same name says that it is imported from here": given.asname == given.name,
            f"line {mentioned.get(name)} mentions it in a text": name in mentioned,
            "its line is marked as one that looks unused": self._marked(alias.statement),
            "its line has other statements": any(";" in row for row in self._rows(alias.statement)),
        }
        if reason := next((reason for reason, holds in reasons.items() if holds), None):
            return reason
        if not name.startswith("_") and self.around.star_imported:
            return "another file imports everything from this one"
        reader = self.around.reads(name)
        return None if reader is None else f"{reader} may read it from here"

    def _marked(self, statement: ImportNode) -> bool:
        """Tell whether a comment tells linters that an import only looks unused."""
        return any(_MARK.search(row) for row in self._rows(statement))

    def _rows(self, statement: ImportNode) -> Sequence[str]:
        return self.now.lines[statement.lineno - 1 : statement.end_lineno]

    # What loading them does

    def _with_effect(
        self, gone: list[Alias], loading: Callable[[ast.Module], Run]
    ) -> Iterator[tuple[Alias, str]]:
        """Take out of some those without which loading the file would do something else, or in another order;
        each with the reason.
        """
        full = loading(self.now.tree) if gone else Run()
        if full.back:
            reason = f"{min(full.back)} imports this file back while it loads"
            yield from ((alias, reason) for alias in gone)
            gone.clear()
        while gone:
            left = without_imports(self.now.tree.body, {alias.given for alias in gone})
            lost = _first_difference(full, loading(ast.Module(left, [])))
            if lost is None:
                break
            line, reason, module = lost
            brought = [alias for alias in gone if alias.statement.lineno == line]
            named = [alias for alias in brought if module.endswith(f".{alias.given.name}")]
            for alias in (named or brought)[:1] or tuple(gone):
                gone.remove(alias)
                yield alias, reason


def _first_difference(before: Run, after: Run) -> tuple[int, str, str] | None:
    """The first thing that loading does no more, or elsewhere: the line that brought it, why, the module."""
    for number, event in enumerate(before.events):
        there = after.events[number] if number < len(after.events) else None
        if there != event:
            module = event.partition(":")[0].removeprefix("maybe ").partition(" ")[0]
            when = "in another order" if event in after.events else "no more"
            what = f"loading {module} may have an effect, and would happen {when}"
            return before.lines[number], what, module
    for module, line in sorted(before.loaded.items()):
        if "." in module and module not in after.loaded:
            return line, f"{module} would not be loaded any more", module
    return None


def import_statements(tree: ast.Module) -> Iterator[ImportNode]:
    """Imports of the top level, those for type checkers included."""
    for statement in tree.body:
        if isinstance(statement, ast.If) and is_type_checking(statement.test):
            yield from (inner for inner in statement.body if isinstance(inner, (ast.Import, ast.ImportFrom)))
        elif isinstance(statement, ast.Import) or (
            isinstance(statement, ast.ImportFrom) and statement.module != "__future__"
        ):
            yield statement


def mark_imports(source: Source, statements: Collection[ast.stmt]) -> str:
    """A file's text with a comment at some imports that keeps linters from dropping them."""
    lines = list(source.lines)
    for statement in statements:
        row = lines[statement.lineno - 1]
        bare = row.rstrip("\r\n")
        if not bare.endswith("\\"):
            lines[statement.lineno - 1] = f"{bare}  # noqa: F401{row[len(bare) :]}"
    return "".join(lines)


def drop_imports(source: Source, gone: Set[ast.alias]) -> str:
    """A file's text without some names of its imports.

    Raises:
        TextNotPreserved: if libcst would write one of their statements differently.
    """
    numbers = {
        statement: {number for number, alias in enumerate(statement.names) if alias in gone}
        for statement in import_statements(source.tree)
        if not gone.isdisjoint(statement.names)
    }
    whole = {s for s in numbers if len(numbers[s]) == len(s.names)}
    blocks = [s for s in source.tree.body if isinstance(s, ast.If) and not s.orelse and whole >= {*s.body}]
    # A block for type checkers that holds nothing goes with its imports.
    inside = {inner for block in blocks for inner in block.body}
    cut = [*blocks, *whole.intersection(source.tree.body)]
    left = numbers.keys() - inside - {*cut}
    program = Program(source, [*left, *cut])
    for statement in cut:
        program.cut(statement)
    for statement in left:
        if statement in whole:
            program.take_out(statement)
        else:
            program.change(program.nodes[statement], partial(without_names, gone=numbers[statement]))
    return program.text()
