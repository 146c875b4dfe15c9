"""Decisions on loops that become methods: possible or refused, and names handed in and back."""

from __future__ import annotations

import ast
import builtins
import itertools
import keyword
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from codemods.equal.loop import Method
from codemods.program import nodes
from codemods.program.globals import globals_of
from codemods.program.lifting import Helper, Lifting
from codemods.program.loops import Parts
from codemods.program.scopes import is_generator, private_names
from codemods.rewrites.refusals import Accepted, Refusal, Refusals, first, refuse
from codemods.rewrites.rules import assumptions, moving

# What tells how deep the stack is.
_COUNTS = ("RecursionError", "getrecursionlimit", "setrecursionlimit")


@dataclass(frozen=True, slots=True)
class LoopDecision:
    """Names that the method gets: as fields, variables of the function and globals that are ``passed`` since
    the source makes them or tests replace them there, unless they are ``fetched`` from the source when it
    runs; names that it hands back; whether the loop itself returns from the function.
    """

    parts: Parts
    variables: tuple[str, ...]
    passed: tuple[str, ...]
    fetched: tuple[str, ...]
    imported: tuple[str, ...]
    returned: tuple[str, ...]
    returns: bool

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of all that is handed in."""
        return (*self.variables, *self.passed)

    def claim(
        self, module: str, class_name: str, method: str, groups: Mapping[str, tuple[str, ...]], home: str
    ) -> Method:
        """Claim, for the proof, where the loop was, its new place, and what it is handed and hands back."""
        known = globals_of(self.parts.analysis)
        return Method(
            place=(self.parts.node.lineno, self.parts.node.col_offset),
            at=len(self.parts.setup),
            module=module,
            class_name=class_name,
            method=method,
            fields=self.fields,
            passed=frozenset(self.passed),
            home=home,
            fetched=self.fetched,
            returned=self.returned,
            groups={group: (field_of(group), names) for group, names in groups.items()},
            accepted=frozenset(n for n in self.parts.globals if known.look_up(n).origin == "builtin or star"),
        )


def decide_loop(
    parts: Parts,
    seams: frozenset[str],
    reserved: frozenset[str],
    accepted: Accepted | None = None,
    *,
    in_package: bool = False,
) -> LoopDecision | Refusal:
    """Decide for one loop. Imports of ``reserved`` names are handed in: the target means something else by
    them. A source ``in_package`` can be asked for its globals.
    """
    passed, imported = _travelling(parts, seams, reserved)
    found = chain(_statements(parts), _assumed(parts, passed, seams), _cells(parts), _bindings(parts))
    refusal = first(found, accepted, parts.node.name)
    if refusal is not None:
        return refusal
    returned = tuple(n for n in parts.names if parts.binders(n, "loop") and parts.read_in_tail(n))
    returns = any(isinstance(node, ast.Return) for node in nodes.own_nodes([parts.loop]))
    fetched: tuple[str, ...] = ()
    if in_package and _is_only_imported(parts):
        passed, fetched = (), passed
    return LoopDecision(parts, _variables(parts), passed, fetched, imported, returned, returns)


def _is_only_imported(parts: Parts) -> bool:
    """Tell whether the source is no script: asking for it by its name would load it once more.

    A script has a text `__main__`, or runs the function as it is loaded: by its name, by the name of a
    definition that leads to it, or by a decorator of one.
    """
    tree = parts.analysis.tree
    if "__main__" in tree.strings:
        return False
    leading = [parts.node.name]
    for name in leading:
        for use in tree.uses.get((tree.module, name), ()):
            if use.scope.frame() is tree.module:
                return False
            outermost = next(scope for scope in use.scope.ancestors() if scope.parent is tree.module)
            if outermost.kind not in ("function", "class"):
                return False
            if outermost.name not in leading:
                leading.append(outermost.name)
    binders = (binder for name in leading for binder in tree.binders.get((tree.module, name), ()))
    return not any(getattr(binder.node, "decorator_list", None) for binder in binders)


def _variables(parts: Parts) -> tuple[str, ...]:
    """Variables that the method is handed."""
    return tuple(name for name in parts.names if parts.bound_before(name) and parts.read_in_loop(name))


def _travelling(
    parts: Parts, seams: frozenset[str], reserved: frozenset[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Globals that the loop reads: those handed in, and those that the target imports itself."""
    known = globals_of(parts.analysis)
    passed, imported = [], []
    for name in parts.globals:
        is_import = known.look_up(name).origin == "import"
        if known.is_passed(name, seams, parts.node.lineno) or (is_import and name in reserved):
            passed.append(name)
        elif is_import:
            imported.append(name)
    return tuple(passed), tuple(imported)


def _statements(parts: Parts) -> Refusals:
    """Statements and names in the loop mean the same in a method."""
    node, loop = parts.node, parts.loop
    nested = parts.scope.parent is None or parts.scope.parent.kind != "module"
    typed = any(scope.inside(parts.scope) for scope in parts.analysis.tree.generic)
    if nested or typed or isinstance(node, ast.AsyncFunctionDef) or is_generator(node):
        way_out = "give the loop a plain function at module level"
        what = f"{node.name} is not a plain function at module level, or is a generator or async"
        yield refuse("not-understood", node, what, way_out)
    for inner in nodes.walk(loop):
        if isinstance(inner, ast.ClassDef):
            yield refuse("module-identity", inner, f"class {inner.name} is defined here")
        elif isinstance(inner, ast.Global):
            yield refuse("global-write", inner, f"{', '.join(inner.names)} is declared global here")
    known = {"__file__", "__name__", *dir(builtins)} - {"super"}
    private = dict(private_names(loop, "C"))
    for name in (*parts.globals, *parts.names):
        if name in ("self", "super") or (name.startswith("__") and name.strip("_") and name not in known):
            private[name] = loop.lineno
    for name, line in private.items():
        what = f"{name} means something else inside a class"
        yield refuse("class-cell", line, what, "give the name a single underscore")
    for inner in nodes.own_nodes([loop]) if parts.tail else ():
        if isinstance(inner, ast.Return):
            yield refuse("loop-return", inner, f"this leaves {node.name}, and more follows")


def _assumed(parts: Parts, passed: tuple[str, ...], seams: frozenset[str]) -> Refusals:
    """Nothing looks at variables, frames or code, or at what is released when; globals are there in another
    module too, and those that are handed in stay what they are.
    """
    assert parts.scope.parent is not None
    tree, name = parts.analysis.tree, parts.node.name
    function = Helper(name, parts.node, parts.scope, parts.scope.parent, [], lazy=False)
    lifting = Lifting(parts.analysis, {function}, {function: frozenset(passed)}, seams)
    reads = {read: line for read, line in parts.globals.items() if read not in passed}
    yield from moving.not_alike(globals_of(parts.analysis), "the loop", reads, parts.loop)
    yield from assumptions.no_dynamic_names(lifting, function)
    yield from assumptions.not_looked_at(lifting, function)
    yield from moving.passed_globals_settled(lifting, function)
    for word in _COUNTS:
        used = tree.uses.get((tree.module, word), ())
        line = next((use.node.lineno for use in used), tree.attributes.get(word))
        if line is not None:
            yield refuse("introspection", line, f"{word} is used here")
    found = (*assumptions.deleted_in(parts.loop), *assumptions.watched(tree, parts.scope))
    yield from assumptions.not_released(found, _variables(parts))


def _cells(parts: Parts) -> Refusals:
    """No variable of the loop is shared with nested functions in a way that needs one variable for both."""
    way_out = "keep the value in an object that both use, or lift the nested function first"
    for name in parts.names:
        later = parts.binders(name, "tail")
        used_later = bool(later or parts.uses(name, "tail"))
        lines = [
            parts.shared_write(name, "setup"),
            parts.shared_write(name, "loop") if used_later else None,
            parts.captured(name, "setup") if parts.binders(name, "loop") else None,
            parts.captured(name, "loop") if later else None,
        ]
        for line in filter(None, lines):
            what = f"{name} is bound again while this nested function shares it, or bound by it"
            yield refuse("nonlocal-write", line, what, way_out)


def _bindings(parts: Parts) -> Refusals:
    """Refuse variables that may be unbound when the loop begins, if handed in, or ends, if handed back."""
    for names, line, what in _unbound(parts):
        # One that a statement unbinds is unbound again, whatever it is first.
        gone = any(map(parts.unbinds, names))
        way_out = "bind the variable before the loop, on every path, or end its branches with one that raises"
        what += ", and a statement unbinds it (del, except ... as)" if gone else ""
        yield refuse("maybe-unbound" if gone else "unbound-reads", line, what, way_out)


def may_be_none(parts: Parts, accepted: Accepted) -> list[str]:
    """List the variables that may be unbound when they travel, if it is accepted that they are None first."""
    if first(_bindings(parts), accepted, parts.node.name) is not None:
        return []
    return list(dict.fromkeys(name for names, *_ in _unbound(parts) for name in names))


def _unbound(parts: Parts) -> Iterator[tuple[list[str], int, str]]:
    """Variables that may be unbound when they travel."""
    handed = [n for n in parts.names if parts.binders(n, "setup") or not parts.binders(n, "loop")]
    if unbound := [n for n in handed if parts.read_in_loop(n) and not parts.bound_before(n)]:
        yield unbound, parts.loop.lineno, f"{', '.join(unbound)} may be unbound where the loop begins"
    for name in parts.names:
        before, bound = parts.binders(name, "setup"), parts.binders(name, "loop")
        if bound and parts.read_in_tail(name) and not parts.bound_after(name):
            yield [name], bound[0].line, f"{name} may be unbound where the loop ends"
        if bound and not before and (early := parts.uses(name, "setup")):
            yield [name], early[0].node.lineno, f"{name} is read here, before the loop binds it"


MOST = 15
"""The most fields of a class."""
_FEWEST = 3
_PLAIN = {"enabled", "initial", "last", "max", "min", "new", "num", "per", "start", "total", "use"}


def groups_of(names: Mapping[str, str], taken: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Group names so that no class has more than `MOST` fields.

    ``names`` have the kind of each (``Settings``); those that share a word come together, then those of a
    kind. ``taken`` are names that no class may have.
    """
    left = list(names)
    made: dict[str, tuple[str, ...]] = {}

    def add(stem: str, chosen: Sequence[str]) -> None:
        others = {*taken, *dir(builtins), *keyword.kwlist}
        used = {*others, *made, *map(str.capitalize, keyword.kwlist)}
        fields = {*others, *names, *map(field_of, made)}
        stems = itertools.chain([stem, f"{stem}State"], (f"{stem}{n}" for n in itertools.count(2)))
        made[next(s for s in stems if s not in used and field_of(s) not in fields)] = tuple(chosen)
        left[:] = [name for name in left if name not in chosen]

    while len(left) + len(made) > MOST:
        counts = Counter(word for name in left for word in _words(name))
        shared = [word for word in counts if _FEWEST <= counts[word] <= MOST]
        if shared:
            word = max(shared, key=lambda each: counts[each])
            add(word.capitalize(), [name for name in left if word in _words(name)])
        else:
            kind = Counter(names[name] for name in left).most_common(1)[0][0]
            add(kind, [name for name in left if names[name] == kind][:MOST])
    return made


def _words(name: str) -> list[str]:
    """The words of a name that say what it is about, in the singular, each once."""
    found = dict.fromkeys(re.sub(r"(?<=[hsx])es$|(?<=[^s])s$", "", word) for word in name.split("_"))
    return [w for w in found if len(w) > 2 and w.isalpha() and w.islower() and w not in _PLAIN]


def field_of(group: str) -> str:
    """The field in which a group is handed in: its name in snake case."""
    return re.sub(r"(?<=.)(?=[A-Z])", "_", group).lower()
