"""Properties of a run file: what variants of a run have in common."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, field_validator, model_validator

Part = Literal["events", "counts", "steps", "rng", "reads", "values", "outputs", "modules", "final"]
Overlap = Literal["start", "end"]


class Same(BaseModel, extra="forbid", frozen=True):
    """A property: what variants have in common with the run.

    Attributes:
        says: the property in words.
        variants: what is compared, one by one.
        what: what is compared.
        env: only the events and steps of this env; with ``"each"`` every env's by themselves, and those of
            none, however the envs interleave: then random states count at the end only, and host reads can't
            be compared.
        where: only events whose fields have these values.
        overlap: only the part that both have, counted from the ``start`` or from the ``end``.
        ranks: ``all``, or only the ``first``, where variants run another number of ranks.
        replicas: instead of comparing variants, whether all ranks of the run hold the same parameters after
            every step, and make the same sequence of collective calls.
    """

    says: str
    variants: tuple[str, ...] = ()
    what: Annotated[tuple[Part, ...], Field(min_length=1)] = ("events", "steps", "rng", "reads")
    env: Annotated[int, Field(ge=0)] | Literal["each"] | None = None
    where: dict[str, str | int | float | bool] = {}
    overlap: Overlap | None = None
    ranks: Literal["all", "first"] = "all"
    replicas: bool = False

    @property
    def title(self) -> str:
        """The environment and the events that it speaks of, in words; empty for all."""
        words = [] if self.env in (None, "each") else [f"of env {self.env}"]
        words += [f"with {name} {value!r}" for name, value in self.where.items()]
        return " ".join(words)

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Same:
        if self.replicas == bool(self.variants):
            raise ValueError("name variants to compare, or say replicas = true; one of the two")
        return self

    @field_validator("env", mode="before")
    @classmethod
    def _number_or_each(cls, env: object) -> object:
        if isinstance(env, str) and env != "each":
            raise ValueError('say the number of an env, or "each"')
        return env
