"""Calls that can be, as they are written, of a method that is known by its name only."""

from __future__ import annotations

import ast

from codemods.hotpath.modules import Function

# Decorators that keep the parameters; behind others they are not known.
_KEEP = {
    "abstractmethod",
    "classmethod",
    "contextmanager",
    "final",
    "inference_mode",
    "no_grad",
    "override",
    "staticmethod",
}


def fits(call: ast.Call, function: Function) -> bool:
    """Tell whether no argument is too many and none is missing; yes where that can't be told."""
    if not _KEEP.issuperset(function.decorators):
        return True
    spec = function.node.args
    positional = [*spec.posonlyargs, *spec.args]
    required = positional[: len(positional) - len(spec.defaults)]
    if function.cls is not None and "staticmethod" not in function.decorators:
        positional, required = positional[1:], required[1:]
    starred = any(isinstance(given, ast.Starred) for given in call.args)
    given = sum(not isinstance(argument, ast.Starred) for argument in call.args)
    if spec.vararg is None and given > len(positional):
        return False
    keywords = {keyword.arg for keyword in call.keywords}
    names = {argument.arg for argument in (*spec.args, *spec.kwonlyargs)}
    if spec.kwarg is None and not names.issuperset(keywords - {None}):
        return False
    if None in keywords:
        # All of a mapping: `settings.update(**more)` is a dictionary's or one that is like it.
        return given > 0 or starred or keywords != {None} or function.name not in dir(dict)
    defaults = zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    needed = [] if starred else required[given:]
    needed += [argument for argument, value in defaults if value is None]
    return all(argument.arg in keywords for argument in needed)
