"""Configuration models as Markdown tables: every key with its type, default and meaning."""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

_ENTRY = re.compile(r"^    (\w+): (.*)$")


@dataclasses.dataclass(frozen=True, slots=True)
class Key:
    """One key of a table: its name in TOML, type and default as text (None: it must be given), meaning."""

    name: str
    type: str
    default: str | None
    meaning: str


class Undocumented(Exception):
    """A key has no meaning in its model's docstring, or a meaning has no key; the message names it."""


def summary(model: type) -> str:
    """The first paragraph of a model's docstring."""
    return " ".join((inspect.getdoc(model) or "").split("\n\n")[0].split())


def keys(model: type) -> tuple[Key, ...]:
    """The keys of a model, in its order. Raises `Undocumented`."""
    meanings = dict(_meanings(model))
    if dataclasses.is_dataclass(model):
        meanings = {name.replace("_", "-"): text for name, text in meanings.items()}
    found = []
    for name, kind, default in _fields(model):
        if name not in meanings:
            raise Undocumented(f"{model.__module__}.{model.__qualname__}.{name}")
        found.append(Key(name, _type(kind), default, meanings.pop(name)))
    if meanings:
        raise Undocumented(f"{model.__module__}.{model.__qualname__}: no key {', '.join(meanings)}")
    return tuple(found)


def table(found: tuple[Key, ...]) -> str:
    """The keys as a Markdown table."""
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for key in found:
        default = "required" if key.default is None else f"`{key.default}`" if key.default else ""
        rows.append(f"| `{key.name}` | {key.type} | {default} | {_cell(key.meaning)} |")
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"``([^`]*)``", r"`\1`", text).replace("|", "\\|")


def _meanings(model: type) -> Mapping[str, str]:
    """The ``Attributes`` section of a model's docstring."""
    _, _, section = (inspect.getdoc(model) or "").partition("Attributes:\n")
    found: dict[str, str] = {}
    name = ""
    for line in section.splitlines():
        entry = _ENTRY.match(line)
        if entry:
            name = entry[1]
            found[name] = entry[2]
        elif line.startswith("        ") and name:
            found[name] += " " + line.strip()
        elif line.strip():
            break
    return found


def _fields(model: type) -> Iterator[tuple[str, Any, str | None]]:
    if issubclass(model, BaseModel):
        for name, info in model.model_fields.items():
            default = info.get_default(call_default_factory=True)
            required = info.is_required() or default is PydanticUndefined
            yield info.alias or name, info.annotation, None if required else _default(default)
    elif dataclasses.is_dataclass(model):
        hints = typing.get_type_hints(model)
        for field in dataclasses.fields(model):
            required = field.default is dataclasses.MISSING
            yield (
                field.name.replace("_", "-"),
                hints[field.name],
                None if required else _default(field.default),
            )


def _default(value: Any) -> str:
    if isinstance(value, BaseModel) or value is None or value in ((), {}, ""):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value)


def _type(kind: Any) -> str:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _type(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_type(argument) for argument in arguments if argument is not types.NoneType)
    if origin is typing.Literal:
        return " or ".join(f"`{argument}`" for argument in arguments)
    if origin is tuple:
        return f"list of {_type(arguments[0])}"
    if origin is dict:
        return f"table of {_type(arguments[1])}"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "table"
    return {"str": "text", "int": "number", "float": "number", "bool": "true or false"}.get(
        getattr(kind, "__name__", ""), "any"
    )
