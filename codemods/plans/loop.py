"""Carry out ``[loop]``: a class with the function's main loop as its method, and the call in its place."""

from __future__ import annotations

import ast
import builtins
import keyword
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codemods.equal.code import NotProven, reread
from codemods.equal.loop import prove_loop
from codemods.plans.compose import refusal_of
from codemods.plans.model import Loop
from codemods.plans.request import Request, annotations_of
from codemods.plans.site import Site
from codemods.plans.targets import Target, not_hidden, target_at
from codemods.program import nodes
from codemods.program.annotations import annotation_names, quoted_in, stated_by
from codemods.program.globals import globals_of
from codemods.program.imports import Import
from codemods.program.lifting import Analysis
from codemods.program.loops import LoopError, Parts, loop_statement
from codemods.program.source import Source
from codemods.rewrites.loop.groups import field_of, groups_of
from codemods.rewrites.loop.rules import LoopDecision, decide_loop
from codemods.rewrites.loop.transform import Loop as Taken
from codemods.rewrites.refusals import Accepted, Refusal
from codemods.rewrites.text.append import TargetError, docstring_text
from codemods.rewrites.text.file import TextNotPreserved
from codemods.rewrites.text.imports import from_statement
from codemods.rewrites.text.layout import annotation_text, line_limit
from codemods.values.annotations import Annotation, Annotations

_INDENT = "    "
_DATACLASS = Import("dataclasses", "dataclass")
_ANY = Import("typing", "Any")


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
        TargetError: if the plan asks for something that can't be made.
    """
    site = request.site
    title = f"The loop of `{function.rpartition('.')[2]}` in {site.home}."
    made, analysis = target_at(site, source, target, title, [site.home]), Analysis(source)
    not_hidden(analysis, site, target, made.module)
    parts = _parts(analysis, function, loop, line)
    return _Writer(site, parts, loop, made, annotations_of(analysis, request)).made(
        request.seams, request.accepted
    )


def _parts(analysis: Analysis, function: str, loop: Loop, line: Callable[[int], int]) -> Parts:
    scopes = analysis.tree.functions(function)
    if len(scopes) != 1:
        raise TargetError(f"there are {len(scopes)} functions {function}")
    node = scopes[0].node
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    try:
        return Parts(analysis, scopes[0], node, loop_statement(node, loop.at, line))
    except LoopError as error:
        raise TargetError(str(error)) from None


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
        self.groups: dict[str, tuple[str, ...]] = {group: tuple(names) for group, names in loop.state.items()}

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the new classes."""
        return (*self.groups, self.loop.class_)

    @property
    def grouped(self) -> dict[str, str]:
        """The group of each name that is in one."""
        return {name: group for group, names in self.groups.items() for name in names}

    def made(self, seams: frozenset[str], accepted: Accepted) -> LoopMade:
        """Decide, write, prove."""
        self._check_names()
        line = self.parts.loop.lineno
        in_package = self.package is not None
        decision = decide_loop(self.parts, seams, self._reserved(), accepted, in_package=in_package)
        if isinstance(decision, Refusal):
            return LoopMade(line, decision, (), {})
        self._check_groups(decision)
        kinds = dict.fromkeys(decision.fields, "Setup") | dict.fromkeys(decision.passed, "Globals")
        kinds |= {name: "Settings" for name in decision.fields if self._is_parameter(name)}
        known = {*self.analysis.tree.names, *self._reserved(), self.loop.method}
        self.groups |= groups_of(kinds, self.groups, known)
        try:
            taken = Taken(self.parts, self.package)
            rest = self._rest(taken, decision)
            target = self._target(taken, decision)
            claim = decision.claim(
                self.target.module, self.loop.class_, self.loop.method, self.groups, self.site.home
            )
            left = reread(rest, self.source.path, self.source)
            prove_loop(self.analysis.tree, claim, left, target, self.package)
        except (NotProven, TextNotPreserved) as failure:
            return LoopMade(line, refusal_of(failure, line), (), {})
        files = {self.site.layout.rest: rest, self.target.path: target.text}
        return LoopMade(line, None, decision.fields, files)

    def _is_parameter(self, name: str) -> bool:
        """Tell whether the function is called with a variable."""
        binders = self.analysis.tree.binders.get((self.parts.scope, name), ())
        return any(isinstance(binder.node, ast.arg) for binder in binders)

    def _check_names(self) -> None:
        """The new classes' names mean nothing else in the source."""
        for name in self.classes:
            if (
                name in self.analysis.tree.names
                or hasattr(builtins, name)
                or name in ("dataclass", "Any", "TYPE_CHECKING")
            ):
                raise TargetError(f"the name {name} is taken in {self.source.path}; choose another")
        for group in self.loop.state:
            if keyword.iskeyword(field_of(group)):
                raise TargetError(
                    f"{group} would be the field {field_of(group)}, which Python keeps for itself"
                )
        if len(set(self.classes)) != len(self.classes):
            raise TargetError(f"{self.loop.class_} is the loop's class and a group of its state")

    def _check_groups(self, decision: LoopDecision) -> None:
        """Groups hold fields, each one group's at most, and no two things have one name."""
        grouped: dict[str, str] = {}
        for group, names in self.loop.state.items():
            for name in names:
                if name not in decision.fields:
                    raise TargetError(f"{group}: the loop needs no {name} from outside")
                if name in grouped:
                    raise TargetError(f"{name} is in {grouped[name]} and in {group}")
                grouped[name] = group
        own = [n for n in decision.fields if n not in grouped] + list(map(field_of, self.loop.state))
        for name in (*own, *decision.fields):
            if name == self.loop.method or own.count(name) > 1:
                raise TargetError(f"two things in {self.loop.class_} would be called {name}; rename one")

    def _reserved(self) -> frozenset[str]:
        """Names that the target binds itself, unless the source imports the same thing under them."""
        found = {"TYPE_CHECKING", "tuple", *self.classes}
        for wanted in (_DATACLASS, _ANY):
            if self._imports(wanted.bound) != [wanted]:
                found.add(wanted.bound)
        if self._imports("TYPE_CHECKING") == [Import("typing", "TYPE_CHECKING")]:
            found.discard("TYPE_CHECKING")
        return frozenset(found)

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
        section = self.site.imports(self.source, [self.target.module])
        section.runtime.update(Import(self.target.module, name) for name in self.classes)
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
            annotation = self.annotations.of(name, owner)
            if annotation is not None and self._states(annotation, fields):
                found[name] = annotation_text(self.annotations.written(annotation))
            else:
                found[name] = "Any"
                self.section.runtime.add(_ANY)
        return found

    def _states(self, annotation: Annotation, fields: Collection[str]) -> bool:
        """Import what a field's annotation mentions, for type checkers; whether that can be done.

        In the body of its class, a field's name hides what else goes by it.
        """
        hidden = {"ClassVar", "InitVar", "KW_ONLY", *self._reserved(), *fields} - {"Any"}
        if not annotation.names.isdisjoint(hidden):
            return False
        self.section.typing.update(self.annotations.imports(annotation, self.site.home))
        return True

    def _annotates(self, names: set[str]) -> None:
        """Import what annotations mention, for type checkers, where that can be done."""
        if names & ({"ClassVar", "InitVar", "KW_ONLY", *self._reserved()} - {"Any"}):
            return
        for name in names:
            self.section.typing.update(self.known.elsewhere(name, self.package or "", self.site.home))

    def _imports_of_loop(self, decision: LoopDecision) -> None:
        self.section.runtime.add(_DATACLASS)
        for name in decision.imported:
            self.section.runtime.update(self._imports(name))
        self._annotates(quoted_in(self.parts.loop))
        if "annotations" not in self.source.future_flags:
            return
        for node in nodes.walk(self.parts.loop):
            self._annotates(annotation_names(stated_by(node)))

    def _method(self, decision: LoopDecision) -> str:
        newline, inner = self.newline, _INDENT * 2
        receiver = self._receiver()
        returned = ", ".join(decision.returned)
        kind = self._result(decision)
        title = f"Run the loop; {returned} as it leaves them." if returned else "Run the loop."
        lines = [
            f"{_INDENT}def {self.loop.method}({receiver}) -> {kind}:{newline}",
            inner + docstring_text(title, newline),
        ]
        if decision.fetched:
            statement = from_statement(self.site.home, decision.fetched, line_limit(self.source) - 8, newline)
            lines += [f"{inner}{row}{newline}" for row in statement.split(newline)]
        for name in decision.fields:
            path = f"{field_of(self.grouped[name])}.{name}" if name in self.grouped else name
            lines.append(f"{inner}{name} = {receiver}.{path}{newline}")
        return "".join(lines)

    def _result(self, decision: LoopDecision) -> str:
        """The annotation of what the method returns: what the function does, or the variables handed back."""
        if not decision.returns and not decision.returned:
            return "None"
        parts = self.parts
        if decision.returns:
            stated = [self.annotations.of_result(parts.node)]
        else:
            stated = [self.annotations.of(name, parts.scope) for name in decision.returned]
        texts = []
        for annotation in stated:
            known = annotation is not None and self._states(annotation, ())
            texts.append(ast.unparse(annotation.node) if annotation is not None and known else "Any")
        if "Any" in texts:
            self.section.runtime.add(_ANY)
        kind = texts[0] if len(texts) == 1 else f"tuple[{', '.join(texts)}]"
        quoted = "annotations" not in self.source.future_flags and set(texts) - {"Any"}
        return annotation_text(ast.Constant(kind)) if quoted else kind

    def _receiver(self) -> str:
        """``self``, unless the loop means something by it."""
        used = {node.id for node in nodes.walk(self.parts.loop) if isinstance(node, ast.Name)}
        used.update(self.parts.names, self.parts.globals)
        names = ("self", "this", *(f"this_{number}" for number in range(len(used) + 1)))
        return next(name for name in names if name not in used)
