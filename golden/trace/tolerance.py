"""Tolerances of a run file: which values may be a few ulps apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, field_validator

from golden.trace.outputs import mapped
from golden.trace.paths import is_named

Kind = Literal["events", "loss", "buffers", "grads", "params", "state"]
_NEVER = ("counts", "settings", "rng", "syncs", "reads", "steps")
# Takes the place of a value that is compared by distance.
MASK = "~"


class Tolerance(BaseModel, extra="forbid", frozen=True):
    """Floating-point numbers that may be some ulps apart; all else is equal by bits.

    Attributes:
        of: ``events``: fields of events; ``loss``: losses of backward passes; ``buffers``, ``grads``,
            ``params`` or ``state``: tensors of the final state, for a property of the part ``final``.
        field: which, as a pattern: with a dot it matches the path of an event's field, else any name; for
            losses the model; for tensors the whole name.
        ulps: how many representable numbers may lie between the two, in the tensor's precision; for fields
            and losses in float32 where both are float32 numbers, else in float64. Plus and minus zero are one
            ulp apart; a NaN or an infinity is only equal to itself.
        reason: why that is no error.
    """

    of: Kind = "events"
    field: Annotated[str, Field(min_length=1)]
    ulps: Annotated[int, Field(ge=1)]
    reason: str

    @field_validator("of", mode="before")
    @classmethod
    def _measurable(cls, of: object) -> object:
        if of in _NEVER:
            raise ValueError(
                f"{of} are equal or not, they have no distance; say events, loss, buffers, grads, params "
                "or state"
            )
        return of

    @field_validator("reason")
    @classmethod
    def _said(cls, reason: str) -> str:
        if not reason.strip():
            raise ValueError("say why a difference there is no error")
        return reason

    def names(self, name: str) -> bool:
        """Tell whether a field, model or tensor of its kind is meant."""
        return is_named(name, self.field) if self.of == "events" else fnmatchcase(name, self.field)


def find(tolerances: Sequence[Tolerance], of: str, name: str) -> Tolerance | None:
    """Return the first tolerance for a field, model or tensor."""
    return next((t for t in tolerances if t.of == of and t.names(name)), None)


def masked(payload: Mapping[str, Any], tolerances: Sequence[Tolerance]) -> tuple[Any, dict[str, float]]:
    """Return a payload without the numbers that have a tolerance, and these numbers by path."""
    found: dict[str, float] = {}

    def mask(path: str, value: Any) -> Any:
        if not isinstance(value, float) or find(tolerances, "events", path) is None:
            return value
        found[path] = value
        return MASK

    return mapped(payload, mask), found


def restored(payload: Any, values: Mapping[str, float]) -> Any:
    """Return a payload with other numbers at some paths."""
    return mapped(payload, lambda path, value: values.get(path, value))
