"""Engines by name: those that come with the trainer, and others that packages register."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points

from esper.leyline import EngineProtocol
from esper.leyline.errors import InputError
from esper.tolaria.distributed_engine import DistributedEngine
from esper.tolaria.engine import VectorizedEngine
from esper.tolaria.plain_engine import PlainEngine
from esper.tolaria.setup import EngineSetup

GROUP = "esper.engines"
"""Entry points of this group are functions from an `EngineSetup` to an engine."""

MakeEngine = Callable[[EngineSetup], EngineProtocol]

ENGINES: Mapping[str, MakeEngine] = {
    "vectorized": VectorizedEngine,
    "plain": PlainEngine,
    "distributed": DistributedEngine,
}
"""What trains the hosts, for every value of `--engine` of our own; all with the same bits."""


def find_engine(name: str) -> MakeEngine:
    """What makes the engine of a name. Raises InputError for an unknown one, or one that can't be loaded."""
    if name in ENGINES:
        return ENGINES[name]
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in found:
        known = ", ".join([*ENGINES, *sorted(found)])
        raise InputError(f"--engine {name}: no such engine; known are {known}")
    try:
        make: MakeEngine = found[name].load()
    except Exception as error:  # whatever a foreign module raises when it is imported
        problem = f"{type(error).__name__}: {error}".splitlines()[0]
        raise InputError(f"--engine {name}: cannot be loaded ({problem})") from error
    return make
