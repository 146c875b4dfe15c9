"""Marks of a training in a module: an optimizer, a backward pass, a step, a loop around them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_OPTIMIZERS = {"SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam", "LBFGS", "Adadelta"}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_STEPS = ("backward", "step")
# What only a script does outside of functions.
_BEGUN = (*_STEPS, "parse_args", "parse_known_args")


def marks(tree: ast.Module) -> frozenset[str]:
    """``optimizer``, ``backward``, ``step``, ``loop``: those that it holds.

    Trainers of frameworks are known by what is handed to them: ``configure_optimizers``, ``.fit(`` and
    ``.train(`` on a ``Trainer``.
    """
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = called(node)
            if name in _STEPS:
                found.add(name)
            if name in _OPTIMIZERS or name.startswith("configure_optim"):
                found.add("optimizer")
            if name.endswith("Trainer"):
                found |= {"backward", "step", "loop"}
        elif isinstance(node, ast.FunctionDef) and node.name == "configure_optimizers":
            found.add("optimizer")
        elif isinstance(node, ast.For | ast.While) and _calls_within(node) & set(_STEPS):
            found.add("loop")
    return frozenset(found)


def starts(tree: ast.Module) -> bool:
    """Return whether running it does something.

    It has a ``__main__`` guard, or calls outside of functions one of its own, what reads a command line, or a
    step of a training.
    """
    if any(map(guarded, tree.body)):
        return True
    local = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    calls = {called(node) for node in _outside(tree) if isinstance(node, ast.Call)}
    trainer = any(name.endswith("Trainer") for name in calls)
    return not calls.isdisjoint((*local, *_BEGUN)) or (trainer and not calls.isdisjoint(("fit", "train")))


def guarded(node: ast.stmt) -> bool:
    """Return whether it runs only where its file is the script: ``if __name__ == "__main__"``."""
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _calls_within(node: ast.AST) -> set[str]:
    return {called(inner) for inner in ast.walk(node) if isinstance(inner, ast.Call)}


def _outside(node: ast.AST) -> Iterator[ast.AST]:
    """Everything that runs with the module itself."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, _SCOPES):
            yield child
            yield from _outside(child)
