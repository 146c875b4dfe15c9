"""Move module-level definitions of one file to others, and make what refers to them follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from codemods.equal.code import reread
from codemods.equal.move import Made, prove_moved
from codemods.plans.model import Move, Plan
from codemods.plans.new_file import loaded_alike
from codemods.plans.references import Elsewhere, Moved
from codemods.plans.report import HelperReport
from codemods.plans.site import Overlay, Site
from codemods.plans.targets import Target, no_cycle, target_at
from codemods.program.annotations import quoted_in
from codemods.program.imports import Import
from codemods.program.lifting import Analysis
from codemods.program.source import Source
from codemods.rewrites.move.definitions import Definition, Definitions, within
from codemods.rewrites.move.transform import Moved as Taken
from codemods.rewrites.move.visible import moved_alike, only_checked, still_asked
from codemods.rewrites.refusals import Accepted, Refusal, first
from codemods.rewrites.text.imports import imports_among


@dataclass(eq=False)
class Mover:
    """Moves some names to their files, under their names there, on a site's overlay."""

    analysis: Analysis
    site: Site
    targets: Mapping[str, Path]
    renames: Mapping[str, str]
    docstrings: Mapping[Path, str]
    reexport: frozenset[str]
    seams: frozenset[str]
    accepted: Accepted = field(default_factory=Accepted)
    definitions: dict[str, Definition] = field(default_factory=dict)
    refused: dict[str, Refusal] = field(default_factory=dict)
    files: dict[Path, Target] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.source = self.analysis.source
        self.layout = self.site.layout
        self.lookup = Definitions(self.analysis)
        # Definitions call each other by a new name if it is free in the file, what is left by the old one.
        tree = self.analysis.tree
        used = tree.names | {use.node.id for use in tree.annotated}
        self.inside = {
            name: new if new not in used and name not in tree.strings else name
            for name, new in self.renames.items()
        }

    def check(self) -> dict[str, Refusal]:
        """Refusals of what can't be moved."""
        moved = frozenset(self.targets)
        for name in self.targets:
            found = self.lookup.find(name)
            if isinstance(found, Refusal):
                self.refused[name] = found
                continue
            refusals = self.lookup.check(found, moved, self.seams)
            new = self.new_name(name)
            alike = moved_alike(self.site.surroundings, self.analysis, found, moved, new)
            loaded = loaded_alike(self.site, self.targets[name], found.node)
            if (refusal := first(chain(refusals, alike, loaded), self.accepted, name)) is not None:
                self.refused[name] = refusal
            else:
                self.definitions[name] = found
        return self.refused

    def run(self) -> None:
        """Write targets, what is left, and the files that refer to them into the overlay.

        Raises:
            TargetError: if a target can't take a definition. NotProven: if the result is another program.
        """
        for name, definition in sorted(self.definitions.items(), key=lambda item: item[1].node.lineno):
            path = self.targets[name]
            if path not in self.files:
                title = self.docstrings.get(path) or f"Definitions of {self.site.home}."
                self.files[path] = target_at(self.site, self.analysis, path, title)
            self.files[path].definitions.append(definition)
        files = self.files.values()
        elsewhere, kept = self._asked()
        for target in files:
            self._imports(target)
        no_cycle({f.module: {made.module for made in f.imports.runtime} for f in files}, "names")
        while True:
            made = self._made(frozenset(kept))
            overlay = replace(self.site.overlay, made={**self.site.overlay.made}, followers=set())
            self._put(overlay, made)
            following, stay = elsewhere.following(replace(self.site, overlay=overlay).find)
            if stay <= kept:
                break
            kept |= stay
        new = [
            Made(made[target.path], target.module, [d.node for d in target.definitions]) for target in files
        ]
        package = self.layout.source_package
        prove_moved(self.source, made[self.layout.rest], new, self.new_names, package)
        self._put(self.site.overlay, made)
        for path, (source, text) in following.items():
            self.site.overlay.put(path, source, text)
            self.site.overlay.followers.add(path)

    def _asked(self) -> tuple[Elsewhere, set[str]]:
        """The other files, and the names that the source must keep for them, the old ones."""
        names = frozenset(self.definitions)
        modules = {name: self.files[path].module for name, path in self.targets.items()}
        moved = (Moved(name, self.new_name(name), modules[name]) for name in names)
        elsewhere = Elsewhere(self.site, moved, {self.layout.source, self.layout.rest, *self.files})
        still = still_asked(self.site.surroundings, self.analysis.tree, names)
        if self.site.surroundings.star_imported:
            still = names
        return elsewhere, elsewhere.asked() | still | elsewhere.replaced

    def _made(self, kept: frozenset[str]) -> dict[Path, Source]:
        """The targets, and what is left, which still has the names that are ``kept``."""
        package, whole = self.layout.source_package, self.layout.rest != self.layout.source
        chosen = list(self.definitions.values())
        taken = Taken(self.analysis, chosen, self.new_names, self.inside, package, whole=whole)
        rest = self._rest_text(taken, kept)
        made = {
            path: target.made([taken.definition(d) for d in target.definitions])
            for path, target in self.files.items()
        }
        return {**made, self.layout.rest: reread(rest, self.source.path, self.source)}

    def _put(self, overlay: Overlay, made: Mapping[Path, Source]) -> None:
        """Lay these files over the project's."""
        for path, each in made.items():
            overlay.put(path, self.source if path == self.layout.rest else None, each.text)

    @property
    def new_names(self) -> dict[str, str]:
        """Map the definitions to their names in their new places."""
        return {name: self.new_name(name) for name in self.definitions}

    def new_name(self, name: str) -> str:
        """Name a definition in its new place."""
        return self.renames.get(name, name)

    def _imports(self, target: Target) -> None:
        """Imports that a target's definitions need."""
        package = self.layout.source_package or ""
        read = {name for definition in target.definitions for name in definition.reads}
        for definition in target.definitions:
            if (new := self.new_name(definition.name)) != definition.name and new in read:
                raise target.taken(new)
            checked = only_checked(self.analysis, definition)
            quoted = quoted_in(definition.node)
            for name in {*definition.reads, *definition.annotated, *quoted}:
                known = self.lookup.known.look_up(name)
                typing = name in checked or known.origin == "typing"
                section = target.imports.typing if typing else target.imports.runtime
                section.update(self.lookup.known.imports(name, package))
                if known.origin != "own":
                    continue
                evaluated = self.site.surroundings.marked("annotations", [definition.name]) is not None
                at_run_time = name in definition.reads or evaluated
                section = target.imports.runtime if at_run_time else target.imports.typing
                if name in self.definitions:
                    other = self.files[self.targets[name]]
                    if other is not target:
                        section.add(self._imported(name, other, self.inside))
                else:
                    section.add(Import(self.site.home, name))

    def _imported(self, name: str, target: Target, called: Mapping[str, str]) -> Import:
        """The import of a moved name, under the name by which code calls it."""
        return Import.under(target.module, self.new_name(name), called.get(name, name))

    def _rest_text(self, taken: Taken, kept: frozenset[str]) -> str:
        section = self.site.imports(self.source)
        for name in self.definitions:
            made = self._imported(name, self.files[self.targets[name]], {})
            used = self._used(name)
            if used or name in kept or name in self.reexport:
                section.runtime.add(made)
                self.exported.update(() if used else [made.bound])
        first = min(definition.node.lineno for definition in self.definitions.values())
        taken.program.insert(*imports_among(self.source, section, first))
        return taken.program.text()

    def _used(self, name: str) -> bool:
        """Tell whether what is left of the source refers to a name."""
        tree = self.analysis.tree
        if name in tree.strings:
            return True
        places = list(tree.uses.get((tree.module, name), []))
        places += [use for use in tree.annotated if use.node.id == name]
        return any(not any(within(use, d.node) for d in self.definitions.values()) for use in places)


def move_definitions(
    plan: Plan,
    moves: Sequence[tuple[Move, Path]],
    analysis: Analysis,
    site: Site,
    seams: frozenset[str],
    accepted: Accepted,
) -> tuple[tuple[HelperReport, ...], frozenset[str]]:
    """Move what a plan names of the module's own definitions, into the overlay; their report rows, and names
    of which only other files need the import. ``seams`` are names that tests replace in the source.

    Raises:
        TargetError, NotProven: if the files can't be made.
    """
    # The function's own helpers come before definitions of the same name.
    helpers = {helper.name for helper in analysis.helpers if helper.outer.qualname == plan.function}
    defined = set(Definitions(analysis).names()) - helpers
    targets: dict[str, Path] = {}
    renames: dict[str, str] = {}
    reexport: set[str] = set()
    for move, target in moves:
        for name in (given for given in move.names if given in defined):
            targets[name] = target
            reexport |= {name} if move.reexport else set()
            renames |= {name: move.rename[name]} if name in move.rename else {}
    if not targets:
        return (), frozenset()
    texts = {target: move.docstring for move, target in moves if move.docstring is not None}
    mover = Mover(analysis, site, targets, renames, texts, frozenset(reexport), seams, accepted)
    refused = mover.check()
    if not refused:
        mover.run()
    rows = []
    for name, target in targets.items():
        refusal, found = refused.get(name), mover.definitions.get(name)
        uses = analysis.tree.uses.get((analysis.tree.module, name), ())
        rows.append(
            HelperReport(
                name,
                name,
                analysis.source.path,
                found.node.lineno if found else refusal.line if refusal else 1,
                "refused" if refusal else "moved",
                refusal,
                target=None if refused else site.layout.shown(target),
                call_sites=sum(use.call is not None for use in uses),
            )
        )
    return tuple(rows), frozenset(mover.exported)
