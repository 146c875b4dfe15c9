"""Which loops are over environments, and what else is configured in ``[tool.codemods.hotpath]``."""

from __future__ import annotations

import dataclasses
import fnmatch
from dataclasses import dataclass
from pathlib import Path

from codemods.hotpath.codes import CODES, DEFAULT_OFF
from codemods.hotpath.results import HEATS
from codemods.program.repository import read_tools
from codemods.program.source import SourceError
from esper_harness.report.plain import hint


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Configuration of a check.

    Patterns are globs (``*``, ``?``, ``[…]``) on whole names.

    Attributes:
        loop_variables: a loop is over environments if it binds such a name.
        iterables: or if what it goes through, or counts to, is called so: ``envs`` covers
            ``for s in self.envs``, ``zip(envs, …)`` and ``range(len(envs))``.
        annotations: or if it goes through elements whose class is called so.
        loaders: a loop is over batches if what it goes through is called so.
        step_variables: it is over steps if it binds such a name and a model, an environment or an optimizer
            is called in it.
        step_iterables: the same of what it goes through or counts to.
        heat: what is reported: ``env``, ``step``, ``every-n``, ``epoch``, ``once``.
        exclude_iterables: never over environments, whatever the loop's variable is called.
        exclude: globs on paths, relative to the project, that are not looked at.
        ignore: codes that are not reported.
        select: codes that are reported although they are off by default.
        per_path_ignores: codes that are not reported in some files: ``"tests/*: HP001 HP009"``.
        follow_unknown: how many methods of the program may share a name for a call of it on a value of
            unknown class to be followed into all of them; 0 follows none.
        baseline: the baseline file, where the command line names none.
    """

    loop_variables: tuple[str, ...] = (
        "env",
        "env_i",
        "env_id",
        "env_idx",
        "env_index",
        "env_num",
        "env_state",
        "environment",
        "i_env",
        "ienv",
        "*_env",
        "*_env_id",
        "*_env_idx",
        "*_env_state",
    )
    iterables: tuple[str, ...] = (
        "envs",
        "*_envs",
        "dones",
        "infos",
        "nenvs",
        "env_ids",
        "*_env_ids",
        "env_idxs",
        "env_indices",
        "env_list",
        "env_states",
        "*_env_states",
        "environments",
        "num_environments",
        "n_environments",
    )
    annotations: tuple[str, ...] = ("*EnvState",)
    loaders: tuple[str, ...] = (
        "*loader",
        "*loaders",
        "*_loader_*",
        "*_dl",
        "dl",
        "*batches",
        "*_batch_iterator",
        "iterate_batches",
        "*data_iter",
        "*loader_iter*",
    )
    step_variables: tuple[str, ...] = (
        "batch",
        "batch_idx",
        "batch_index",
        "i_batch",
        "i_iter",
        "it",
        "iter_num",
        "iteration",
        "itr",
        "micro_step",
        "minibatch",
        "step",
        "*_step",
        "*_steps",
        "t",
        "timestep",
        "update",
    )
    step_iterables: tuple[str, ...] = (
        "steps",
        "*_steps",
        "*_iters",
        "*_iterations",
        "*_timesteps",
        "*_tokens",
        "*_updates",
        "*_minibatches",
        "minibatches",
    )
    heat: tuple[str, ...] = ("env", "step")
    exclude_iterables: tuple[str, ...] = ("environ", "env_vars", "*_environ")
    exclude: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    per_path_ignores: tuple[str, ...] = ()
    follow_unknown: int = 2
    baseline: str | None = None

    @property
    def reported(self) -> frozenset[str]:
        """The codes that are reported."""
        return frozenset(CODES) - (DEFAULT_OFF - set(self.select)) - set(self.ignore)

    def ignored_in(self, path: str) -> frozenset[str]:
        """The codes that are not reported in a file."""
        found: set[str] = set()
        for item in self.per_path_ignores:
            pattern, _, codes = item.rpartition(":")
            if fnmatch.fnmatch(path, pattern.strip()):
                found.update(codes.split())
        return frozenset(found)


def read_config(root: Path) -> Config:
    """The configuration in a project's ``pyproject.toml``; the defaults where it has none.

    Raises:
        SourceError: for a file that is not TOML, an unknown key, a value of the wrong type, an unknown code.
    """
    path = root / "pyproject.toml"
    tools = read_tools(path, path.name)
    if not tools or "codemods" not in tools:
        return Config()
    return _parse(tools["codemods"], path.read_text("utf-8"), path.name)


def _parse(tables: object, text: str, shown: str) -> Config:
    if not isinstance(tables, dict):
        raise SourceError(f"{shown}:{_line(text, 'codemods')}: [tool.codemods]: must be a table")
    for name in tables:
        if name != "hotpath":
            raise SourceError(
                f"{shown}:{_named(text, name)}: [tool.codemods] {name}: unknown table; known is hotpath"
            )
    settings = tables.get("hotpath", {})
    if not isinstance(settings, dict):
        raise SourceError(f"{shown}:{_named(text, 'hotpath')}: [tool.codemods] hotpath: must be a table")
    values: dict[str, object] = {}
    fields = {field.name: field for field in dataclasses.fields(Config)}
    for key, value in settings.items():
        where = f"{shown}:{_line(text, key)}: [tool.codemods.hotpath] {key}"
        name = key.replace("-", "_")
        if name not in fields:
            known = sorted(field.replace("_", "-") for field in fields)
            raise SourceError(f"{where}: unknown key{hint(name.replace('_', '-'), known)}")
        default = fields[name].default
        if isinstance(default, tuple):
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise SourceError(f"{where}: must be a list of strings")
            values[name] = tuple(value)
        elif isinstance(default, int):
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise SourceError(f"{where}: must be a number, 0 or more")
            values[name] = value
        else:
            if not isinstance(value, str):
                raise SourceError(f"{where}: must be a string")
            values[name] = value
        if name == "heat":
            for heat in value:
                if heat not in HEATS:
                    raise SourceError(f"{where}: no such heat {heat}; known are {', '.join(HEATS)}")
        if name == "per_path_ignores":
            for item in value:
                pattern, colon, codes = item.rpartition(":")
                if not colon or not pattern.strip() or not codes.split():
                    raise SourceError(f'{where}: {item}: must be like "tests/*: HP001 HP009"')
                for code in codes.split():
                    if code not in CODES:
                        raise SourceError(f"{where}: no such code {code}; known are {', '.join(CODES)}")
        if name in ("ignore", "select"):
            for code in value:
                if code not in CODES:
                    raise SourceError(f"{where}: no such code {code}; known are {', '.join(CODES)}")
    return Config(**values)  # type: ignore[arg-type]


def _named(text: str, name: str) -> int:
    """The first line with a name in it."""
    return next((number for number, line in enumerate(text.splitlines(), 1) if name in line), 1)


def _line(text: str, key: str) -> int:
    """The line of a key in the table, else that of the table's head."""
    head = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip().startswith("[tool.codemods.hotpath"):
            head = number
        elif head and line.split("=")[0].strip().strip("\"'") == key:
            return number
    return head or 1
