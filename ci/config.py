"""The gate's configuration: the table ``[tool.gate]`` of ``pyproject.toml``."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from codemods.api import SourceError, read_tools
from esper_harness.keys import first_problem


class ConfigError(Exception):
    """The configuration can't be used; the message is one line."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Isolation(_Table):
    """A module whose import, in a fresh interpreter, must load none of some other modules.

    Attributes:
        module: the module that is imported.
        without: modules that must not be loaded then, they and what is in them.
    """

    module: Annotated[str, Field(min_length=1)]
    without: Annotated[tuple[str, ...], Field(min_length=1)]


class Seams(_Table):
    """A file whose names tests replace, and where those tests are.

    Attributes:
        file: the file of the module, relative to the repository.
        tests: folders of tests to search.
        names: seams beside those that are found in the tests' text.
    """

    file: str
    tests: Annotated[tuple[str, ...], Field(min_length=1)] = ("tests",)
    names: tuple[str, ...] = ()


class HotPath(_Table):
    """Input of the static checker of hot loops.

    Attributes:
        paths: files and folders.
        baseline: findings that are known; they count when no base is given.
    """

    paths: Annotated[tuple[str, ...], Field(min_length=1)]
    baseline: str | None = None


class Evidence(_Table):
    """Changes that must be proven equal, run, or accepted.

    Attributes:
        paths: files and folders whose changes count; ``.`` for everything.
        accepted: a file of what was read and accepted (`codemods review --format accept`).
        runs: golden runs: a changed statement that one of them executes needs no acceptance. That they end in
            the same bits is asked by ``runs`` of the gate.
    """

    paths: Annotated[tuple[str, ...], Field(min_length=1)]
    runs: tuple[str, ...] = ()
    accepted: str | None = None


class Power(_Table):
    """Mutants, small mistakes in the statements of a change: how many of them golden runs must kill.

    Attributes:
        runs: the golden runs.
        at_least: the check fails if a smaller share is killed.
        paths: files and folders whose changes count.
        minutes: for how long mutants are run.
        mutants: how many at most, drawn by chance.
    """

    runs: Annotated[tuple[str, ...], Field(min_length=1)]
    at_least: Annotated[float, Field(ge=0, le=1)]
    paths: Annotated[tuple[str, ...], Field(min_length=1)] = (".",)
    minutes: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 10.0
    mutants: Annotated[int, Field(ge=1)] | None = None


class Throughput(_Table):
    """A run that is timed against the base, in turns.

    Attributes:
        run: the golden run.
        bound: the check fails if the median of head's time over base's is above it.
        repeats: how many pairs are timed.
    """

    run: str
    bound: Annotated[float, Field(gt=1.0, allow_inf_nan=False)]
    repeats: Annotated[int, Field(ge=2, le=50)] = 3


class Tests(_Table):
    """The command that runs the tests.

    Attributes:
        command: its words; ``python`` is the interpreter that runs the gate.
        timeout: seconds after which it is stopped.
    """

    command: Annotated[tuple[str, ...], Field(min_length=1)]
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 3600.0


class GateConfig(_Table):
    """Checks of the gate; a key that is left out is a check that is not made.

    Attributes:
        contracts: whether import-linter's contracts are checked.
        imports: modules whose import must stay light.
        plans: plan files (globs) whose outcome must be what is in the tree.
        carried_out: plan files (globs) whose files were changed by hand since: what they make of their frozen
            source is not compared with the tree, but nothing may be refused.
        seams: names that tests replace.
        hotpath: device syncs in hot loops: over environments, steps or batches.
        evidence: what of a change must be proven equal, run, or read and accepted (needs a base).
        runs: golden runs, compared with their goldens, or with the base.
        counts: golden runs of which only what holds on every machine is compared.
        syncs: golden runs that may not gain syncs, races or peak memory on a simulated GPU (needs a base).
        power: how many mutants golden runs must kill (needs a base).
        throughput: a timed run (needs a base).
        tests: the test command.
        pythonpath: folders of the repository from which its modules are imported.
    """

    contracts: bool = False
    imports: tuple[Isolation, ...] = ()
    plans: tuple[str, ...] = ()
    carried_out: tuple[str, ...] = ()
    seams: tuple[Seams, ...] = ()
    hotpath: HotPath | None = None
    evidence: Evidence | None = None
    runs: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    syncs: tuple[str, ...] = ()
    power: Power | None = None
    throughput: Throughput | None = None
    tests: Tests | None = None
    pythonpath: tuple[str, ...] = (".", "src")

    def environment(self, root: Path) -> dict[str, str]:
        """The environment variables for a subprocess that imports the repository's modules."""
        folders = [str(root / folder) for folder in self.pythonpath]
        inherited = os.environ.get("PYTHONPATH")
        return {**os.environ, "PYTHONPATH": os.pathsep.join([*folders, *([inherited] if inherited else [])])}


def has_gate(root: Path) -> bool:
    """Return whether the repository at ``root`` has a ``[tool.gate]`` table. Raises `ConfigError`."""
    return "gate" in (_tools(root / "pyproject.toml") or {})


def find_gate(start: Path) -> Path:
    """The nearest folder at or above ``start`` with a ``[tool.gate]`` table, else ``start``."""
    return next((folder for folder in (start, *start.parents) if has_gate(folder)), start)


def load_config(root: Path) -> GateConfig:
    """The configuration of the repository at ``root``. Raises `ConfigError`."""
    path = root / "pyproject.toml"
    tools = _tools(path)
    if tools is None:
        raise ConfigError(
            f"{path}: {os.strerror(errno.ENOENT)}; run the gate in the root of a repository, where "
            "`golden-gate init` writes a first [tool.gate]"
        )
    gate = tools.get("gate")
    if gate is None:
        raise ConfigError(f"{path} has no [tool.gate] table; `golden-gate init` writes one")
    try:
        return GateConfig.model_validate(gate)
    except ValidationError as error:
        place, what = first_problem(GateConfig, error)
        raise ConfigError(f"{path}: [tool.gate] {place}: {what}") from None


def _tools(path: Path) -> dict[str, Any] | None:
    try:
        return read_tools(path)
    except SourceError as error:
        raise ConfigError(str(error)) from None
