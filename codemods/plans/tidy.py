"""Drop imports that only code needed which has left the file, and say which stay and why."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from codemods.equal.code import NotProven, alike, reread
from codemods.equal.move import prove_dropped
from codemods.plans.site import Site
from codemods.program.globals import ImportNode
from codemods.program.scopes import ScopeTree
from codemods.program.source import Source
from codemods.program.walk import read_scopes
from codemods.rewrites.leftovers import KeptImport, Left, drop_imports, mark_imports
from codemods.rewrites.text.file import TextNotPreserved

_ROUNDS = 5


def tidied(
    site: Site, seams: Collection[str], before: ScopeTree, exported: frozenset[str] = frozenset()
) -> tuple[KeptImport, ...]:
    """Leave the rest of a file no imports that only what moved needed; those that stay. ``before`` are the
    file's scopes as it was; other files still ask for the ``exported`` names.
    """
    overlay, layout, marked = site.overlay, site.layout, ""
    if layout.rest not in overlay.made:
        return ()
    now = read_scopes(overlay.source(layout.rest, layout.shown(layout.rest)))
    # A file that compiles does so without imports. What those for type checkers stood under is unneeded
    # once they are gone.
    for _ in range(_ROUNDS):
        left = Left(before, now, site.surroundings, seams, exported)
        found = left.unneeded(partial(site.loading.rehearsed, site.home, layout.rest))
        kept = found.kept
        try:
            if not found.gone:
                marked = _marked(now.source, found.unmarked)
                break
            gone = {alias.given for alias in found.gone}
            made = reread(drop_imports(now.source, gone), now.source.path, before.source, compiled=False)
            now = prove_dropped(now.source, made, gone)
        except (NotProven, TextNotPreserved) as failure:
            reason = f"it can't be taken out of the text: {failure}"
            kept += tuple(left.kept(alias, reason) for alias in found.gone)
            break
    overlay.put(layout.rest, before.source, marked or now.source.text)
    return kept


def _marked(now: Source, statements: Collection[ImportNode]) -> str:
    """The text with a mark at imports of which a linter would say that they can go.

    Raises:
        NotProven: if that is another program.
    """
    text = mark_imports(now, statements)
    if statements and not alike(now.tree.body, reread(text, now.path, now, compiled=False).tree.body):
        raise NotProven("more than comments would change")
    return text
