"""Types as terms: dotted paths with arguments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

UNION = "|"
PARAMETERS = "[]"
LITERAL = "="


@dataclass(frozen=True, slots=True)
class Type:
    """A class by its dotted path, or a union, a list of parameters, a value of a literal type.

    ``spelled`` is the path by which the program imports it where the type was read.
    """

    path: str
    args: tuple[Type, ...] = ()
    spelled: str = field(default="", compare=False)

    @property
    def members(self) -> tuple[Type, ...]:
        """The types of a union; a type that is none alone."""
        return self.args if self.path == UNION else (self,)

    @property
    def is_optional(self) -> bool:
        """Whether None is one of its values."""
        return NONE in self.members


def builtin(name: str, *args: Type) -> Type:
    """A builtin class."""
    return Type(f"builtins.{name}", args)


NONE = Type("None")
ANY = Type("typing.Any")
ELLIPSIS = Type("...")
BOOL, INT, FLOAT, COMPLEX = (builtin(name) for name in ("bool", "int", "float", "complex"))
STR = builtin("str")
MODULE = Type("types.ModuleType")


def callable_giving(result: Type | None) -> Type | None:
    """A function whose result is stated; of its parameters an annotation can't say all."""
    return None if result is None else Type("collections.abc.Callable", (ELLIPSIS, result))


def union(types: Iterable[Type]) -> Type:
    """A union, None last."""
    members = list(dict.fromkeys(member for kind in types for member in kind.members))
    if NONE in members:
        members.remove(NONE)
        members.append(NONE)
    return members[0] if len(members) == 1 else Type(UNION, tuple(members))


def without_none(kind: Type) -> Type:
    """What is left of a type for values that are not None."""
    members = [member for member in kind.members if member != NONE]
    return union(members) if members else kind


def all_known(types: Iterable[Type | None]) -> tuple[Type, ...] | None:
    """Several types, unless one is unknown."""
    found = list(types)
    known = tuple(kind for kind in found if kind is not None)
    return known if len(known) == len(found) else None


def agreed(types: Iterable[Type | None]) -> Type | None:
    """The one type of several values, or that and None; None where they differ or one is unknown."""
    known = all_known(types)
    if not known:
        return None
    rest = {without_none(kind) for kind in known if kind != NONE}
    if len(rest) > 1 or (not rest and len(known) > 1):
        return None
    return union(known)
