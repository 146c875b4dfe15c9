"""Adding imports and definitions to a module, one that is there or one that is made."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from codemods.program.source import Unusable
from codemods.rewrites.text.imports import ImportSection

# The beginning of the text of a function or class, below its comments.
_DEFINITION = re.compile(r"(?:#[^\r\n]*+|\s)*+(?:@|(?:async|class|def)\b)")


class TargetError(Unusable):
    """A file that can't be made, or can't take what is added to it; the message is one line."""


def docstring_text(text: str, newline: str) -> str:
    """A module docstring with this text."""
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if escaped.endswith('"'):
        escaped = escaped[:-1] + '\\"'
    return '"""' + newline.join(escaped.split("\n")) + '"""' + newline


def made_module(
    docstring: str, imports: ImportSection, definitions: Sequence[str], newline: str, width: int
) -> str:
    """The text of a module that was not there."""
    text = docstring_text(docstring, newline)
    if section := imports.render(newline, width):
        text += newline + section + newline
    alone = True
    for definition in definitions:
        constant = _DEFINITION.match(definition) is None
        text += newline * (2 if alone or not constant else 1) + definition
        alone = not constant
    return text


def defined_names(tree: ast.Module) -> set[str]:
    """Names that definitions and assignments of a module's top level bind."""
    found: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found.update(n.id for each in targets for n in ast.walk(each) if isinstance(n, ast.Name))
    return found
