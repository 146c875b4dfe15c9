"""Carry out ``[loop]``: a class with the function's main loop as its method, and the call in its place."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codemods.equal.code import NotProven, place_of, reread
from codemods.equal.loop import prove_loop, prove_none_first
from codemods.plans.compose import refusal_of
from codemods.plans.model import Loop
from codemods.plans.new_file import loaded_alike
from codemods.plans.site import Request, Site, annotations_of, line_before
from codemods.plans.targets import Target, target_at
from codemods.program import nodes
from codemods.program.annotations import annotation_names, quoted_in, stated_by
from codemods.program.globals import globals_of
from codemods.program.imports import Import
from codemods.program.lifting import Analysis
from codemods.program.loops import Parts, loop_statement
from codemods.program.source import Source
from codemods.rewrites.loop.rules import LoopDecision, decide_loop, field_of, groups_of, may_be_none
from codemods.rewrites.loop.transform import Loop as Taken
from codemods.rewrites.loop.transform import bound_first, with_none_first
from codemods.rewrites.refusals import Accepted, Refusal, first
from codemods.rewrites.text.append import TargetError, docstring_text
from codemods.rewrites.text.file import TextNotPreserved
from codemods.rewrites.text.imports import from_statement
from codemods.rewrites.text.layout import annotation_text
from codemods.values.annotations import Annotation, Annotations

_INDENT = "    "
_DATACLASS = Import("dataclasses", "dataclass")
_ANY = Import("typing", "Any")
_OWN = (_DATACLASS, _ANY, Import("typing", "TYPE_CHECKING"))


@dataclass(frozen=True, slots=True)
class LoopMade:
    """The loop's place, what was decided, and the new texts of both files (none where it was refused)."""

    line: int
    refusal: Refusal | None
    fields: tuple[str, ...]
    files: Mapping[Path, str]


def compose_loop(
    source: Source,
    target: Path,
    function: str,
    loop: Loop,
    request: Request,
    line: Callable[[int], int],
) -> LoopMade:
    """Decide, rewrite and prove. ``source`` is the text of the site's rest as earlier moves left it.

    ``line`` gives the line of the user's file for one of that text.

    Raises:
        TargetError, LoopError: if the plan asks for something that can't be made.
    """
    site, analysis = request.site, Analysis(source)
    title = f"The loop of `{function.rpartition('.')[2]}` in {site.home}."
    made = target_at(site, analysis, target, title)
    scopes = analysis.tree.functions(function)
    if len(scopes) != 1:
        raise TargetError(f"there are {len(scopes)} functions {function}")
    node = scopes[0].node
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    parts = Parts(analysis, scopes[0], node, loop_statement(node, loop.at, line))
    if names := bound_first(parts, may_be_none(parts, request.accepted)):
        bound = reread(with_none_first(parts, names), source.path, source)
        prove_none_first(analysis.tree, bound, place_of(node), names)
        there = line_before(source, bound)
        done = compose_loop(bound, target, function, loop, request, lambda number: line(there(number)))
        refusal = done.refusal and done.refusal.with_lines(there)
        return replace(done, line=there(done.line), refusal=refusal)
    refusal = first(loaded_alike(site, target, parts.loop), request.accepted, node.name)
    if refusal is not None:
        return LoopMade(parts.loop.lineno, refusal, (), {})
    writer = _Writer(site, parts, loop, made, annotations_of(analysis, site))
    return writer.made(request.seams, request.accepted)


class _Writer:
    """Writes both files for one loop."""

    def __init__(
        self, site: Site, parts: Parts, loop: Loop, target: Target, annotations: Annotations
    ) -> None:
        self.site = site
        self.annotations = annotations
        self.analysis = parts.analysis
        self.source = parts.analysis.source
        self.parts = parts
        self.loop = loop
        self.target = target
        self.section = target.imports
        self.known = globals_of(parts.analysis)
        self.newline = self.source.newline
        self.package = site.home.rpartition(".")[0] or None
        self.groups: dict[str, tuple[str, ...]] = {}

    @property
    def grouped(self) -> dict[str, str]:
        """The group of each name that is in one."""
        return {name: group for group, names in self.groups.items() for name in names}

    def made(self, seams: frozenset[str], accepted: Accepted) -> LoopMade:
        """Decide, write, prove."""
        name, line = self.loop.class_, self.parts.loop.lineno
        if name in {*self.analysis.tree.names, *dir(builtins), "dataclass", "Any", "TYPE_CHECKING"}:
            raise TargetError(f"the name {name} is taken in {self.source.path}; choose another")
        in_package = self.package is not None
        decision = decide_loop(self.parts, seams, self._reserved(), accepted, in_package=in_package)
        if isinstance(decision, Refusal):
            return LoopMade(line, decision, (), {})
        if self.loop.method in decision.fields:
            what = f"two things in {name} would be called {self.loop.method}; rename one"
            raise TargetError(what)
        kinds = dict.fromkeys(decision.fields, "Setup") | dict.fromkeys(decision.passed, "Globals")
        args = {arg.arg for arg in ast.walk(self.parts.node.args) if isinstance(arg, ast.arg)}
        kinds |= {name: "Settings" for name in decision.fields if name in args}
        self.groups = groups_of(kinds, {*self.analysis.tree.names, *self._reserved(), self.loop.method})
        try:
            taken = Taken(self.parts, self.package)
            rest = self._rest(taken, decision)
            target = self._target(taken, decision)
            claim = decision.claim(self.target.module, name, self.loop.method, self.groups, self.site.home)
            left = reread(rest, self.source.path, self.source)
            prove_loop(self.analysis.tree, claim, left, target, self.package)
        except (NotProven, TextNotPreserved) as failure:
            return LoopMade(line, refusal_of(failure, line), (), {})
        files = {self.site.layout.rest: rest, self.target.path: target.text}
        return LoopMade(line, None, decision.fields, files)

    def _reserved(self) -> frozenset[str]:
        """Names that the target binds itself, unless the source imports the same thing under them."""
        own = {each.bound for each in _OWN if self._imports(each.bound) != [each]}
        return frozenset({"tuple", self.loop.class_, *self.groups} | own)

    def _imports(self, name: str) -> list[Import]:
        """Find the imports of a global name."""
        return self.known.imports(name, self.package or "")

    # What is left

    def _rest(self, taken: Taken, decision: LoopDecision) -> str:
        call = f"{self._build(decision)}.{self.loop.method}()"
        if decision.returned:
            call = f"{', '.join(decision.returned)} = {call}"
        elif decision.returns:
            call = f"return {call}"
        section = self.site.imports(self.source)
        section.runtime.update(Import(self.target.module, name) for name in (*self.groups, self.loop.class_))
        return taken.rest(call, section)

    def _build(self, decision: LoopDecision) -> str:
        """The expression that makes the object, one argument a line."""
        items = [
            f"{field_of(group)}={self._construct(group, [f'{n}={n}' for n in names], _INDENT)}"
            for group, names in self.groups.items()
        ]
        items += [f"{name}={name}" for name in decision.fields if name not in self.grouped]
        return self._construct(self.loop.class_, items, "")

    def _construct(self, name: str, items: Sequence[str], indent: str) -> str:
        if not items:
            return f"{name}()"
        lines = "".join(f"{indent}{_INDENT}{item},\n" for item in items)
        return f"{name}(\n{lines}{indent})"

    # The target

    def _target(self, taken: Taken, decision: LoopDecision) -> Source:
        newline = self.newline
        self._imports_of_loop(decision)
        classes = [
            self._class(
                group, f"A part of what the loop of `{self.parts.node.name}` needs.", self._typed(names)
            )
            for group, names in self.groups.items()
        ]
        own = {field_of(group): group for group in self.groups}
        own.update(self._typed([name for name in decision.fields if name not in self.grouped], own))
        title = self.loop.docstring or f"What `{self.parts.node.name}` sets up for its loop, and the loop."
        head = self._method(decision)
        method = self._class(self.loop.class_, title, own) + newline + head
        last = [f"return {', '.join(decision.returned)}"] if decision.returned else []
        classes.append(taken.method(method, apart=bool(decision.fields), last=last))
        return self.target.made(classes)

    def _class(self, name: str, title: str, fields: Mapping[str, str]) -> str:
        newline = self.newline
        lines = [f"{_INDENT}{field}: {annotation}{newline}" for field, annotation in fields.items()]
        gap = newline if lines else ""
        head = f"@dataclass(frozen=True, slots=True){newline}class {name}:{newline}"
        docstring = _INDENT + docstring_text(title, newline)
        return head + docstring + gap + "".join(lines)

    def _typed(self, names: Sequence[str], groups: Iterable[str] = ()) -> dict[str, str]:
        """Fields of a class with the annotations that the source says for them; ``groups`` are others."""
        found = {}
        fields = {*names, *groups}
        for name in names:
            owner = self.parts.scope if name in self.parts.names else self.analysis.tree.module
            annotation = self._stated(self.annotations.of(name, owner), fields)
            if annotation is not None:
                found[name] = annotation_text(self.annotations.written(annotation))
            else:
                found[name] = "Any"
                self.section.runtime.add(_ANY)
        return found

    def _stated(self, found: Annotation | None, fields: Collection[str] = ()) -> Annotation | None:
        """An annotation, if the new file can have it; in a class, the names of its fields hide others."""
        return self.target.stating(self.annotations, found, {*self._hidden, *fields})

    @property
    def _hidden(self) -> set[str]:
        """Names that annotations of the new file can't mention."""
        return {"ClassVar", "InitVar", "KW_ONLY", *self._reserved()} - {"Any"}

    def _annotates(self, names: set[str]) -> None:
        """Import what annotations mention, for type checkers, where that can be done."""
        package, home = self.package or "", self.site.home
        if names.isdisjoint(self._hidden):
            self.section.typing.update(m for name in names for m in self.known.elsewhere(name, package, home))

    def _imports_of_loop(self, decision: LoopDecision) -> None:
        self.section.runtime.add(_DATACLASS)
        for name in decision.imported:
            self.section.runtime.update(self._imports(name))
        self._annotates(quoted_in(self.parts.loop))
        if "annotations" not in self.source.future_flags:
            return
        for node in nodes.walk(self.parts.loop):
            if stated := stated_by(node):
                self._annotates(annotation_names(stated))

    def _method(self, decision: LoopDecision) -> str:
        newline, inner = self.newline, _INDENT * 2
        returned = ", ".join(decision.returned)
        kind = self._result(decision)
        title = f"Run the loop; {returned} as it leaves them." if returned else "Run the loop."
        lines = [
            f"{_INDENT}def {self.loop.method}(self) -> {kind}:{newline}",
            inner + docstring_text(title, newline),
        ]
        if decision.fetched:
            statement = from_statement(self.site.home, decision.fetched, newline)
            lines += [f"{inner}{row}{newline}" for row in statement.split(newline)]
        for name in decision.fields:
            path = f"{field_of(self.grouped[name])}.{name}" if name in self.grouped else name
            lines.append(f"{inner}{name} = self.{path}{newline}")
        return "".join(lines)

    def _result(self, decision: LoopDecision) -> str:
        """The annotation of what the method returns: what the function does, or the variables handed back."""
        if not decision.returns and not decision.returned:
            return "None"
        parts = self.parts
        if decision.returns:
            found = [self.annotations.of_result(parts.node)]
        else:
            found = [self.annotations.of(name, parts.scope) for name in decision.returned]
        stated = map(self._stated, found)
        texts = ["Any" if each is None else ast.unparse(each.node) for each in stated]
        if "Any" in texts:
            self.section.runtime.add(_ANY)
        kind = texts[0] if len(texts) == 1 else f"tuple[{', '.join(texts)}]"
        quoted = "annotations" not in self.source.future_flags and set(texts) - {"Any"}
        return annotation_text(ast.Constant(kind)) if quoted else kind
