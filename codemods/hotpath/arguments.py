"""Arguments of a call, as far as they concern functions outside the program."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from codemods.hotpath.kinds import Kind
from codemods.hotpath.uses import NOTHING, Uses, path_of
from codemods.hotpath.vocabulary import MODULE_NAMES

CONSTANT = "a constant"
_NO_KINDS: Mapping[str, Kind] = MappingProxyType({})


class Arguments(NamedTuple):
    """The kinds of the arguments of a call.

    Attributes:
        node: the call, for how they are written; None where it does not matter.
        skipped: how many of those that are written are not among the positional ones.
        on_device: tensors that are made without a device are on it.
        uses: what the function around says of its names.
        validates: distributions validate their arguments, as nothing in the program says that they don't.
    """

    positional: tuple[Kind, ...] = ()
    keywords: Mapping[str, Kind] = _NO_KINDS
    node: ast.Call | None = None
    skipped: int = 0
    on_device: bool = False
    uses: Uses = NOTHING
    validates: bool = True

    def all(self) -> tuple[Kind, ...]:
        """All of them."""
        return (*self.positional, *self.keywords.values()) if self.keywords else self.positional

    def first(self, keyword: str = "") -> Kind | None:
        """The first one, or the one of this keyword."""
        return self.positional[0] if self.positional else self.keywords.get(keyword)

    def says(self, keyword: str, value: object) -> bool:
        """Tell whether a constant is passed by this keyword."""
        if keyword not in self.keywords or self.node is None:
            return False
        return any(
            item.arg == keyword and isinstance(item.value, ast.Constant) and item.value.value is value
            for item in self.node.keywords
        )

    @property
    def empty(self) -> bool:
        """Tell whether the first argument, as it is written, is an empty list."""
        match self.node:
            case ast.Call(args=[ast.List([]) | ast.Tuple([]), *_]):
                return not self.skipped
        return False

    @property
    def nothing(self) -> bool:
        """Tell whether the first argument, as it is written, is zero: a size, of nothing."""
        match self.node:
            case ast.Call(args=[ast.Constant(int(number)), *_]):
                return number == 0 and not self.skipped
        return False

    def word(self, position: int) -> str:
        """How a positional argument is spelled, as by `spelled`."""
        given = [] if self.node is None else self.node.args[: position + self.skipped + 1]
        if len(given) <= position + self.skipped or any(isinstance(part, ast.Starred) for part in given):
            return ""
        return spelled(given[-1])

    @property
    def device_word(self) -> str:
        """The same of the keyword ``device``."""
        found = [] if self.node is None else [item for item in self.node.keywords if item.arg == "device"]
        return spelled(found[0].value) if found else ""

    @property
    def receiver(self) -> str:
        """The last name of what a method is called on, in lower case."""
        owner: ast.expr | None = None if self.node is None or self.skipped else self.node.func
        owner = owner.value if isinstance(owner, ast.Attribute) else owner
        while isinstance(owner, (ast.Subscript, ast.Call)):
            owner = owner.value if isinstance(owner, ast.Subscript) else owner.func
        return str(getattr(owner, "attr", None) or getattr(owner, "id", "")).lower()

    @property
    def module(self) -> bool:
        """Tell whether the text around says that what a method is called on is a module."""
        function = None if self.node is None or self.skipped else self.node.func
        if not isinstance(function, ast.Attribute):
            return False
        return path_of(function.value) in self.uses.modules or spelled(function.value).lower() in MODULE_NAMES


def spelled(node: ast.expr) -> str:
    """The name an argument is passed by, of dotted ones the last part; ``None``; ``CONSTANT``; or nothing."""
    if isinstance(node, ast.Constant):
        return "None" if node.value is None else CONSTANT
    return str(getattr(node, "attr", None) or getattr(node, "id", "") or "")
