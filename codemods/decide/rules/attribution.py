"""What is told of where a call stands: by warnings with a stack level, by formats of a log."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator

from codemods.decide.refusals import Refusals, refuse, rule
from codemods.facts import nodes
from codemods.facts.helpers import Helper
from codemods.facts.lifting import Lifting
from codemods.facts.marks import Mark
from codemods.facts.nodes import called_name
from codemods.facts.scopes import ScopeTree, dotted
from codemods.facts.surroundings import Surroundings
from codemods.facts.words import words

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOGS = words("critical debug error exception fatal info log warn warning")
# What is called so there does not log.
_OTHERS = (sys.stdlib_module_names | {"jax", "numpy", "scipy", "tensorflow", "torch"}) - {"logging"}

rule(
    "log-origin",
    "The helper, or the loop, logs, and some file of the project shows of log records which function, or "
    "file, they come from.",
    "log in the outer function, or leave %(funcName)s and %(module)s out of the format",
    """
 import logging
-logging.basicConfig(format='%(funcName)s: %(message)s')
+logging.basicConfig(format='%(levelname)s: %(message)s')
 def outer(n):
     def h(x):
         logging.warning('%d', x + n)
     h(1)
""",
)


def logged(
    around: Surroundings, tree: ScopeTree, name: str, found: Iterable[ast.AST], *marks: Mark
) -> Refusals:
    """What some nodes log is not shown with a function, or file, that changes."""
    calls = [node for node in found if isinstance(node, ast.Call)]
    call = _logging(tree, calls) or _attributed(tree, calls)
    if call is None:
        return
    for mark in marks:
        if (place := around.marked(mark)) is not None:
            yield refuse("log-origin", call, f"{name} logs here, and {place}")


def _logging(tree: ScopeTree, calls: Iterable[ast.Call]) -> ast.Call | None:
    """The first of some calls that may log."""
    aliases = tree.once("names of logging", lambda: frozenset(_aliases(tree)))
    for call in calls:
        plain = isinstance(call.func, ast.Name) and call.func.id in aliases
        if call.args and (plain or called_name(call) in _LOGS):
            path = dotted(tree, tree.scope_of(call), call.func)
            if path is None or path.partition(".")[0] not in _OTHERS:
                return call
    return None


def _aliases(tree: ScopeTree) -> Iterator[str]:
    """Variables to which a method that logs is assigned."""
    for node in nodes.walk(tree.source.tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(attr=method)) if method in _LOGS:
                yield name


def _attributed(tree: ScopeTree, calls: Iterable[ast.Call]) -> ast.Call | None:
    """The first of some calls that attributes a warning to its caller."""
    names = tree.once("stack levels", lambda: _with_levels(tree))
    return next((call for call in calls if called_name(call) in names), None) if names else None


def not_attributed(lifting: Lifting, helper: Helper) -> Refusals:
    """Nothing that a helper which moves calls attributes a warning to it."""
    if helper in lifting.foreign:
        yield from levels_given(lifting.tree, helper.name, helper.node)


def levels_given(tree: ScopeTree, name: str, node: ast.AST) -> Refusals:
    """Why what has a name can't move: it calls what attributes a warning to its caller."""
    calls = (part for part in nodes.walk(node) if isinstance(part, ast.Call))
    if (call := _attributed(tree, calls)) is not None:
        what = f"{name} calls {called_name(call)} here, which warns or logs at a stack level"
        yield refuse("module-attribution", call, what)


def _with_levels(tree: ScopeTree) -> frozenset[str]:
    """Names of the file's functions that give a stack level: 2 is their caller's, others may be any."""
    direct, far = set[str](), set[str]()
    functions = [node for node in nodes.walk(tree.source.tree) if isinstance(node, _FUNCTIONS)]
    for function in functions if "stacklevel" in tree.source.text or "warn" in tree.attributes else ():
        for node in nodes.walk(function):
            for level in levels_in(tree, node):
                given = level.value if isinstance(level, ast.Constant) else None
                if given != 1:
                    (direct if given == 2 else far).add(function.name)
    known = -1
    while len(far) != known:
        known = len(far)
        for function in functions if far else ():
            if any(isinstance(n, ast.Call) and called_name(n) in far for n in nodes.walk(function)):
                far.add(function.name)
    return frozenset(direct | far)


def levels_in(tree: ScopeTree, node: ast.AST) -> list[ast.expr]:
    """The stack levels that a node gives, if it is a call."""
    if not isinstance(node, ast.Call):
        return []
    levels = [keyword.value for keyword in node.keywords if keyword.arg == "stacklevel"]
    if dotted(tree, tree.module, node.func) == "warnings.warn":
        levels += node.args[2:3]
    return levels
