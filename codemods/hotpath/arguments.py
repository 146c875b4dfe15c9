"""What a call passes, as far as it concerns the functions outside the program."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from codemods.hotpath.kinds import Kind


@dataclass(frozen=True, slots=True)
class Arguments:
    """The kinds of the arguments of a call.

    Attributes:
        constants: what is passed by keyword as a constant.
        words: how positional arguments are spelled, as by `spelled`.
        device_word: the same of the keyword ``device``.
        on_device: tensors that are made without a device are on it.
        module: the text around says that the receiver is a module.
        receiver: the last name of what a method is called on, in lower case.
    """

    positional: tuple[Kind, ...] = ()
    keywords: Mapping[str, Kind] = field(default_factory=dict)
    constants: Mapping[str, object] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    device_word: str = ""
    receiver: str = ""
    on_device: bool = False
    module: bool = False

    def all(self) -> tuple[Kind, ...]:
        """All of them."""
        return (*self.positional, *self.keywords.values())

    def first(self, keyword: str = "") -> Kind | None:
        """The first one, or the one of this keyword."""
        return self.positional[0] if self.positional else self.keywords.get(keyword)

    def says(self, keyword: str, value: object) -> bool:
        """Whether a constant is passed by this keyword."""
        return keyword in self.constants and self.constants[keyword] is value


CONSTANT = "a constant"


def spelled(node: ast.expr) -> str:
    """The name an argument is passed by, of dotted ones the last part; ``None``; ``CONSTANT``; or nothing."""
    if isinstance(node, ast.Constant):
        return "None" if node.value is None else CONSTANT
    return str(getattr(node, "attr", None) or getattr(node, "id", "") or "")


def receiver_of(node: ast.Call) -> str:
    """The last name of what a method is called on, in lower case."""
    owner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    while isinstance(owner, (ast.Subscript, ast.Call)):
        owner = owner.value if isinstance(owner, ast.Subscript) else owner.func
    return str(getattr(owner, "attr", None) or getattr(owner, "id", "")).lower()
