"""Run files: what to run, under which settings, and what of it counts."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import xxhash
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from golden.record.profiles import Profile
from golden.trace.errors import UnusableInput

RUNS_FOLDER = Path("golden") / "runs"


_UNDECIDING = {"description", "budget", "timeout", "output_mib", "data", "base", "device", "shares_device"}


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Events(_Table):
    """Where a run writes telemetry events: JSON-lines files in its {out} folder."""

    files: str
    type: str = "type"
    unstable: tuple[str, ...] = ()


class Everywhere(_Table):
    """What holds on every machine beside counts, order and shapes: payload fields whose values do."""

    events: bool = True
    fields: tuple[str, ...] = ()


class Data(_Table):
    """A folder handed to the program as an option value, so that one run works on several data sets.

    The folder comes from ``--data`` or from ``variable``; with neither, the option is left out.
    """

    option: str
    variable: str | None = None


class Env(_Table):
    """How to recognise an environment: a field of its events, and the class of its model.

    The k-th module of class ``module`` that a process creates belongs to env k modulo ``count``.
    """

    field: str | None = None
    module: str | None = None
    count: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _both(self) -> Env:
        if (self.module is None) != (self.count is None):
            raise ValueError("module and count go together")
        return self


class Observe(_Table):
    """What must have been seen, what is counted, and how much of the final state is kept (in MiB)."""

    steps: bool = True
    syncs: bool = True
    state_mib: Annotated[int, Field(ge=0)] = 256


class Base(_Table):
    """The other variant of a run: what to run instead, for a comparison within one tree."""

    command: tuple[str, ...] | None = None
    entry: str | None = None
    args: dict[str, Any] | None = None
    pythonpath: tuple[str, ...] | None = None


class Run(_Table):
    """One run file. Placeholders {out}, {seed} and {device} are replaced in ``command`` and ``args``."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    description: str = ""
    command: tuple[str, ...] | None = None
    entry: str | None = None
    args: dict[str, Any] = {}
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    device: Annotated[str, Field(pattern=r"^(cpu|cuda(:\d+)?)$")] = "cpu"
    shares_device: bool = False
    profile: Profile = "exact"
    deterministic: Literal["error", "warn", "off"] = "error"
    threads: Annotated[int, Field(ge=1)] = 1
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 300.0
    budget: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    output_mib: Annotated[int, Field(ge=1)] = 2048
    pythonpath: tuple[str, ...] = (".", "src")
    environment: dict[str, str] = {}
    data: Data | None = None
    events: Events | None = None
    observe: Observe = Observe()
    env: Env | None = None
    everywhere: Everywhere = Everywhere()
    base: Base | None = None

    @model_validator(mode="after")
    def _one_program(self) -> Run:
        if (self.command is None) == (self.entry is None):
            raise ValueError("give either command or entry")
        if self.command == ():
            raise ValueError("command is empty")
        return self

    def data_folder(self, given: Path | None) -> Path | None:
        """The folder named on the command line, else the one that the run's environment variable names."""
        if given is None and self.data is not None and self.data.variable:
            named = os.environ.get(self.data.variable)
            return Path(named) if named else None
        return given

    def on(self, device: str) -> Run:
        """The run on another device; `UnusableInput` if its command line doesn't say which one it is on."""
        if not self.moves:
            raise UnusableInput(f"run {self.name} can't go to {device}: its command has no {{device}}")
        try:
            return Run.model_validate({**self.model_dump(), "device": device})
        except ValidationError:
            raise UnusableInput(f"no device {device}: say cpu, cuda or cuda:N") from None

    @property
    def moves(self) -> bool:
        """Whether the command line says which device it is on."""
        return "{device}" in json.dumps([self.command, self.args])

    def definition(self) -> str:
        """A digest of all that decides the bits of the run; the device is told by the fingerprint."""
        deciding = self.model_dump(exclude=_UNDECIDING, exclude_defaults=True, mode="json")
        return xxhash.xxh3_64_hexdigest(json.dumps(deciding, sort_keys=True).encode())

    def base_variant(self) -> Run:
        """The run with its ``[base]`` overrides in place."""
        if self.base is None:
            raise UnusableInput(f"run {self.name} has no [base] table; name a git ref with --base REF")
        changes = self.base.model_dump(exclude_none=True)
        if "command" in changes:
            changes["entry"] = None
        elif "entry" in changes:
            changes["command"] = None
        return self.model_copy(update={**changes, "base": None})


def load_run(path: Path) -> Run:
    """Read one run file; anything wrong with it is one line of `UnusableInput`."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableInput(f"run file {path}: can't be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise UnusableInput(f"run file {path}: not TOML: {error}") from None
    try:
        return Run.model_validate({"name": path.stem, **table})
    except ValidationError as error:
        raise UnusableInput(f"run file {path}: {_first_line(error)}") from None


def _first_line(error: ValidationError) -> str:
    # A misspelt key often makes another one missing: the misspelt one is what the user wants to hear of.
    first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return f"unknown key {place}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{place}: {message}" if place else message


def find_root(start: Path) -> Path:
    """The nearest folder at or above ``start`` that holds run files, else ``start``."""
    for folder in (start, *start.parents):
        if (folder / RUNS_FOLDER).is_dir():
            return folder
    return start


def find_run(name: str, root: Path) -> Run:
    """The run called ``name`` in ``root``, or the run file at that path."""
    path = Path(name)
    if path.suffix == ".toml":
        return load_run(path)
    path = root / RUNS_FOLDER / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(p.stem for p in run_files(root)) or "none"
        raise UnusableInput(f"no run called {name} in {root / RUNS_FOLDER} (there: {known})")
    return load_run(path)


def run_files(root: Path) -> list[Path]:
    """All run files of ``root``, sorted."""
    return sorted((root / RUNS_FOLDER).glob("*.toml"))
