"""Payloads of every type with values drawn from their declared types."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from hypothesis import strategies as st

from esper.leyline.telemetry import EVENT_TYPE_OF, Severity, TelemetryEvent

names = st.text(max_size=8)
json_values = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | names
)


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a field's declared type."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return values_of(arguments[0])
    if origin in (types.UnionType, typing.Union):
        return st.one_of(*map(values_of, arguments))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if origin is Mapping:
        return st.dictionaries(names, values_of(arguments[1]), max_size=3)
    plain: dict[Any, st.SearchStrategy[Any]] = {
        str: names,
        int: st.integers(),
        float: st.floats(allow_nan=False),
        bool: st.booleans(),
        type(None): st.none(),
        Any: json_values,
    }
    return plain[kind]


def payloads(cls: type) -> st.SearchStrategy[Any]:
    """Payloads of one type."""
    hints = typing.get_type_hints(cls)
    return st.builds(cls, **{item.name: values_of(hints[item.name]) for item in dataclasses.fields(cls)})


def events() -> st.SearchStrategy[TelemetryEvent]:
    """Events of any type."""
    place = st.none() | st.integers(0, 99)
    return st.builds(
        TelemetryEvent,
        data=st.sampled_from(list(EVENT_TYPE_OF)).flatmap(payloads),
        round=place,
        epoch=place,
        env=place,
        slot=st.none() | names,
        severity=st.sampled_from(typing.get_args(Severity)),
    )


def made(cls: type, **given: Any) -> Any:
    """A payload of which only the given fields are told: the others are 0, empty or None."""
    empty: dict[Any, Any] = {str: "", int: 0, float: 0.0, bool: False, tuple: (), Mapping: {}}
    hints = typing.get_type_hints(cls)
    rest = {name: empty.get(typing.get_origin(kind) or kind) for name, kind in hints.items()}
    return cls(**(rest | given))
