"""Messages about a key that a table of a TOML file doesn't have."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from esper_harness.report.plain import hint

UNKNOWN = "unknown key"
# What pydantic says in words of Python, in those of TOML.
_PLAIN = {
    "missing": "is missing",
    "tuple_type": "say a list",
    "list_type": "say a list",
    "too_short": "say at least one",
    "dict_type": "say a table",
    "model_type": "say a table",
    "model_attributes_type": "say a table",
    "string_type": "say a text",
    "bool_type": "say true or false",
    "int_type": "say a whole number",
    "float_type": "say a number",
}


def first_problem(model: type[BaseModel], error: ValidationError) -> tuple[str, str]:
    """Return the place of what is wrong, as ``table.key``, and what is wrong there, in one line.

    A misspelt key often makes another one missing: the misspelt one is what the user wants to hear of.
    """
    first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return place, f"{UNKNOWN}{hint(str(first['loc'][-1]), known_keys(model, first['loc'][:-1]))}"
    return place, _PLAIN.get(first["type"]) or str(first["msg"]).removeprefix("Value error, ")


def known_keys(model: type[BaseModel], place: Sequence[str | int]) -> list[str]:
    """Return the keys of the table at a place below a model; none if no model describes it."""
    found: type[BaseModel] | None = model
    named = False  # whether the next part is a name that the user gave to a table
    for part in place:
        if isinstance(part, int) or named:
            named = False
            continue
        field = found.model_fields.get(part) if found else None
        if field is None:
            return []
        inner = list(_inside(field.annotation))
        models = [kind for kind in inner if isinstance(kind, type) and issubclass(kind, BaseModel)]
        named = any(typing.get_origin(kind) is dict for kind in inner)
        found = models[0] if models else None
    return sorted(info.alias or name for name, info in found.model_fields.items()) if found else []


def _inside(kind: Any) -> Iterator[Any]:
    """Yield a type and the types that it is made of."""
    yield kind
    for argument in typing.get_args(kind):
        yield from _inside(argument)
