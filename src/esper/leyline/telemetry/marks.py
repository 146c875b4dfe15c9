"""The mark of a field that cannot repeat between two runs of one seeded command."""

import dataclasses
import typing
from typing import Annotated, TypeVar

T = TypeVar("T")
UNSTABLE = "unstable"
Unstable = Annotated[T, UNSTABLE]


def unstable_fields(cls: type) -> frozenset[str]:
    """Names of the fields of a dataclass that two equal runs do not share."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return frozenset(
        item.name
        for item in dataclasses.fields(cls)
        if UNSTABLE in getattr(hints[item.name], "__metadata__", ())
    )
