"""Adding imports and definitions to a module, one that is there or one that is made."""

from __future__ import annotations

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


def made_module(docstring: str, imports: ImportSection, definitions: Sequence[str], newline: str) -> str:
    """The text of a module that was not there."""
    text = docstring_text(docstring, newline)
    if section := imports.render(newline):
        text += newline + section + newline
    alone = True
    for definition in definitions:
        constant = _DEFINITION.match(definition) is None
        text += newline * (2 if alone or not constant else 1) + definition
        alone = not constant
    return text
