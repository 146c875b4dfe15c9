"""The fixtures of tests/esper: these tests stand where the specification names them."""

from tests.esper.conftest import _own_cache, cache_home
from tests.esper.simic.conftest import _one_thread, emitted, run, trainer

__all__ = ["_one_thread", "_own_cache", "cache_home", "emitted", "run", "trainer"]
