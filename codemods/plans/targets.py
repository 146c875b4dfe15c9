"""The files that lifted helpers go to: their imports, the names in them, their text."""

from __future__ import annotations

import ast
import keyword
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from codemods.equal.code import reread
from codemods.plans.new_file import met_by_new_file
from codemods.plans.site import Layout, Request, Site, annotations_of
from codemods.program.annotations import annotation_names, annotations_in, quoted_in
from codemods.program.globals import globals_of
from codemods.program.imports import Import
from codemods.program.lifting import Analysis, Helper, Need
from codemods.program.repository import imported_as_script
from codemods.program.source import Source, statements_in
from codemods.rewrites.rules.decision import (
    Decision,
    FileNames,
    Names,
    is_special,
    qualified_names,
    usable_in,
)
from codemods.rewrites.rules.definition import evaluated_annotations
from codemods.rewrites.text.append import TargetError, made_module
from codemods.rewrites.text.imports import ImportSection, imports_among
from codemods.values.annotations import Annotation, Annotations

if TYPE_CHECKING:
    from codemods.rewrites.move.definitions import Definition


@dataclass(eq=False)
class Target:
    """One new file for lifted helpers, or for definitions of a source."""

    site: Site
    source: Source
    path: Path
    title: str
    module: str
    imports: ImportSection
    helpers: list[Helper] = field(default_factory=list)
    names: dict[Helper, Names] = field(default_factory=dict)
    needs: set[str] = field(default_factory=set)
    stated: dict[tuple[Helper, Need], ast.expr] = field(default_factory=dict)
    definitions: list[Definition] = field(default_factory=list)

    def taken(self, name: str) -> TargetError:
        """An error for a name that means something else in the file."""
        return TargetError(f"the name {name} is taken in {self.site.layout.shown(self.path)}; choose another")

    def imported(self, helper: Helper, caller: Helper | None) -> Import:
        """How a caller in another file (None: the source) imports a lifted helper."""
        names = self.names[helper]
        return Import.under(self.module, names.definition, names.calls[caller])

    def stating(
        self, known: Annotations, found: Annotation | None, taken: Collection[str]
    ) -> Annotation | None:
        """An annotation, if the file can have it: its names are not ``taken``, and mean nothing else there.

        It imports them for type checkers.
        """
        if found is None or not found.names.isdisjoint(taken):
            return None
        imports, have = known.imports(found, self.site.home), self.imports.runtime | self.imports.typing
        if any(other.bound == made.bound and other != made for made in imports for other in have):
            return None
        self.imports.typing.update(imports)
        return found

    def made(self, texts: Sequence[str]) -> Source:
        """Make the file with the texts of what it gets, as an interpreter reads it.

        Raises:
            NotProven: if the result can't be read.
        """
        text = made_module(self.title, self.imports, texts, self.source.newline)
        return reread(text, self.site.layout.shown(self.path))


def target_at(site: Site, analysis: Analysis, path: Path, title: str) -> Target:
    """Begin a file with nothing in it.

    Raises:
        TargetError: if there is such a file, what is left of the source can't import it, or something of the
            project would meet it.
    """
    layout, source = site.layout, analysis.source
    module, shown = module_of(layout, path), layout.shown(path)
    if path in (layout.source, layout.rest) or site.is_taken(path):
        made = "gets something else, too; helpers, module-level names and the loop need a file each"
        what = made if path in site.overlay.made else "exists already; name a new file"
        raise TargetError(f"{shown}: {what}")
    # A new top-level module must not take the place of one that is imported.
    imported = analysis.tree.once("imported", lambda: _imported(source.tree))
    if module in imported and not site.overlay.exists(path):
        raise TargetError(f"{shown}: would hide the module {module}; choose another name")
    if not layout.frozen and (why := met_by_new_file(path, site.surroundings)) is not None:
        raise TargetError(f"{shown}: {why}")
    return Target(site, source, path, title, module, site.imports(source, source.future_flags))


def build_targets(analysis: Analysis, decision: Decision, request: Request) -> list[Target]:
    """One target for each file that gets a helper, with names and imports worked out.

    Raises:
        TargetError: if names collide or the files would have to import each other.
    """
    site = request.site
    targets: dict[Path, Target] = {}
    for helper in decision.lifted:
        path = request.targets[helper]
        if path not in targets:
            title = request.docstrings.get(path) or f"Functions lifted out of {site.home}."
            target = targets[path] = target_at(site, analysis, path, title)
        targets[path].helpers.append(helper)
    made = list(targets.values())
    of = {helper: target for target in made for helper in target.helpers}
    _name(analysis, decision, made, request)
    for target in made:
        for helper in target.helpers:
            _import_globals(analysis, decision, target, helper)
            for callee, _ in decision.lifting.calls_in[helper]:
                other = of[callee]
                if other is not target:
                    target.imports.runtime.add(other.imported(callee, helper))
                    target.needs.add(other.module)
        _annotate(annotations_of(analysis, site), decision, target)
    no_cycle({target.module: target.needs for target in made}, "helpers")
    return made


def module_of(layout: Layout, path: Path) -> str:
    """Name the module of a target.

    Raises:
        TargetError: if what is left of the source can't import it.
    """
    where, rest = layout.shown(path), layout.shown(layout.rest)
    module = layout.dotted(path)
    if module is None:
        raise TargetError(f"{where}: can't be imported from {rest}: not below its folder")
    for part in module.split("."):
        if not part.isidentifier() or keyword.iskeyword(part):
            way = "" if part == path.stem else f"; remove {part}/__init__.py"
            raise TargetError(f"{where!r}: can't be imported from {rest}: {part!r} is no name{way}")
    if path.is_dir() or path.suffix != ".py":
        raise TargetError(f"{where}: is no Python file; name one that ends in .py")
    if layout.rest == layout.source and (beside := imported_as_script(layout.source)) is not None:
        package = layout.source_package
        what = f"{rest} imports {beside} as a script does that is run by its path, and then finds no {module}"
        raise TargetError(
            f"{where}: {what}; import {package}.{beside} there, or remove {package}/__init__.py"
        )
    return module


def no_cycle(needs: Mapping[str, Collection[str]], what: str) -> None:
    """Targets must not import each other; ``needs`` says which modules each one imports."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        cycle = " and ".join(sorted(set(error.args[1])))
        raise TargetError(f"{cycle} would import each other; move their {what} to one file") from None


def _imported(tree: ast.Module) -> set[str]:
    """Top-level modules that a file imports anywhere, and those of the standard library."""
    imported = set(sys.stdlib_module_names)
    for node in statements_in(tree):
        if isinstance(node, ast.Import):
            imported.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            imported.add((node.module or "").partition(".")[0])
    return imported


def _name(analysis: Analysis, decision: Decision, targets: Sequence[Target], request: Request) -> None:
    """Choose definition names, and the names under which callers know them.

    Raises:
        TargetError: if a name that is asked for means something else.
    """
    known, in_source = globals_of(analysis), FileNames(analysis, request.site.surroundings)
    # What a name means in the file of a helper: a lifted one, or (None) a global that those there read.
    meant: dict[Helper, dict[str, Helper | None]] = {}
    # What a class body reads before it has bound it is a global, too.
    of_classes = {name for owner, name in analysis.tree.uses if owner.kind == "class"}
    for target in targets:
        there: dict[str, Helper | None] = dict.fromkeys(of_classes)
        for helper in target.helpers:
            meant[helper] = there
            there.update(dict.fromkeys((*known.read_in(helper.scope), *known.defining(helper))))
        for helper in target.helpers:
            asked = request.renames.get(helper, helper.name)
            names = [] if is_special(asked) else [asked]
            definition = next(n for n in chain(names, qualified_names(helper)) if n not in there)
            if helper in request.renames and definition != asked:
                raise target.taken(asked)
            there[definition] = helper
            wanted = definition if definition.startswith("_") or not request.private else None
            target.names[helper] = Names(definition, {None: in_source.choose(helper, wanted)})
    for target in targets:
        for callee, named in target.names.items():
            for caller in decision.lifted:
                if any(called is callee for called, _ in decision.lifting.calls_in[caller]):
                    named.calls[caller] = _name_in(decision, target, caller, callee, meant[caller])


def _name_in(
    decision: Decision, target: Target, caller: Helper, callee: Helper, meant: dict[str, Helper | None]
) -> str:
    """The name under which a lifted caller knows a lifted callee, which is what it means in its file."""
    definition = target.names[callee].definition
    for name in (definition, f"_{definition}", f"_lifted_{definition}"):
        if (
            usable_in(decision.lifting, caller, name, callee)
            and (caller not in target.helpers or name == definition)
            and meant.setdefault(name, callee) is callee
        ):
            return name
    raise TargetError(f"{target.module}: {definition} means something else inside {caller.name}; rename it")


def _import_globals(analysis: Analysis, decision: Decision, target: Target, helper: Helper) -> None:
    """Imports for what a helper reads from its module: at run time, and for its annotations only."""
    known, passed = globals_of(analysis), decision.lifting.foreign[helper]
    package = target.site.layout.source_package or ""
    runtime = (set(known.read_in(helper.scope)) - passed) | set(known.defining(helper))
    stated = annotation_names(annotations_in(helper.node)) | quoted_in(helper.node)
    evaluated = (part for a in evaluated_annotations(analysis.tree, helper) for part in ast.walk(a))
    read = runtime.union(part.id for part in evaluated if isinstance(part, ast.Name))
    for name in runtime | stated:
        found = known.look_up(name)
        # Loading a module earlier than the source does would be seen; an annotation alone is no reason.
        only_checked = name not in read and not known.repeatable(found, helper.top.lineno)
        section = (
            target.imports.typing if only_checked or found.origin == "typing" else target.imports.runtime
        )
        section.update(known.imports(name, package))
        own = found.origin == "own" and name not in read
        if own:
            target.imports.typing.add(Import(target.site.home, name))
        if (own or only_checked) and target.site.surroundings.checks_annotations:
            what = (
                f"{target.module}: an annotation of {helper.name} names {name}, which can't be imported there"
            )
            raise TargetError(f"{what}, and a file of the project, or its settings, has annotations checked")


def _annotate(known: Annotations, decision: Decision, target: Target) -> None:
    """Choose the annotations of the new parameters."""
    taken = {target.names[helper].definition for helper in target.helpers}
    for helper in target.helpers:
        for need in decision.lifting.needs[helper]:
            if (found := target.stating(known, known.of(*need), taken)) is not None:
                target.stated[helper, need] = known.written(found)


def source_imports(site: Site, decision: Decision, targets: Sequence[Target]) -> tuple[int, str]:
    """Where what is left imports the lifted functions that it calls, and the text.

    It stands after the last import before the outer function: the new files import the same modules, and so
    find them loaded as the source did.
    """
    source = decision.lifting.tree.source
    called = {
        helper
        for helper in decision.lifted
        for use in decision.lifting.analysis.uses(helper)
        if decision.lifting.enclosing(use.scope) is None
    }
    section = site.imports(source)
    for target in targets:
        for helper in target.helpers:
            if helper in called:
                section.runtime.add(target.imported(helper, None))
    first_root = min(helper.top.lineno for helper in decision.lifted)
    return imports_among(source, section, first_root)
