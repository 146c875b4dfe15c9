"""The tables of a run file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Part = Literal["events", "counts", "steps", "rng", "reads"]


class Table(BaseModel):
    """A table whose keys are all known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Events(Table):
    """Where a run writes telemetry events: JSON-lines files in its {out} folder.

    Attributes:
        files: a glob, relative to {out}; ``**`` is any folder below.
        type: the field that names an event's type; dots lead into nested objects.
        unstable: fields that may differ from run to run, as glob patterns: with a dot they match the whole
            path of a field, else its name anywhere.
    """

    files: str
    type: str = "type"
    unstable: tuple[str, ...] = ()


class Everywhere(Table):
    """What holds on every machine beside the shapes of models.

    Attributes:
        events: whether numbers and order of events do, by type and environment.
        fields: fields of events whose values do, such as discrete decisions.
    """

    events: bool = True
    fields: tuple[str, ...] = ()


class Data(Table):
    """A folder handed to the program as an option value, so that one run works on several data sets.

    The folder comes from ``--data`` or from ``variable``; with neither, the option is left out.

    Attributes:
        option: the program's option, such as ``--data-dir``.
        variable: the environment variable that may name the folder.
    """

    option: str
    variable: str | None = None


class Env(Table):
    """How to recognise an environment: a field of its events, and the class of its model.

    The k-th module of class ``module`` that a process creates belongs to env k modulo ``count``.

    Attributes:
        field: the field of an event that holds the index of its environment; dots lead into objects.
        module: the class of an environment's model.
        count: how many environments there are; goes with ``module``.
        skip: how many modules of that class come before the first environment's and belong to none: a model
            that is only built to be measured, say.
    """

    field: str | None = None
    module: str | None = None
    count: Annotated[int, Field(ge=1)] | None = None
    skip: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _both(self) -> Env:
        if (self.module is None) != (self.count is None):
            raise ValueError("module and count go together")
        return self


class Observe(Table):
    """What must have been seen, what is counted, and how much of the final state is kept.

    Attributes:
        steps: whether a run without any optimizer step is a mistake.
        syncs: whether host reads (``.item()`` and the like) are counted and compared.
        state_mib: how much of the final weights and optimizer states is kept, in MiB.
    """

    steps: bool = True
    syncs: bool = True
    state_mib: Annotated[int, Field(ge=0)] = 256


class EnvChange(Table):
    """What of ``[env]`` is otherwise in a variant.

    Attributes:
        count: how many environments the variant has.
        skip: how many modules come before the first environment's.
    """

    count: Annotated[int, Field(ge=1)] | None = None
    skip: Annotated[int, Field(ge=0)] | None = None


class Variant(Table):
    """What a variant of a run does otherwise. The one called ``base`` is what `golden ab RUN` compares with.

    Attributes:
        command: its argv, in place of the run's.
        entry: its dotted callable, in place of the run's.
        args: merged into the run's; ``false`` leaves a flag out.
        environment: environment variables, merged into the run's.
        pythonpath: folders for imports, in place of the run's.
        env: what of ``[env]`` is otherwise.
        events: ``false`` for a variant that writes none.
        after: the variant that runs first, in the same {out}, and is not observed.
    """

    command: tuple[str, ...] | None = None
    entry: str | None = None
    args: dict[str, Any] = {}
    environment: dict[str, str] = {}
    pythonpath: tuple[str, ...] | None = None
    env: EnvChange = EnvChange()
    events: Literal[False] | None = None
    after: str | None = None


class Same(Table):
    """A property: what variants have in common with the run, or with another variant.

    Attributes:
        says: the property in words.
        variants: the variants that are compared.
        of: the variant that they are compared with; without it, the run itself.
        what: the parts that must agree: ``events``; no more than their ``counts`` by type; optimizer
            ``steps`` with the final state; ``rng``, the random states; ``reads``, the host reads.
        env: only this environment's events and steps.
        where: only events whose fields have these values; dots lead into nested objects.
        overlap: one side may have taken more steps: after the other's (``start``), or before (``end``).
    """

    says: str
    variants: Annotated[tuple[str, ...], Field(min_length=1)]
    of: str | None = None
    what: Annotated[tuple[Part, ...], Field(min_length=1)] = ("events", "steps", "rng", "reads")
    env: Annotated[int, Field(ge=0)] | None = None
    where: dict[str, str | int | float | bool] = {}
    overlap: Literal["start", "end"] | None = None
