"""Whether a file hands some of its functions around, so that what asks functions for their code may be given
one of them.
"""

from __future__ import annotations

import ast

from codemods.facts import nodes
from codemods.facts.names import dotted
from codemods.facts.nodes import is_accessor
from codemods.facts.scopes import Scope, ScopeTree
from codemods.facts.words import words

# Decorators that keep the function to themselves.
KEEPING = words("""
    abc.abstractmethod builtins.classmethod builtins.property builtins.staticmethod typing.final
    typing.overload typing.override typing_extensions.override
""")


def is_handed(tree: ScopeTree, scope: Scope) -> bool:
    """Whether a function may be met as a value: by its name, as an attribute, by a decorator or a listing."""
    if scope.kind != "function" or scope.parent is None:
        return True
    if isinstance(scope.node, ast.Lambda):
        return True
    parent = scope.parent
    for decorator in getattr(scope.node, "decorator_list", ()):
        path = dotted(tree, parent, decorator) or ""
        if path not in KEEPING and not (is_accessor(decorator) and parent.kind == "class"):
            return True
    owner = tree.owner(parent, scope.name)
    if any(use.call is None for use in tree.uses.get((owner, scope.name), ())):
        return True
    if scope.name in tree.once("handed attributes", lambda: _attributes(tree)):
        return True
    # Code of the file may be given its class, or list what that holds.
    return parent.kind == "class"


def _attributes(tree: ScopeTree) -> frozenset[str]:
    """Attributes that are read but not called at once, those that getattr names included."""
    found: set[str] = set()
    called: set[ast.AST] = set()
    for node in nodes.walk(tree.source.tree):
        if isinstance(node, ast.Call):
            called.add(node.func)
            found.update(
                a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)
            )
        elif isinstance(node, ast.Attribute) and node not in called and isinstance(node.ctx, ast.Load):
            found.add(node.attr)
        elif isinstance(node, ast.MatchClass):
            found.update(node.kwd_attrs)
    return frozenset(found)


def asks_by_name(tree: ScopeTree) -> bool:
    """Whether the file looks up attributes by names that its text does not give."""
    return any(
        use.call is None or len(use.call.args) < 2 or not isinstance(use.call.args[1], ast.Constant)
        for use in tree.uses.get((tree.module, "getattr"), ())
    )
