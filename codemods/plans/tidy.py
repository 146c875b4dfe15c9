"""Drop imports that only code needed which has left the file, and say which stay and why."""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

from codemods.equal.code import NotProven, alike, reread
from codemods.equal.move import prove_dropped
from codemods.plans.report import StayedImport
from codemods.plans.site import Site
from codemods.program.scopes import ScopeTree
from codemods.program.walk import read_scopes
from codemods.rewrites.imports.unneeded import KeptImport, Left, drop_imports, mark_imports, names_needed
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
        now = read_scopes(overlay.source(layout.rest, before.path))
        marked = ""
        kept: tuple[KeptImport, ...] = ()
        needed = functools.cache(lambda: names_needed(tree))
        # A file that compiles does so without imports. What those for type checkers stood under is unneeded
        # once they are gone.
        for _ in range(_ROUNDS):
            left = Left(
                before, now, around, self.seams, self.exported, lambda: self.site.star_imported, needed
            )
            found = left.unneeded(partial(self.site.loading.rehearsed, self.site.home, layout.rest))
            kept = found.kept
            try:
                if not found.gone:
                    marked = self._marked(left, kept)
                    break
                gone = {alias.given for alias in found.gone}
                made = reread(drop_imports(now.source, gone), before.path, before, compiled=False)
                now = prove_dropped(now.source, made, gone)
            except (NotProven, TextNotPreserved) as failure:
                reason = f"it can't be taken out of the text: {failure}"
                kept += tuple(KeptImport(alias.name, alias.statement.lineno, reason) for alias in found.gone)
                break
        overlay.put(layout.rest, before, marked or now.source.text)
        return tuple(StayedImport(layout.shown(layout.rest), k.name, k.line, k.reason) for k in kept)

    def _marked(self, left: Left, kept: Collection[KeptImport]) -> str:
        """The text with a mark at imports of which a linter would say that they can go.

        Raises:
            NotProven: if that is another program.
        """
        found = dict.fromkeys(k.alias.statement for k in kept if k.alias is not None)
        statements, now = [each for each in found if not left.marked(each)], left.now
        if not statements:
            return now.text
        text = mark_imports(now, statements)
        if not alike(now.tree.body, reread(text, now.path, now, compiled=False).tree.body):
            raise NotProven("more than comments would change")
        return text
