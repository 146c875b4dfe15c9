"""What a call passes."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from codemods.hotpath.frame import Frame
from codemods.hotpath.kinds import Kind, element


@dataclass(frozen=True, slots=True)
class Arguments:
    """The kinds of the arguments of a call."""

    positional: tuple[Kind, ...] = ()
    keywords: dict[str, Kind] = field(default_factory=dict)

    def all(self) -> tuple[Kind, ...]:
        """All of them."""
        return (*self.positional, *self.keywords.values())

    def first(self, keyword: str = "") -> Kind | None:
        """The first one, or the one of this keyword."""
        return self.positional[0] if self.positional else self.keywords.get(keyword)


def evaluate_arguments(frame: Frame, node: ast.Call) -> Arguments:
    """Evaluate what a call passes, in order."""
    positional: list[Kind] = []
    for argument in node.args:
        kind = frame.evaluate(argument)
        if isinstance(argument, ast.Starred):
            positional += kind.of if kind.tag == "tup" else [element(kind)] * 2
        else:
            positional.append(kind)
    keywords = {}
    for keyword in node.keywords:
        kind = frame.evaluate(keyword.value)
        if keyword.arg is not None:
            keywords[keyword.arg] = kind
    return Arguments(tuple(positional), keywords)


def says(node: ast.Call, keyword: str, value: object) -> bool:
    """Whether a call passes a constant by this keyword."""
    return any(
        item.arg == keyword and isinstance(item.value, ast.Constant) and item.value.value is value
        for item in node.keywords
    )
