"""Engines by name."""

from collections.abc import Callable, Mapping

from esper.leyline import EngineProtocol
from esper.tolaria.engine import VectorizedEngine
from esper.tolaria.plain_engine import PlainEngine
from esper.tolaria.setup import EngineSetup

ENGINES: Mapping[str, Callable[[EngineSetup], EngineProtocol]] = {
    "vectorized": VectorizedEngine,
    "plain": PlainEngine,
}
"""What trains the hosts, for every value of `--engine`; all with the same bits."""
