"""The gate's configuration: the table ``[tool.gate]`` of ``pyproject.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError


class ConfigError(Exception):
    """The configuration can't be used; the message is one line."""


class GateConfig(BaseModel):
    """What the gate checks: import contracts, plans (globs), golden runs (names)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    contracts: bool = False
    plans: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


def load_config(root: Path) -> GateConfig:
    """The configuration of the repository at ``root``. Raises `ConfigError`."""
    path = root / "pyproject.toml"
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; run the gate in the root of a repository") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    gate = table.get("tool", {}).get("gate")
    if gate is None:
        raise ConfigError(f"{path} has no [tool.gate] table; it names the checks: contracts, plans, runs")
    try:
        return GateConfig.model_validate(gate)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        unknown = first["type"] == "extra_forbidden"
        problem = "unknown key; known are contracts, plans, runs" if unknown else first["msg"]
        raise ConfigError(f"{path}: [tool.gate] {place}: {problem}") from None
