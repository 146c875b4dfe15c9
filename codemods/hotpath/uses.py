"""Uses of names in a function's own text: tensors and modules."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from codemods.hotpath.tree import inside
from codemods.hotpath.vocabulary import (
    CONSTRUCTORS,
    FROM_HOST,
    LAUNCHER,
    MODULE_EVIDENCE,
    TENSOR_EVIDENCE,
    TORCH_HOST,
)


class Uses(NamedTuple):
    """Names, and fields of ``self`` as ``self.x``, by what is done with them.

    Attributes:
        tensors: a method that only tensors have is called on them, or a function of torch gets them.
        modules: they are called, or asked for parameters.
    """

    tensors: frozenset[str]
    modules: frozenset[str]


NOTHING = Uses(frozenset(), frozenset())
_FUNCTIONAL = ("F", "torch", "functional")
# Without one of these words nothing is a tensor by its use, nor is it asked what a module is.
_TOLD = re.compile(rf"\b(?:{'|'.join((*_FUNCTIONAL, 'to', *TENSOR_EVIDENCE, *MODULE_EVIDENCE))})\b")
_NO_TENSORS = CONSTRUCTORS | FROM_HOST | TORCH_HOST | {
    "save", "load", "device", "compile", "from_numpy", "no_grad", "Generator", "typename", "seed",
}  # fmt: skip


def uses_of(node: ast.AST, text: str) -> Uses:
    """Look through a function, of this text, once."""
    if not _TOLD.search(text):
        return NOTHING
    tensors: set[str] = set()
    modules: set[str] = set()
    for part in inside(node):
        if not isinstance(part, ast.Call):
            continue
        function = part.func
        if not isinstance(function, ast.Attribute):
            if isinstance(function, ast.Name):
                modules.add(function.id)
            continue
        owner = path_of(function.value)
        if owner in _FUNCTIONAL:
            if function.attr not in _NO_TENSORS and not function.attr.startswith(
                ("is_", "set_", "get_", "use_")
            ):
                tensors.update(
                    filter(None, map(path_of, part.args[:2] if owner != "torch" else part.args[:1]))
                )
        elif function.attr in TENSOR_EVIDENCE and owner:
            # `accelerator.gather(x)`, `engine.backward(loss)`: done to something else, by what is no tensor.
            if not LAUNCHER.search(owner) and not (function.attr == "backward" and part.args):
                tensors.add(owner)
        elif function.attr in MODULE_EVIDENCE and owner:
            modules.add(owner)
        elif isinstance(function.value, ast.Name) and function.value.id == "self":
            modules.add(f"self.{function.attr}")
    return Uses(frozenset(tensors - modules), frozenset(modules))


def path_of(node: ast.expr) -> str:
    """``x`` or ``self.x``; nothing for all else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return f"self.{node.attr}"
    return ""
