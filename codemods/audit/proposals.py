"""Proposals for plans beyond moves: groups for the state of a loop's class."""

from __future__ import annotations

import ast
import builtins
import keyword
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

from codemods.audit.report import Group, LoopState
from codemods.program.events import NotUnderstood
from codemods.program.helpers import is_generator
from codemods.program.lifting import Analysis
from codemods.program.loops import LoopError, LoopFlow, Parts, loop_statement
from codemods.program.scopes import Scope
from codemods.rewrites.lift.decision import Decision
from codemods.rewrites.loop.groups import field_of

# A class with more fields than this is one that no test builds.
MOST_FIELDS = 15


def propose_state(analysis: Analysis, scope: Scope, decision: Decision) -> LoopState | None:
    """Groups of what a function's loop needs from outside, once its helpers are lifted to other files.

    None if the function has no one main loop that can become a method, or what it needs is not known.
    """
    node = scope.node
    plain = isinstance(node, ast.FunctionDef) and not (analysis.tree.yields and is_generator(node))
    if not plain or scope.parent is None or scope.parent.kind != "module":
        return None
    assert isinstance(node, ast.FunctionDef)
    try:
        parts = Parts(analysis, scope, node, loop_statement(node, None, lambda line: line))
        fields = _fields(parts, LoopFlow(parts), decision)
    except (LoopError, NotUnderstood):
        return None
    groups: tuple[Group, ...] = ()
    if len(fields) > MOST_FIELDS:
        groups = _groups(analysis, parts, fields)
    return LoopState(parts.loop.lineno, tuple(fields), groups)


def _fields(parts: Parts, flow: LoopFlow, decision: Decision) -> dict[str, frozenset[str]]:
    """Variables that the loop surely needs, and who reads, binds or is passed each."""
    tree, scope = parts.analysis.tree, parts.scope
    lifted = {helper.name: helper for helper in decision.lifted if helper.outer is scope}
    users: dict[str, set[str]] = {}
    for name in parts.names:
        if name in lifted or not flow.bound_before(name) or not flow.read_in_loop(name):
            continue
        lines = {use.node.lineno for use in parts.uses(name, "loop")}
        users[name] = {f"line {line}" for line in lines}
        if parts.binders(name, "loop"):
            users[name].add("bound")
    for helper in lifted.values():
        if not parts.uses(helper.name, "loop"):
            continue
        for name, owner in decision.lifting.needs[helper]:
            # A variable that the loop binds first is none that it needs.
            needed = owner is scope and flow.bound_before(name)
            if needed and (name in users or not parts.binders(name, "loop")):
                users.setdefault(name, set()).add(helper.name)
    order = {name: binders[0].line for (owner, name), binders in tree.binders.items() if owner is scope}
    return {name: frozenset(users[name]) for name in sorted(users, key=lambda n: (order.get(n, 0), n))}


def _groups(analysis: Analysis, parts: Parts, fields: Mapping[str, frozenset[str]]) -> tuple[Group, ...]:
    """Names that go together, joined until no class has too many fields; the closest first."""
    alike: dict[frozenset[str], list[str]] = {}
    for name, users in fields.items():
        alike.setdefault(users, []).append(name)
    groups = [
        (users, tuple(names[start : start + MOST_FIELDS]))
        for users, names in alike.items()
        for start in range(0, len(names), MOST_FIELDS)
    ]
    while len(groups) > MOST_FIELDS and (pair := _closest(groups)) is not None:
        first, second = pair
        groups[groups.index(first)] = (first[0] | second[0], first[1] + second[1])
        groups.remove(second)
    taken = {name for _, name in (*analysis.tree.uses, *analysis.tree.binders)} | set(fields)
    found = []
    for _, names in groups:
        if len(names) > 1:
            title = _title(names, fields, parts, taken)
            taken |= {title, field_of(title)}
            found.append(Group(title, names))
    return tuple(found)


Users = tuple[frozenset[str], tuple[str, ...]]


def _closest(groups: Sequence[Users]) -> tuple[Users, Users] | None:
    """The two groups most alike in who uses them, smaller ones first, that fit in one class."""
    pairs = combinations(groups, 2)
    fitting = [(one, other) for one, other in pairs if len(one[1]) + len(other[1]) <= MOST_FIELDS]
    return max(fitting, key=_likeness, default=None)


def _likeness(pair: tuple[Users, Users]) -> tuple[float, int]:
    (users, names), (others, more) = pair
    return len(users & others) / (len(users | others) or 1), -len(names) - len(more)


def _title(
    names: Sequence[str], fields: Mapping[str, frozenset[str]], parts: Parts, taken: Collection[str]
) -> str:
    """A class name: what the names have in common, else who is passed them, else a number."""
    words = [set(name.lower().strip("_").split("_")) for name in names]
    common = set.intersection(*words)
    first = [word for word in names[0].lower().split("_") if word in common]
    users = frozenset.intersection(*(fields[name] for name in names))
    helpers = sorted(user for user in users if user.isidentifier() and user != "bound")
    stems = ["_".join(first)] if first else []
    stems += [f"{helper.strip('_')}_inputs" for helper in helpers]
    stems += [f"{parts.node.name.strip('_')}_state{number or ''}" for number in range(len(fields) + 1)]
    for stem in stems:
        title = "".join(word.capitalize() for word in stem.split("_"))
        field = field_of(title)
        free = not {title, field}.intersection(taken) and not hasattr(builtins, title)
        if free and title.isidentifier() and not keyword.iskeyword(field) and not keyword.iskeyword(title):
            return title
    raise AssertionError("more groups than names")
