"""Drop imports that only code needed which has left the file, and say which stay and why."""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Set
from dataclasses import dataclass
from functools import partial

from codemods.equal.code import NotProven, reread
from codemods.equal.imports import prove_dropped
from codemods.plans.report import StayedImport
from codemods.plans.site import Site
from codemods.program.scopes import ScopeTree
from codemods.program.source import Source
from codemods.program.walk import read_scopes
from codemods.rewrites.imports.remove import drop_imports, mark_imports
from codemods.rewrites.imports.unneeded import KeptImport, Left, names_needed
from codemods.rewrites.text.file import TextNotPreserved

_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Tidy:
    """Knowledge of a file that code has left, besides its text."""

    site: Site
    seams: Collection[str]
    exported: frozenset[str] = frozenset()

    def tidied(self, tree: ScopeTree) -> tuple[StayedImport, ...]:
        """Leave the rest no imports that only what moved needed; those that stay. ``tree`` is the file's from
        before.
        """
        before = tree.source
        overlay, around, layout = self.site.overlay, self.site.surroundings, self.site.layout
        if layout.rest not in overlay.made:
            return ()
        now = overlay.source(layout.rest, before.path)
        kept: tuple[KeptImport, ...] = ()
        needed = functools.cache(lambda: names_needed(tree))
        # What imports for type checkers stood under is unneeded once they are gone.
        for _ in range(_ROUNDS):
            left = Left(
                before,
                read_scopes(now),
                around,
                self.seams,
                self.exported,
                lambda: self.site.star_imported,
                needed,
            )
            found = left.unneeded(partial(self.site.loading.rehearsed, self.site.home, layout.rest))
            kept = found.kept
            try:
                if not found.gone:
                    now = self._marked(left, kept)
                    break
                gone = {alias.given for alias in found.gone}
                now = _proven(now, drop_imports(now, gone), gone)
            except (NotProven, TextNotPreserved) as failure:
                reason = f"it can't be taken out of the text: {failure}"
                kept += tuple(KeptImport(alias.name, alias.statement.lineno, reason) for alias in found.gone)
                break
        overlay.put(layout.rest, before, now.text)
        return tuple(StayedImport(layout.shown(layout.rest), k.name, k.line, k.reason) for k in kept)

    def _marked(self, left: Left, kept: Collection[KeptImport]) -> Source:
        """The text with a mark at imports of which a linter would say that they can go."""
        found = dict.fromkeys(k.alias.statement for k in kept if k.alias is not None)
        statements = [statement for statement in found if not left.marked(statement)]
        return _proven(left.now, mark_imports(left.now, statements), set()) if statements else left.now


def _proven(now: Source, text: str, gone: Set[ast.alias]) -> Source:
    """A text in which nothing has changed but that some names of imports are gone.

    Raises:
        NotProven: if more has.
    """
    made = reread(text, now.path, now)
    prove_dropped(now, made, gone)
    return made
