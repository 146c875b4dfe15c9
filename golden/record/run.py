"""Run files: what to run, under which settings, and what of it counts."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import xxhash
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from golden.trace.errors import UnusableInput
from golden.trace.same import Same
from golden.trace.tolerance import Tolerance

# The pattern of all files below a folder.
EVERYTHING = "**"
_UNDECIDING = {
    "description",
    "budget",
    "timeout",
    "data",
    "variants",
    "same",
    "device",
}
Profile = Literal["exact", "portable"]
_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Events(_Table):
    """The files of telemetry events.

    Attributes:
        files: JSON-lines files in its {out} folder, as a glob.
        type: the field that names the kind of event.
        unstable: fields, as patterns, that can't repeat: times, ids, durations.
    """

    files: str
    type: str = "type"
    unstable: tuple[str, ...] = ()


class Outputs(_Table):
    """The printed lines and written files that are compared.

    Attributes:
        files: files beside those in {out}, as globs in the repository, `runs/**` for all below `runs`: those
            that the run wrote are compared. With `**`, all that it writes in the repository; each run then
            has a copy of the repository to itself, of what git keeps and of `[data] paths`.
        ignore: files that aren't compared, as patterns of their names.
        unstable: fields and columns, as patterns, that can't repeat. Those that are times or rates by their
            names are left out anyway.
        mask: regular expressions: what matches is no part of a line. Times, rates, addresses, folders of the
            run and progress bars are masked anyway.
    """

    files: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    unstable: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()

    @property
    def everything(self) -> bool:
        """True if all that the run writes in the repository is compared."""
        return EVERYTHING in self.files

    @field_validator("mask")
    @classmethod
    def _expressions(cls, found: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in found:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
        return found


class Everywhere(_Table):
    """The part of a golden that holds on every machine, beside the shapes of models.

    Attributes:
        events: whether the number and order of events and of optimizer steps do.
    """

    events: bool = True


class Data(_Table):
    """A folder handed to the program as an option value, so that one run works on several data sets.

    Attributes:
        option: the program's option; left out if no folder is given. Or say {data} in `command` or `args`.
        paths: files and folders that git does not keep, or outside of the repository (`../data`); `ab` links
            them into the trees of other versions; of a folder that git keeps a part of, what git ignores.
        variable: the environment variable that names the folder, where ``--data`` does not.
    """

    option: str | None = None
    paths: tuple[str, ...] = ()
    variable: str | None = None


class Env(_Table):
    """The marks of an environment: a field of its events, and its model.

    Attributes:
        field: the field of an event that holds the env's number.
        module: the class of an env's model; the k-th one that a process creates belongs to env k modulo
            ``count``.
        count: how many envs there are.
        skip: how many of the first such models belong to none: one that is only built to be measured, say.
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


class Observe(_Table):
    """The things that must have been seen, and those that count.

    Attributes:
        steps: whether a run without an optimizer step is an error.
        unstable_values: functions, as patterns, in which the host reads values that can't repeat: meters that
            keep times in tensors, say. How often they read is compared all the same; the verdict names them.
        digests: where digests of tensors are made: ``auto``: those of a GPU on the GPU, all others on the
            host; ``host``: all on the host, which tensors are copied to; ``device``: each where the tensor
            is, those of the CPU as on a GPU. Digests of one way can't be compared with those of the other.
    """

    steps: bool = True
    unstable_values: tuple[str, ...] = ()
    digests: Literal["auto", "host", "device"] = "auto"


class EnvChange(_Table):
    """The differences of a variant in ``[env]``.

    Attributes:
        count: how many envs there are.
        skip: how many of the first models belong to none.
    """

    count: Annotated[int, Field(ge=1)] | None = None
    skip: Annotated[int, Field(ge=0)] | None = None


class Variant(_Table):
    """The differences of a variant from its run.

    Attributes:
        command: instead of the run's.
        args: merged into the run's; ``false`` leaves a flag out.
        environment: merged into the run's.
        env: what is otherwise in ``[env]``.
        events: ``false`` for a variant that writes none.
        after: a variant that runs first, in the same {out}, and is not observed.
    """

    command: tuple[str, ...] | None = None
    args: dict[str, Any] = {}
    environment: dict[str, str] = {}
    env: EnvChange = EnvChange()
    events: Literal[False] | None = None
    after: str | None = None


class Run(_Table):
    """One run file.

    Attributes:
        name: what the run is called; the file's name if left out.
        description: what it shows, for ``golden list``.
        command: the program and its arguments; ``python`` is the interpreter that runs golden.
        args: options of the command (``--key value``).
        seed: of Python's, numpy's and torch's generators before the program begins, and {seed}.
        device: ``cpu``, ``cuda`` or ``cuda:N``, and {device}; ``simulated`` or ``simulated:N`` for one or N
            simulated GPUs, where {device} is ``cuda``.
        profile: ``exact`` or ``portable``: the determinism settings.
        deterministic: what torch does about an operation without a deterministic algorithm.
        timeout: seconds after which it is stopped.
        max_steps: after so many optimizer steps a process of it ends as by ``sys.exit()``; all by default.
        budget: seconds that it should take on two cores; the suite prints planned against spent.
        folder: the folder of the repository that the program is started in.
        environment: environment variables.
        data: a folder of data for it.
        events: the telemetry events that it writes.
        outputs: what else it prints and writes.
        observe: what must be seen of it.
        env: how its environments are recognised.
        everywhere: what holds on every machine.
        tolerance: floating-point numbers that may be some ulps apart, with a reason.
        variants: what it does otherwise under a name, for comparisons within one tree.
        same: properties that hold between variants.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    description: str = ""
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    args: dict[str, Any] = {}
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    device: Annotated[str, Field(pattern=r"^(cpu|cuda(:\d+)?|simulated(:[1-9]\d?)?)$")] = "cpu"
    profile: Profile = "exact"
    deterministic: Literal["error", "warn", "off"] = "error"
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 300.0
    max_steps: Annotated[int, Field(ge=1)] | None = None
    budget: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    folder: str = "."
    environment: dict[str, str] = {}
    data: Data | None = None
    events: Events | None = None
    outputs: Outputs = Outputs()
    observe: Observe = Observe()
    env: Env | None = None
    everywhere: Everywhere = Everywhere()
    tolerance: tuple[Tolerance, ...] = ()
    variants: dict[Annotated[str, Field(pattern=_NAME)], Variant] = {}
    same: dict[Annotated[str, Field(pattern=_NAME)], Same] = {}
    _first: Run | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _known_variants(self) -> Run:
        for name, variant in self.variants.items():
            self._check_variant(f"variants.{name}.after", variant.after)
            seen, before = [name], variant.after
            while before is not None:
                if before in seen:
                    raise ValueError(f"variants.{name}: runs after itself")
                seen.append(before)
                before = self.variants[before].after if before in self.variants else None
        for name, same in self.same.items():
            for named in same.variants:
                self._check_variant(f"same.{name}", named)
            if same.env is not None and self.env is None:
                raise ValueError(f"same.{name}.env: the run has no [env] table")
            if same.env == "each" and "reads" in same.what:
                raise ValueError(
                    f'same.{name}: host reads before a step are not told apart by env; say what = ["events", '
                    '"steps", "rng"], or less'
                )
        return self

    @model_validator(mode="after")
    def _sound_tolerances(self) -> Run:
        for index, tolerance in enumerate(self.tolerance):
            if tolerance.of == "events" and self.events is None:
                raise ValueError(f"tolerance.{index}: the run has no [events] table")
        return self

    def _check_variant(self, place: str, name: str | None) -> None:
        if name is not None and name not in self.variants:
            raise ValueError(
                f"{place}: no variant called {name} (there: {', '.join(self.variants) or 'none'})"
            )

    @property
    def first(self) -> Run | None:
        """The run before it, in the same {out}, which is not observed."""
        return self._first

    @property
    def recordings(self) -> int:
        """The number of recordings that it takes to judge the run and its properties."""
        return 1 + len({name for same in self.same.values() for name in same.variants})

    def data_folder(self, given: Path | None = None) -> Path | None:
        """Return the folder from the command line, else the one that the environment variable names."""
        if given is None and self.data is not None and self.data.variable:
            named = os.environ.get(self.data.variable)
            return Path(named) if named else None
        return given

    def on(self, device: str) -> Run:
        """Move the run to another device; `UnusableInput` if its command line doesn't name its device."""
        if not self.moves:
            raise UnusableInput(f"run {self.name} can't go to {device}: its command has no {{device}}")
        try:
            found = Run.model_validate({**self.model_dump(), "device": device})
        except ValidationError:
            raise UnusableInput(
                f"no device {device}: say cpu, cuda, cuda:N, simulated or simulated:N"
            ) from None
        found._first = self._first.on(device) if self._first is not None else None
        return found

    @property
    def moves(self) -> bool:
        """True if the command line says which device it is on."""
        return "{device}" in json.dumps([self.command, self.args])

    def definition(self) -> str:
        """Return a digest of all that decides the bits of the run; the device is told by the fingerprint."""
        undeciding: Any = {**dict.fromkeys(_UNDECIDING, True), "tolerance": {"__all__": {"reason"}}}
        undeciding["observe"] = {"digests"}
        deciding = self.model_dump(exclude=undeciding, exclude_defaults=True, mode="json")
        if not deciding.get("observe", True):
            del deciding["observe"]
        return xxhash.xxh3_64_hexdigest(json.dumps(deciding, sort_keys=True).encode())

    def variant(self, name: str) -> Run:
        """Return the run as its variant ``name``, called RUN.NAME."""
        if name not in self.variants:
            known = ", ".join(self.variants) or "none"
            raise UnusableInput(f"run {self.name} has no variant called {name} (there: {known})")
        change = self.variants[name]
        update: dict[str, Any] = {
            "name": f"{self.name}.{name}",
            "args": self.args | change.args,
            "environment": self.environment | change.environment,
            "variants": {},
            "same": {},
        }
        if change.command is not None:
            update["command"] = change.command
        if self.env is not None:
            update["env"] = self.env.model_copy(update=change.env.model_dump(exclude_none=True))
        if change.events is False:
            update["events"] = None
        found = self.model_copy(update=update)
        found._first = self.variant(change.after) if change.after is not None else None
        return found
