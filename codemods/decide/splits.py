"""What the function that gets a helper's body takes."""

from __future__ import annotations

import ast
import copy

from codemods.facts.scopes import FunctionNode


def body_arguments(node: FunctionNode, *, annotated: bool) -> ast.arguments:
    """The body's parameters: the helper's without defaults; ``**keywords`` handed over as a plain dict."""
    arguments = copy.deepcopy(node.args)
    arguments.defaults = []
    arguments.kw_defaults = [None] * len(arguments.kwonlyargs)
    if arguments.kwarg is not None:
        keywords, arguments.kwarg = arguments.kwarg, None
        keywords.annotation = None
        arguments.kwonlyargs.append(keywords)
        arguments.kw_defaults.append(None)
    if not annotated:
        for argument in ast.walk(arguments):
            if isinstance(argument, ast.arg):
                argument.annotation = None
    return arguments
