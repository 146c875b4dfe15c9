"""Run files: what to run, under which settings, and what of it counts."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import xxhash
from pydantic import Field, PrivateAttr, ValidationError, model_validator

from golden.record.profiles import Profile
from golden.record.tables import Data, Env, Events, Everywhere, Observe, Same, Table, Variant
from golden.trace.errors import UnusableInput

RUNS_FOLDER = Path("golden") / "runs"


_UNDECIDING = {
    "description",
    "budget",
    "timeout",
    "output_mib",
    "data",
    "variants",
    "same",
    "device",
    "shares_device",
}
_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"


class Run(Table):
    """One run file. Placeholders {out}, {seed} and {device} are replaced in ``command`` and ``args``.

    Attributes:
        name: what the run is called: the name of its file.
        description: what it shows, in a line.
        command: the program's argv; ``python`` is this interpreter.
        entry: a dotted callable to call with ``args``, instead of a command.
        args: options added to the command, or keyword arguments; ``true`` is a flag, ``false`` none.
        seed: what Python, numpy and torch are seeded with before the program starts.
        device: cpu, cuda or cuda:N.
        shares_device: whether other runs may use its GPU at the same time.
        profile: the determinism settings: ``exact`` for this machine, ``portable`` for others as well.
        deterministic: what an operation without a deterministic algorithm does.
        threads: CPU threads of the process.
        timeout: seconds after which it is stopped.
        budget: seconds that it may take on two CPU cores, variants included; the suite sums them up.
        output_mib: how much it may write, in MiB, before it is stopped.
        pythonpath: folders for imports, relative to the tree under test.
        environment: environment variables of the process.
        data: a data folder as an option of the program.
        events: the events that it writes.
        observe: what is observed.
        env: how to recognise an environment.
        everywhere: what holds on every machine.
        variants: the same run with something otherwise, by name.
        same: properties that compare variants, by name.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    description: str = ""
    command: tuple[str, ...] | None = None
    entry: str | None = None
    args: dict[str, Any] = Field(default_factory=dict)
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
    environment: dict[str, str] = Field(default_factory=dict)
    data: Data | None = None
    events: Events | None = None
    observe: Observe = Observe()
    env: Env | None = None
    everywhere: Everywhere = Everywhere()
    variants: dict[Annotated[str, Field(pattern=_NAME)], Variant] = Field(default_factory=dict)
    same: dict[Annotated[str, Field(pattern=_NAME)], Same] = Field(default_factory=dict)
    _first: Run | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _one_program(self) -> Run:
        if (self.command is None) == (self.entry is None):
            raise ValueError("give either command or entry")
        if self.command == ():
            raise ValueError("command is empty")
        return self

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
            for named in (*same.variants, same.of):
                self._check_variant(f"same.{name}", named)
            if same.env is not None and self.env is None:
                raise ValueError(f"same.{name}.env: the run has no [env] table")
        return self

    def _check_variant(self, place: str, name: str | None) -> None:
        if name is not None and name not in self.variants:
            raise ValueError(
                f"{place}: no variant called {name} (there: {', '.join(self.variants) or 'none'})"
            )

    @property
    def first(self) -> Run | None:
        """What runs before it, in the same {out}, without being observed."""
        return self._first

    @property
    def recordings(self) -> int:
        """How many recordings it takes to judge the run and its properties."""
        named = {name for same in self.same.values() for name in (*same.variants, same.of)}
        return 1 + len(named - {None})

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
            found = Run.model_validate({**self.model_dump(), "device": device})
        except ValidationError:
            raise UnusableInput(f"no device {device}: say cpu, cuda or cuda:N") from None
        found._first = self._first.on(device) if self._first is not None else None
        return found

    @property
    def moves(self) -> bool:
        """Whether the command line says which device it is on."""
        return "{device}" in json.dumps([self.command, self.args])

    def definition(self) -> str:
        """A digest of all that decides the bits of the run; the device is told by the fingerprint."""
        deciding = self.model_dump(exclude=_UNDECIDING, exclude_defaults=True, mode="json")
        return xxhash.xxh3_64_hexdigest(json.dumps(deciding, sort_keys=True).encode())

    def variant(self, name: str) -> Run:
        """The run as its variant ``name``, called RUN.NAME."""
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
        if change.command is not None or change.entry is not None:
            update |= {"command": change.command, "entry": change.entry}
        if change.pythonpath is not None:
            update["pythonpath"] = change.pythonpath
        if self.env is not None:
            update["env"] = self.env.model_copy(update=change.env.model_dump(exclude_none=True))
        if change.events is False:
            update["events"] = None
        found = self.model_copy(update=update)
        found._first = self.variant(change.after) if change.after is not None else None
        return found


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
    """The run called ``name`` in ``root``, its variant for RUN.VARIANT, or the run file at that path."""
    path = Path(name)
    if path.suffix == ".toml":
        return load_run(path)
    path = root / RUNS_FOLDER / f"{name}.toml"
    if not path.is_file():
        run, _, variant = name.rpartition(".")
        if run and (root / RUNS_FOLDER / f"{run}.toml").is_file():
            return load_run(root / RUNS_FOLDER / f"{run}.toml").variant(variant)
        known = ", ".join(p.stem for p in run_files(root)) or "none"
        raise UnusableInput(f"no run called {name} in {root / RUNS_FOLDER} (there: {known})")
    return load_run(path)


def run_files(root: Path) -> list[Path]:
    """All run files of ``root``, sorted."""
    return sorted((root / RUNS_FOLDER).glob("*.toml"))
